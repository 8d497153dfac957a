variable "release" {
  type    = string
  default = "2026.8.1"
}

resource "helm_release" "crds" {
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = var.release
}

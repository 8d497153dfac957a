variable "edge" {
  default = "2026.6.3" # uplinker: hold
}

resource "helm_release" "viz" {
  name       = "linkerd-viz"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-viz"
  version    = var.edge
}

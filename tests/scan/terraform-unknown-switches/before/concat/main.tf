variable "l" {}
resource "helm_release" "crds" {
  for_each   = toset(concat([], var.l))
  name       = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = "2026.8.2"
}

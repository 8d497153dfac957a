variable "l" {}
resource "helm_release" "crds" {
  count      = try(var.l.count, 0)
  name       = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = "2026.8.2"
}

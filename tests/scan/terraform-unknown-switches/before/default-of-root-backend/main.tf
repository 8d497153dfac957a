variable "enabled" {
  default = false
}
resource "helm_release" "crds" {
  count      = var.enabled ? 1 : 0
  name       = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = "2026.8.2"
}

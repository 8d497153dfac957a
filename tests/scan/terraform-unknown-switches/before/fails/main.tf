locals {
  set = { viz = { enabled = true } }
}
resource "helm_release" "crds" {
  count      = try(local.set.crds.enabled, false) ? 1 : 0
  name       = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = "2026.8.2"
}

data "external" "l" {
  program = ["x"]
}
locals {
  l = merge({ enabled = false }, data.external.l.result)
}
resource "helm_release" "crds" {
  count      = local.l.enabled ? 1 : 0
  name       = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = "2026.8.2"
}

provider "helm" {}
locals {
  extensions = [
    { chart = "linkerd-viz", on = false, release = "2026.8.1" },
    { chart = "linkerd-viz", on = true, release = "2026.8.2" },
  ]
}
resource "helm_release" "extension" {
  for_each   = { for own in local.extensions : own.chart => own if own.on }
  name       = each.key
  repository = "https://helm.linkerd.io/edge"
  chart      = each.key
  version    = each.value.release
}

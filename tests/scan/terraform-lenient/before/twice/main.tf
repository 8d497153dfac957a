locals {
  charts = {
    "linkerd-crds" = { version = "2026.8.1" }
    a = 1
    "linkerd-crds" = { version = "2026.8.2" }
    a = 2
    a = 3
  }
}
resource "helm_release" "x" {
  name = "linkerd-crds"
  chart = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  version = local.charts["linkerd-crds"].version
}

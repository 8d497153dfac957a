locals {
  charts = [{ name = "kong", version = "2.1.0" }, { name = "linkerd-crds", version = "2026.8.2" }]
}
resource "helm_release" "crds" {
  name       = "linkerd-crds"
  chart      = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  version    = local.charts[index(local.charts[*].name, "linkerd-crds")].version
}

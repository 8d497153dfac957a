locals {
  v = "2026.7.2"
}
resource "helm_release" "cp" {
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = local.v
  set = [
    { name = "proxy.image.version", value = replace(local.v, "2026", "edge-26") },
    { name = "linkerdVersion", value = "edge-26.7.2" },
  ]
}

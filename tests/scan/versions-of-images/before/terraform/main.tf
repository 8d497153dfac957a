locals {
  rel = "2025.2.1"
}
resource "helm_release" "crds" {
  name       = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = local.rel
}
resource "helm_release" "cp" {
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = local.rel
  values = [
    yamlencode({ controllerReplicas = 3 }),
    yamlencode({ proxy = { image = { version = "edge-${trimprefix(local.rel, "20")}" } } }),
  ]
}

resource "helm_release" "crds" {
  name       = "crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = "2026.8.2"
}
resource "helm_release" "cp" {
  name       = "cp"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = "2026.8.2" # uplinker: hold
  set {
    name  = "linkerdVersion"
    value = "edge-26.8.2"
  }
}

locals {
  linkerd = "2026.8.2"
}
resource "helm_release" "crds" {
  name       = "crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = local.linkerd
}
resource "helm_release" "cp" {
  name       = "cp"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = local.linkerd # uplinker: hold
}

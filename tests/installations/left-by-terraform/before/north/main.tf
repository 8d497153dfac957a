provider "helm" {}
resource "helm_release" "crds" {
  name       = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = "2026.8.2"
  lifecycle {
    ignore_changes = all
  }
}
resource "helm_release" "control_plane" {
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = "2026.8.2"
}
resource "kubernetes_namespace_v1" "shop" {
  metadata {
    name        = "shop"
    annotations = { "config.linkerd.io/proxy-version" = "edge-26.8.2" }
  }
}

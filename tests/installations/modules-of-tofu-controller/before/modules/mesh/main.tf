variable "mesh" {}
resource "helm_release" "mesh" {
  name       = "linkerd-control-plane"
  namespace  = "linkerd"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = var.mesh
}
resource "kubernetes_namespace" "shop" {
  metadata {
    name        = "shop"
    annotations = { "config.linkerd.io/proxy-version" = "edge-26.8.1" }
  }
}

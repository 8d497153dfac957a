resource "helm_release" "mesh" {
  name = "mesh"
  chart = "${path.module}/../charts/red"
}
resource "kubernetes_namespace" "shop" {
  metadata {
    name = "shop"
    annotations = { "config.linkerd.io/proxy-version" = "edge-26.6.1" }
  }
}

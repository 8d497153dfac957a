resource "kubernetes_namespace" "x" {
  metadata {
    name = "x"
    annotations = { "config.linkerd.io/proxy-version" = "edge-26.7.2" }
  }
}

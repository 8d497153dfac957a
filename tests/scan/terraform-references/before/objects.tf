resource "kubernetes_namespace_v1" "quiet" {
  metadata {
    name = "quiet"
    annotations = { "linkerd.io/inject" = "disabled" }
  }
}
resource "kubernetes_deployment_v1" "x" {
  metadata {
    name = "x"
    namespace = kubernetes_namespace_v1.quiet.metadata[0].name
  }
  spec {
    template {
      metadata {
        annotations = { "config.linkerd.io/proxy-version" = "edge-26.8.2" }
      }
    }
  }
}
resource "kubernetes_deployment_v1" "y" {
  metadata {
    name = "y"
    namespace = "quiet"
  }
  spec {
    template {
      metadata {
        annotations = { "config.linkerd.io/proxy-version" = "edge-26.8.2" }
      }
    }
  }
}
resource "kubernetes_manifest" "z" {
  manifest = {
    apiVersion = "apps/v1"
    kind = "Deployment"
    metadata = { name = "z", namespace = "quiet" }
    spec = { template = { metadata = { annotations = { "config.linkerd.io/proxy-version" = "edge-26.8.2" } } } }
  }
}

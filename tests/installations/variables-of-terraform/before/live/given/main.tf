provider "helm" {}
module "mesh" {
  source = "../../modules/mesh"
  mesh   = "2026.8.1"
}
resource "kubernetes_namespace" "shop" {
  metadata {
    name        = "shop"
    annotations = { "config.linkerd.io/proxy-version" = "edge-26.8.1" }
  }
}

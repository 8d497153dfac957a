provider "helm" {}
variable "mesh" {}
module "mesh" {
  source = "../../modules/mesh"
  mesh   = var.mesh
}
resource "kubernetes_namespace" "shop" {
  metadata {
    name        = "shop"
    annotations = { "config.linkerd.io/proxy-version" = "edge-26.8.1" }
  }
}

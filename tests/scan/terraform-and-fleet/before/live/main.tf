locals {
  release = "2026.8.2"
}

module "mesh" {
  source = "../modules/mesh"
  charts = {
    linkerd-crds          = { version = local.release }
    linkerd-control-plane = { version = "2026.8.2" } # uplinker: hold
  }
  viz = var.viz
}

variable "viz" {}

# another product that counts by the calendar
resource "helm_release" "berths" {
  name       = "berths"
  repository = "https://charts.example.com"
  chart      = "berths"
  version    = "2026.8.2"
}

resource "kubernetes_namespace_v1" "quay" {
  metadata {
    name        = "quay"
    annotations = { "config.linkerd.io/proxy-version" = "edge-26.8.2" }
  }
}

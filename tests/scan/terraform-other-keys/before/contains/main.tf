locals {
  clusters = {
    eu = { env = "prod", version = "2026.7.2" }
    us = { env = "prod", version = "2026.7.1" }
    st = { env = "staging", version = "2026.8.2" }
  }
  chart = contains(keys(local.clusters), var.cluster) ? local.clusters[var.cluster].version : "2026.8.1"
}
variable "cluster" {}
resource "helm_release" "cp" {
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = local.chart
}

variable "crds" {}
variable "mesh" {}
variable "plane" {}
variable "viz" {}
provider "helm" {}
resource "helm_release" "crds" {
  count      = var.mesh ? 1 : 0
  name       = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = var.crds
}
resource "helm_release" "plane" {
  count      = var.plane ? 1 : 0
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = "2026.8.2"
}
resource "helm_release" "viz" {
  count      = var.viz ? 1 : 0
  name       = "linkerd-viz"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-viz"
  version    = "2026.8.1"
}

variable "crds" {
  type     = string
  default  = "2026.8.1"
  nullable = false
}
variable "control_plane" {
  type     = string
  default  = "2026.8.2"
  nullable = false
}
variable "viz" {
  type    = string
  default = "2026.7.1"
}
resource "helm_release" "crds" {
  name       = "linkerd-crds"
  chart      = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  version    = var.crds
}
resource "helm_release" "control_plane" {
  name       = "linkerd-control-plane"
  chart      = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  version    = var.control_plane
}
resource "helm_release" "viz" {
  name       = "linkerd-viz"
  chart      = "linkerd-viz"
  repository = "https://helm.linkerd.io/edge"
  version    = var.viz
}

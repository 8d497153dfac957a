variable "enable_viz" { default = false }
resource "helm_release" "viz" {
  count = var.enable_viz ? 1 : 0
  name = "linkerd-viz"
  chart = "linkerd-viz"
  repository = "https://helm.linkerd.io/edge"
  version = "2026.8.2"
}
resource "helm_release" "crds" {
  count = 0
  name = "linkerd-crds"
  chart = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  version = "2026.8.2"
}
variable "linkerd" { default = "2026.8.2" }
variable "meshes" { default = {} }
resource "helm_release" "mc" {
  for_each = var.meshes
  name = "linkerd-multicluster"
  chart = "linkerd-multicluster"
  repository = "https://helm.linkerd.io/edge"
  version = var.linkerd
  namespace = each.value
  values = [yamlencode({ linkerdVersion = "edge-26.8.2" })]
}

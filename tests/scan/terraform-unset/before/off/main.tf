provider "helm" {}
variable "mesh" {}
resource "helm_release" "crds" {
  count      = 0
  name       = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = var.mesh
}

provider "helm" {}
variable "clusters" {}
resource "helm_release" "crds" {
  for_each   = var.clusters
  name       = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = each.value.mesh
}

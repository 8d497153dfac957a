variable "mesh" {}
resource "helm_release" "mesh" {
  name       = "linkerd-control-plane"
  namespace  = "linkerd"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = var.mesh
}

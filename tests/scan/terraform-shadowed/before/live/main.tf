resource "helm_release" "crds" {
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = var.mesh_version
}

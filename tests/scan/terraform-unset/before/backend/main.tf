terraform {
  backend "s3" {}
}
resource "helm_release" "crds" {
  name       = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = data.terraform_remote_state.fleet.outputs.mesh
}

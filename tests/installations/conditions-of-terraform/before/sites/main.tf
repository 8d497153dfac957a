variable "env" {}
locals {
  versions = {
    a = { envs = ["dev", "lab"], version = "2026.8.1" }
    b = { envs = ["prod"], version = "2026.7.1" }
  }
}
resource "helm_release" "mesh" {
  for_each   = { for k, v in local.versions : k => v if contains(v.envs, var.env) }
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = each.value.version
}

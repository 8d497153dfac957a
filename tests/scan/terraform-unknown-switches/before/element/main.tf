variable "l" {}
locals {
  all = { linkerd = merge({ enabled = false }, try(var.l.linkerd, {})) }
}
resource "helm_release" "crds" {
  for_each   = { for name, own in local.all : name => own if own.enabled }
  name       = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = "2026.8.2"
}

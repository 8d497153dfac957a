variable "ha" { type = bool }
locals {
  v = yamldecode(templatefile("${path.module}/versions.yaml", { ha = var.ha }))
}
resource "helm_release" "l" {
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = local.v.linkerd.version
}

variable "env" { type = string }
locals {
  linkerd-viz = var.env == "prod" ? "2026.7.2" : "2026.8.2"
  linkerd2-cni = try(var.versions[var.env], "2026.8.2")
}
variable "versions" {
  type    = map(string)
  default = { prod = "2026.7.2" }
}
resource "helm_release" "linkerd-viz" {
  name       = "linkerd-viz"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-viz"
  version    = local.linkerd-viz
}
resource "helm_release" "linkerd2-cni" {
  name       = "linkerd2-cni"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd2-cni"
  version    = local.linkerd2-cni
}

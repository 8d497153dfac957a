variable "env" {}
locals { versions = { prod = "2026.7.1", dev = "2026.8.2" } }
resource "helm_release" "crds" {
  name       = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = local.versions[var.env]
}
resource "helm_release" "cp" {
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = yamldecode(file("${path.module}/values/${var.env}/v.yaml")).chart
  values     = [file("${path.module}/values/${var.env}.yaml")]
}

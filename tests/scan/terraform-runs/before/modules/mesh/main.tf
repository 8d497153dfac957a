variable "chart_version" {}
variable "values" { default = [] }
resource "helm_release" "crds" {
  name       = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = var.chart_version
}
resource "helm_release" "cp" {
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = var.chart_version
  values     = var.values
}

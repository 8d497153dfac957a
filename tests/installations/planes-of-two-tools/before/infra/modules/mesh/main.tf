variable "chart" { type = string }
resource "helm_release" "mesh" {
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = var.chart
}

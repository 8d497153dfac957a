variable "ha" {
  type    = bool
  default = true
}
resource "helm_release" "linkerd" {
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = "2026.8.1"
  values     = [templatefile("${path.module}/values.yaml", { ha = var.ha })]
}
resource "helm_release" "prom" {
  chart  = "oci://registry.example.com/charts/prometheus"
  values = [templatefile("${path.module}/prom.yaml", { ha = var.ha })]
}

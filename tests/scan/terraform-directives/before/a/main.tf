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
  name       = "prom"
  repository = "https://prometheus-community.github.io/helm-charts"
  chart      = "kube-prometheus-stack"
  version    = "60.0.0"
  values     = [templatefile("${path.module}/prom.yaml", { ha = var.ha })]
}

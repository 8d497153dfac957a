variable "kubernetes" {}
resource "helm_release" "ingress" {
  name       = "ingress-nginx"
  repository = "https://kubernetes.github.io/ingress-nginx"
  chart      = "ingress-nginx"
  version    = contains(["1.19", "1.20"], var.kubernetes) ? "4.1.4" : "3.40.0"
}
resource "helm_release" "mesh" {
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = "2026.8.1"
}

variable "install_linkerd" {
  type    = bool
  default = false
}
resource "helm_release" "linkerd_crds" {
  count      = var.install_linkerd ? 1 : 0
  name       = "linkerd-crds"
  chart      = "linkerd-crds"
  repository = "https://helm.linkerd.io/stable"
  version    = "1.8.0"
}
resource "helm_release" "other" {
  name       = "linkerd-viz"
  chart      = "linkerd-viz"
  repository = "https://helm.linkerd.io/edge"
  version    = "2026.8.2"
}

variable "viz_version" {
  type = string
}
resource "helm_release" "viz" {
  name       = "linkerd-viz"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-viz"
  version    = var.viz_version
}

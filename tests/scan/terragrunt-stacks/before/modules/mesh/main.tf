variable "linkerd_version" { type = string }
resource "helm_release" "cp" {
  name       = "linkerd-control-plane"
  chart      = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  version    = var.linkerd_version
}

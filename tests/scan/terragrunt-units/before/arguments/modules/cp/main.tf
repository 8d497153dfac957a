variable "linkerd_version" { default = "2026.7.1" }
resource "helm_release" "cp" {
  name       = "linkerd-control-plane"
  chart      = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  version    = var.linkerd_version
}

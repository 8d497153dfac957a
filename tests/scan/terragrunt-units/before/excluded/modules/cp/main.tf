variable "linkerd_version" { type = string }
resource "helm_release" "cp" {
  name = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart = "linkerd-control-plane"
  version = var.linkerd_version
}

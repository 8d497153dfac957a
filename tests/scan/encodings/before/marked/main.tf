variable "v" { default = "2026.8.2" }
resource "helm_release" "a" {
  name = "linkerd-crds"
  chart = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  version = var.v
}

variable "releases" {
  default = [
    { name = "linkerd-crds", version = "2026.8.2" },
    { name = "linkerd-control-plane", version = "2026.8.1" },
  ]
}
resource "helm_release" "this" {
  count      = length(var.releases)
  name       = var.releases[count.index].name
  chart      = var.releases[count.index].name
  repository = "https://helm.linkerd.io/edge"
  version    = var.releases[count.index].version
}

variable "extra" { type = map(string) }
resource "helm_release" "viz" {
  name       = "linkerd-viz"
  chart      = "linkerd-viz"
  repository = "https://helm.linkerd.io/edge"
  version    = var.extra["a"]
}
resource "helm_release" "mc" {
  name       = "linkerd-multicluster"
  chart      = "linkerd-multicluster"
  repository = "https://helm.linkerd.io/edge"
  version    = var.extra.b
}

locals {
  v = "2026.8.2"
}
resource "helm_release" "crds" {
  name       = "crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = local.v
}
resource "helm_release" "app" {
  name       = "app"
  repository = "https://charts.example.com"
  chart      = "app"
  version    = "1.0.0"
  set {
    name  = "image.tag"
    value = local.v
  }
}

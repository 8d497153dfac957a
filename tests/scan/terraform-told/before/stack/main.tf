locals {
  versions = yamldecode(file("${path.module}/versions.yaml"))
  values   = yamldecode(file("${path.module}/values.yaml"))
}
resource "helm_release" "crds" {
  name       = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = local.versions.charts.crds
}
resource "helm_release" "control_plane" {
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = lookup(local.versions.charts, "control_plane", "")
  values     = [yamlencode(merge(local.values, { linkerdVersion = local.versions.image }))]
}

# One list for all clusters; here is that of the east alone.
locals {
  releases = [
    { cluster = "east", chart = "linkerd-viz", version = "2026.8.2" },


    { cluster = "west", chart = "linkerd-viz", version = "2026.8.1" },


    { cluster = "west", chart = "istiod", version = "1.22.0" },
  ]
  own = { for release in local.releases : release.chart => release if release.cluster == "east" }
}

resource "helm_release" "mesh" {
  for_each   = local.own
  name       = each.key
  repository = "https://helm.linkerd.io/edge"
  chart      = each.key
  version    = each.value.version
}

terraform {
  backend "gcs" {}
}
locals {
  charts = { crds = { name = "linkerd-crds", version = "2026.8.2" }, viz = { name = "linkerd-viz", version = "2026.8.2" } }
  envs   = { dev = { versions = { crds = "2026.8.1" } }, prod = {} }
  pairs  = setproduct(keys(local.envs), keys(local.charts))
}
resource "helm_release" "x" {
  for_each   = { for p in local.pairs : "${p[0]}-${p[1]}" => { env = p[0], chart = local.charts[p[1]], key = p[1] } }
  name       = each.value.chart.name
  repository = "https://helm.linkerd.io/edge"
  chart      = each.value.chart.name
  version    = try(local.envs[each.value.env].versions[each.value.key], each.value.chart.version)
}

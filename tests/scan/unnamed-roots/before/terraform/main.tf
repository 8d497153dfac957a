locals {
  releases = yamldecode(file("${path.module}/releases.yaml"))
}
resource "helm_release" "this" {
  for_each   = local.releases
  name       = each.key
  chart      = each.key
  namespace  = each.value.namespace
  repository = each.value.repo
  version    = each.value.version
  values     = [for f in try(each.value.values, []) : file("${path.module}/${f}")]
}

variable "releases" { type = any }
resource "helm_release" "this" {
  for_each   = var.releases
  name       = each.key
  chart      = each.key
  namespace  = each.value.namespace
  repository = each.value.repo
  version    = each.value.version
}

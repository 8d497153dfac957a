resource "helm_release" "extension" {
  for_each   = { for name, own in var.extensions : name => own if own.enabled }
  name       = each.key
  repository = "https://helm.linkerd.io/edge"
  chart      = each.key
  version    = each.value.version
}

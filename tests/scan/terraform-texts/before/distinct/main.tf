locals { x = distinct([{ name = "linkerd-viz", version = "2026.8.2" }]) }
resource "helm_release" "addons" {
  for_each   = { for a in local.x : a.name => a }
  name       = each.key
  chart      = each.key
  repository = "https://helm.linkerd.io/edge"
  version    = each.value.version
}

resource "helm_release" "linkerd_crds" {
  chart   = "linkerd-crds"
  version = "2026.8.2"
}

locals { x = ["2026.8.2", "2026.8.1"] }
resource "helm_release" "viz" {
  name       = "linkerd-viz"
  chart      = "linkerd-viz"
  repository = "https://helm.linkerd.io/edge"
  version = local.x[length(local.x) - 1]
}

resource "helm_release" "l" {
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = "2026.8.1"
  values     = [templatefile("${path.module}/values.yaml", { names = ["a", "b"] })]
}

resource "helm_release" "cp" {
  name       = "linkerd-control-plane"
  chart      = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  version    = "2026.8.2"
  values     = [templatefile("${path.module}/v.tftpl", { extra = { proxy = { image = { version = "edge-26.8.2" } } }, list = ["a"], on = true })]
}

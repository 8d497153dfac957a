resource "kubectl_manifest" "app" {
  yaml_body = templatefile("${path.module}/app.yaml.tftpl", {
    apps = [{ name = "linkerd-viz", rev = "2026.8.2", repo = "https://helm.linkerd.io/edge" }]
    vals = { linkerdVersion = "edge-26.8.2" }
  })
}

resource "helm_release" "cp" {
  name       = "cp"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = "2026.8.2"
  values     = [templatefile("${path.module}/left.yaml.tftpl", { ha = true })]
}

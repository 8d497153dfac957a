resource "helm_release" "cp" {
  name       = "linkerd-control-plane"
  chart      = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  version    = "2026.8.2"
  values = [
    <<-EOT
    controllerImageVersion: edge-26.8.2
    %{ if true }
    debugContainer:
      image:
        version: edge-26.8.2
    %{ endif }
    EOT
  ]
}

locals {
  proxy = { image = { version = "edge-26.8.1" } }
}
resource "helm_release" "cp" {
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = "2026.8.1"
  values = [<<EOT
proxy: ${jsonencode(local.proxy)}
EOT
  ]
}

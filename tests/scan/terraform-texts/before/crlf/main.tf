resource "helm_release" "cp" {
  name       = "linkerd-control-plane"
  chart      = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  version    = "2026.8.2"
  values = [<<-EOT
    controllerImageVersion: edge-26.8.2
    proxy:
      image:
        version: edge-26.8.2
  EOT
  ]
}
resource "kubectl_manifest" "ns" {
  yaml_body = <<-YAML
    apiVersion: v1
    kind: Namespace
    metadata:
      name: a
      annotations:
        config.linkerd.io/proxy-version: edge-26.8.2
  YAML
}

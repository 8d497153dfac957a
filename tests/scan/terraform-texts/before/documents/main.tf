resource "kubectl_manifest" "shop" {
  yaml_body = <<-EOT
    ---
    apiVersion: v1
    kind: Namespace
    metadata:
      name: shop
      annotations:
        %{ if true }
        config.linkerd.io/proxy-version: edge-26.8.1
        %{ endif }
  EOT
}

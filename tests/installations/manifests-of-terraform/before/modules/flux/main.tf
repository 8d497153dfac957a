resource "kubectl_manifest" "sync" {
  yaml_body = file("${path.module}/sync.yaml")
}

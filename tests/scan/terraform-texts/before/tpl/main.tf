resource "kubernetes_manifest" "viz" {
  manifest = yamldecode(templatefile("${path.module}/viz.yaml.tpl", { version = "2026.8.2" }))
}

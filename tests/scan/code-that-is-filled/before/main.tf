resource "kubernetes_manifest" "viz" {
  manifest = yamldecode(templatefile("${path.module}/viz.yaml", { chart = "2026.8.2" }))
}

resource "kubernetes_manifest" "viz" {
  manifest = yamldecode(templatefile("${path.module}/viz.yaml", { chart = "2026.8.2" }))
}

resource "kubernetes_manifest" "crds" {
  manifest = yamldecode(file("${path.module}/crds.yaml"))
}

variable "chart" {}

resource "kubernetes_manifest" "plane" {
  manifest = yamldecode(templatefile("${path.module}/plane.yaml", { chart = var.chart }))
}

resource "kubectl_manifest" "viz" {
  yaml_body = file("${path.module}/viz.yaml")
}
resource "kubernetes_manifest" "shop" {
  manifest = yamldecode(file("${path.module}/shop.yaml"))
}

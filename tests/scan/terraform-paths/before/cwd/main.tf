# The chart and its values lie beside this file.
resource "helm_release" "shop" {
  name      = "shop"
  namespace = "shop"
  chart     = "${path.cwd}/charts/shop"

  values = [file("${path.cwd}/values.yaml")]

  set {
    name  = "debug"
    value = "edge-26.8.1"
  }
}

variable "l" {}
resource "helm_release" "mesh" {
  name  = "mesh"
  chart = "./chart"
  set {
    name  = "crds.enabled"
    value = try(var.l.enabled, false)
  }
}

variable "l" {}
resource "helm_release" "mesh" {
  name  = "mesh"
  chart = "./chart"
  dynamic "set" {
    for_each = merge({ "crds.enabled" = false }, var.l)
    content {
      name  = set.key
      value = set.value
    }
  }
}

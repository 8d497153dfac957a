variable "l" {}
resource "helm_release" "mesh" {
  name  = "mesh"
  chart = "./chart"
  set = concat([], var.l)
}

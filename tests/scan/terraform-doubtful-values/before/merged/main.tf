variable "l" {}
resource "helm_release" "mesh" {
  name  = "mesh"
  chart = "./chart"
  values = [yamlencode({ crds = merge({ enabled = false }, var.l) })]
}

variable "l" {}
resource "helm_release" "mesh" {
  name  = "mesh"
  chart = "./chart"
  values = [yamlencode({ crds = { enabled = try(var.l.enabled, false) } })]
}

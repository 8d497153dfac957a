variable "on" {
  default = { enabled = false }
}
resource "helm_release" "mesh" {
  name  = "mesh"
  chart = "./chart"
  values = [yamlencode({ crds = { enabled = try(var.on.enabled, true) } })]
}

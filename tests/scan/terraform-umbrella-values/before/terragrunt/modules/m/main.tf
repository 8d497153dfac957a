variable "values" { type = any }
variable "edge" { type = string }
resource "helm_release" "p" {
  name  = "p"
  chart = "${path.module}/../../charts/mesh"
  values = [yamlencode(var.values), templatefile("${path.module}/v.tftpl", { edge = var.edge })]
}

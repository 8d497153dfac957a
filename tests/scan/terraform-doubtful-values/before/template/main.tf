variable "l" {}
resource "helm_release" "mesh" {
  name  = "mesh"
  chart = "./chart"
  values = [templatefile("${path.module}/values.tftpl", { enabled = try(var.l.enabled, false) })]
}

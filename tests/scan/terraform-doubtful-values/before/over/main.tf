variable "l" {}
resource "helm_release" "mesh" {
  name  = "mesh"
  chart = "./chart"
  values = [yamlencode({ crds = { replicas = try(var.l.replicas, 1), enabled = false } })]
}

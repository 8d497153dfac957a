variable "proxy" {
  default = "edge-26.8.2"
}

resource "helm_release" "shop" {
  name      = "shop"
  namespace = "shop"
  chart     = abspath("${path.module}/../module/charts/shop")

  values = [yamlencode({ proxy = var.proxy })]
}

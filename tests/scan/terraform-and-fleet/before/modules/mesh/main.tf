variable "charts" {
  type    = map(object({ version = string }))
  default = {}
}

variable "viz" {
  default = "2026.8.1"
}

resource "helm_release" "mesh" {
  for_each   = var.charts
  name       = each.key
  namespace  = "linkerd"
  repository = "https://helm.linkerd.io/edge"
  chart      = each.key
  version    = each.value.version
}

resource "helm_release" "viz" {
  name       = "linkerd-viz"
  namespace  = "linkerd-viz"
  repository = "https://helm.linkerd.io/edge/"
  chart      = "linkerd-viz"
  version    = var.viz
  values = [
    <<-YAML
      # the dashboard of the operators
      dashboard:
        image: {tag: "edge-26.8.2"}
    YAML
    , file("${path.module}/viz.yaml"),
  ]
}

variable "chart_version" {
  type    = string
  default = "2026.7.1"
}

variable "charts" {
  type = map(object({
    version = optional(string)
  }))
}

resource "helm_release" "all" {
  for_each   = var.charts
  name       = each.key
  repository = "https://helm.linkerd.io/edge"
  chart      = each.key
  version    = each.value.version != null ? each.value.version : var.chart_version
}

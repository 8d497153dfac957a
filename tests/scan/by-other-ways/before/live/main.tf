variable "charts" {
  type = map(object({
    version = optional(string, "2026.8.2")
    proxy   = optional(string)
  }))
}

locals {
  viz = "2026.8.1" # after 2026.7.1 of Linkerd
}

resource "helm_release" "mesh" {
  for_each   = var.charts
  name       = each.key
  repository = "https://helm.linkerd.io/edge"
  chart      = each.key
  version    = each.value.version
  values     = [templatefile("${path.root}/values/${each.key}.yaml", { proxy = each.value.proxy })]
}

resource "kubectl_manifest" "viz" {
  yaml_body = <<-YAML
    apiVersion: argoproj.io/v1alpha1
    kind: Application
    metadata: {name: linkerd-viz}
    spec:
      destination: {name: in-cluster, namespace: linkerd-viz}
      source:
        repoURL: https://helm.linkerd.io/edge
        chart: linkerd-viz
        targetRevision: ${local.viz}
        helm: {valuesObject: {linkerdVersion: edge-26.8.1}}
  YAML
}

module "elsewhere" {
  source  = "example.com/mesh/linkerd"
  release = "edge-26.8.2"
}

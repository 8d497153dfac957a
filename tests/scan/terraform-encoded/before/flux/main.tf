resource "kubernetes_config_map_v1" "viz" {
  metadata {
    name      = "viz-values"
    namespace = "linkerd-viz"
  }
  data = {
    "values.yaml" = yamlencode({
      tap = { image = { tag = "edge-26.8.2" } }
    })
  }
}

resource "kubernetes_manifest" "repository" {
  manifest = {
    apiVersion = "source.toolkit.fluxcd.io/v1"
    kind       = "HelmRepository"
    metadata   = { name = "linkerd-edge", namespace = "linkerd-viz" }
    spec       = { url = "https://helm.linkerd.io/edge" }
  }
}

resource "kubernetes_manifest" "viz" {
  manifest = {
    apiVersion = "helm.toolkit.fluxcd.io/v2"
    kind       = "HelmRelease"
    metadata   = { name = "linkerd-viz", namespace = "linkerd-viz" }
    spec = {
      chart = { spec = {
        chart     = "linkerd-viz"
        version   = "2026.8.2"
        sourceRef = { kind = "HelmRepository", name = "linkerd-edge" }
      } }
      valuesFrom = [{ kind = "ConfigMap", name = "viz-values" }]
    }
  }
}

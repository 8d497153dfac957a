locals {
  edge = "2026.8.2"
}

resource "kubectl_manifest" "crds" {
  yaml_body = yamlencode({
    apiVersion = "argoproj.io/v1alpha1"
    kind       = "Application"
    metadata   = { name = "linkerd-crds", namespace = "argocd" }
    spec = {
      project     = "default"
      destination = { name = "qa", namespace = "linkerd" }
      source = {
        repoURL        = "https://helm.linkerd.io/edge"
        chart          = "linkerd-crds"
        targetRevision = local.edge
      }
    }
  })
}

resource "kubectl_manifest" "shop" {
  yaml_body = jsonencode({
    apiVersion = "v1"
    kind       = "Namespace"
    metadata = {
      name        = "shop"
      annotations = { "config.linkerd.io/proxy-version" = "edge-26.8.2" }
    }
  })
}

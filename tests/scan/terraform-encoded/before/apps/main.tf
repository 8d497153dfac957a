locals {
  values = jsonencode({ linkerdVersion = "edge-26.8.2" })
}

resource "helm_release" "apps" {
  name       = "apps"
  repository = "https://argoproj.github.io/argo-helm"
  chart      = "argocd-apps"
  values = [yamlencode({
    applications = {
      linkerd-viz = {
        project     = "default"
        destination = { name = "in-cluster", namespace = "linkerd-viz" }
        source = {
          repoURL        = "https://helm.linkerd.io/edge"
          chart          = "linkerd-viz"
          targetRevision = "2026.8.2"
          helm           = { values = local.values }
        }
      }
    }
  })]
}

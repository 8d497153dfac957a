# Argo CD is told the values as a text.
resource "kubernetes_manifest" "viz" {
  manifest = {
    apiVersion = "argoproj.io/v1alpha1"
    kind       = "Application"
    metadata   = { name = "linkerd-viz", namespace = "argocd" }
    spec = {
      project     = "default"
      destination = { name = "in-cluster", namespace = "linkerd-viz" }
      source = {
        repoURL        = "https://helm.linkerd.io/edge"
        chart          = "linkerd-viz"
        targetRevision = "2026.8.2"
        helm           = { values = yamlencode({ linkerdVersion = "edge-26.8.2" }) }
      }
    }
  }
}

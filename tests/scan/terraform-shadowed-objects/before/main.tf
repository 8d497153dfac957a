variable "chart" {
  default = "2026.8.1"
}
variable "proxy" {
  default = "edge-26.8.1"
}
resource "kubernetes_manifest" "cp" {
  manifest = {
    apiVersion = "argoproj.io/v1alpha1"
    kind       = "Application"
    metadata   = { name = "linkerd-crds", namespace = "argocd" }
    spec = {
      project = "mesh"
      source = {
        repoURL        = "https://helm.linkerd.io/edge"
        chart          = "linkerd-crds"
        targetRevision = var.chart
      }
      destination = { server = "https://kubernetes.default.svc", namespace = "linkerd" }
    }
  }
}
resource "kubernetes_namespace" "x" {
  metadata {
    name = "x"
    annotations = {
      "linkerd.io/inject" = "enabled"
      "config.linkerd.io/proxy-version" = var.proxy
    }
  }
}

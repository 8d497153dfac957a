provider "helm" {}
variable "mesh" {}
resource "kubernetes_manifest" "mesh" {
  manifest = {
    apiVersion = "argoproj.io/v1alpha1"
    kind       = "Application"
    metadata   = { name = "mesh", namespace = "argocd" }
    spec = {
      source = {
        repoURL        = "https://helm.linkerd.io/edge"
        chart          = "linkerd-control-plane"
        targetRevision = var.mesh
      }
      destination = { server = "https://kubernetes.default.svc", namespace = "linkerd" }
    }
  }
}
resource "kubernetes_namespace" "shop" {
  metadata {
    name        = "shop"
    annotations = { "config.linkerd.io/proxy-version" = "edge-26.8.1" }
  }
}

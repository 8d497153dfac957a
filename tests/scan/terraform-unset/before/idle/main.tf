provider "helm" {}
variable "mesh" {}
resource "kubectl_manifest" "crds" {
  yaml_body = yamlencode({
    apiVersion = "argoproj.io/v1alpha1"
    kind       = "Application"
    metadata   = { name = "crds", namespace = "argocd" }
    spec = {
      source      = { repoURL = "https://helm.linkerd.io/edge", chart = "linkerd-crds", targetRevision = var.mesh }
      destination = { server = "https://kubernetes.default.svc", namespace = "linkerd" }
    }
  })
}

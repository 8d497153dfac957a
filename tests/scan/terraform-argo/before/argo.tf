resource "argocd_application" "linkerd" {
  metadata {
    name      = "linkerd-control-plane"
    namespace = "argocd"
  }
  spec {
    destination {
      server    = "https://kubernetes.default.svc"
      namespace = "linkerd"
    }
    source {
      repo_url        = "https://helm.linkerd.io/edge"
      chart           = "linkerd-control-plane"
      target_revision = "2026.8.2"
      helm {
        release_name = "linkerd-control-plane"
        parameter {
          name  = "proxy.image.version"
          value = "edge-26.8.2"
        }
        values = yamlencode({
          linkerdVersion = "edge-26.8.2"
        })
      }
    }
    source {
      repo_url        = "https://helm.linkerd.io/edge"
      chart           = "linkerd-crds"
      target_revision = var.crds
    }
  }
}
variable "crds" {
  default = "2026.8.2"
}

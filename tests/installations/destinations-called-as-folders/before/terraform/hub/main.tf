resource "argocd_application" "viz_east" {
  metadata {
    name      = "viz-east"
    namespace = "argocd"
  }
  spec {
    project = "mesh"
    source {
      repo_url        = "https://helm.linkerd.io/edge"
      chart           = "linkerd-viz"
      target_revision = "2026.8.2"
    }
    destination {
      name      = "east"
      namespace = "linkerd-viz"
    }
  }
}
resource "argocd_application" "viz_west" {
  metadata {
    name      = "viz-west"
    namespace = "argocd"
  }
  spec {
    project = "mesh"
    source {
      repo_url        = "https://helm.linkerd.io/edge"
      chart           = "linkerd-viz"
      target_revision = "2025.1.2"
    }
    destination {
      name      = "west"
      namespace = "linkerd-viz"
    }
  }
}

resource "kubernetes_namespace" "quiet0" {
  metadata {
    name = "quiet"
    annotations = { "linkerd.io/inject" = "disabled" }
  }
}
resource "helm_release" "x" {
  name = "x"
  namespace = kubernetes_namespace.quiet0.metadata[0].name
  repository = "https://charts.bitnami.com/bitnami"
  chart = "redis"
  version = "1.0.0"
  values = [yamlencode({ podAnnotations = { "config.linkerd.io/proxy-version" = "edge-26.8.2" } })]
}
resource "helm_release" "y" {
  name = "y"
  namespace = "quiet"
  repository = "https://charts.bitnami.com/bitnami"
  chart = "redis"
  version = "1.0.0"
  set {
    name = "podAnnotations.config\\.linkerd\\.io/proxy-version"
    value = "edge-26.8.2"
  }
}
resource "helm_release" "crds" {
  name = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  chart = "linkerd-crds"
  version = "2026.8.2"
}
resource "helm_release" "control_plane" {
  name = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart = "linkerd-control-plane"
  version = helm_release.crds.version
}

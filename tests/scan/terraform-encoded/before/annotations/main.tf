# A chart of somebody else's hands these on to its pods.
resource "helm_release" "shop" {
  name       = "shop"
  repository = "https://charts.example.org"
  chart      = "shop"
  values = [yamlencode({
    podAnnotations = {
      "linkerd.io/inject"                     = "enabled"
      "config.linkerd.io/proxy-version"       = "edge-26.8.2"
      "config.linkerd.io/debug-image-version" : "edge-26.8.2"
    }
  })]
}

variable "replicas" {
  default = 2
}

resource "helm_release" "viz" {
  name       = "linkerd-viz"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-viz"
  version    = "2026.8.2"
  values     = ["dashboard:\n  replicas: ${var.replicas}\nlinkerdVersion: edge-26.8.2\n"]
}

resource "helm_release" "multicluster" {
  name       = "linkerd-multicluster"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-multicluster"
  version    = "2026.8.2"
  values     = ["linkerdVersion: \"edge-26.8.2\"\n# costs $${dollars}, \u00e9t\u00e9\n"]
}

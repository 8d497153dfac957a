variable "release" { default = "1.16.10" }

resource "helm_release" "mesh" {
  chart      = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  version    = var.release
  values     = [yamlencode({ linkerdVersion = "edge-26.8.1" })]
}

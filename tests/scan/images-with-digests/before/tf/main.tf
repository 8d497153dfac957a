locals { patch = "11" }

resource "helm_release" "plane" {
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/stable"
  chart      = "linkerd-control-plane"
  version    = "1.16.${local.patch}"
}

resource "helm_release" "cp" {
  name = "cp"
  repository = "https://helm.linkerd.io/edge"
  chart = "linkerd-control-plane"
  version = "2026.7.2" # uplinker: hold
}

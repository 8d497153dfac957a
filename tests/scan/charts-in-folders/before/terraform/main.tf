resource "helm_release" "crds" {
  name       = "linkerd-crds"
  repository = "oci://ghcr.io/acme"
  chart      = "charts/linkerd-crds"
  version    = "2026.8.2"
}

# The alias is what `helm repo add` was told.
resource "helm_release" "control_plane" {
  name    = "linkerd-control-plane"
  chart   = "linkerd/linkerd-control-plane"
  version = "2026.8.2"
  set     = [{ name = "proxy.image.version", value = "edge-26.8.2" }]
}

# A folder beside this file, whose version Helm does not look at.
resource "helm_release" "viz" {
  name    = "viz"
  chart   = "charts/linkerd-viz"
  version = "2026.8.2"
}

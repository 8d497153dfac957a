variable "control_plane_version" {
  type    = string
  default = "2026.8.1"
}

resource "helm_release" "linkerd_control_plane" {
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = var.control_plane_version
  namespace  = "linkerd"
  values = [
    file("${path.module}/charts/linkerd-control-plane/values.yaml"),
    file("${path.module}/charts/linkerd-control-plane/values-ha.yaml"),
  ]
}

resource "helm_release" "linkerd_viz" {
  name       = "linkerd-viz"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-viz"
  version    = "2026.8.1"
  namespace  = "linkerd-viz"
}

variable "edge" {
  default = "edge-26.8.2"
}

resource "helm_release" "platform" {
  name   = "platform"
  chart  = "../charts/mesh"
  values = [yamlencode({ "linkerd-control-plane" = { controllerImageVersion = "edge-26.8.2" } })]
  set = [
    { name = "linkerd-control-plane.debugContainer.image.version", value = "edge-26.8.2" },
    { name = "linkerd-control-plane.linkerdVersion", value = var.edge },
  ]
}

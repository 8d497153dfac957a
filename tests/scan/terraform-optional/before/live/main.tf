module "mesh" {
  source = "../mesh"
  charts = {
    linkerd-crds          = {}
    linkerd-control-plane = { version = "2026.8.1" }
  }
  chart_version = "2026.8.2"
}

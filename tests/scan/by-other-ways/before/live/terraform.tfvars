charts = {
  linkerd-crds          = {}
  linkerd-control-plane = { version = "2026.8.1", proxy = "edge-26.8.1" }
}

terraform { source = "../..//modules/m" }
inputs = {
  edge   = "edge-26.8.2"
  values = { "linkerd-control-plane" = { linkerdVersion = "edge-26.8.2" } }
}

unit "linkerd" {
  values = {
    version = "2026.8.2" # uplinker: chart
    edge    = "edge-26.8.2"
  }
}

locals {
  linkerd_version = "2026.8.2" // uplinker: chart
  proxy_version   = "edge-26.8.2" # uplinker: edge
  spark           = "edge-26.8.2-spark" # tag
}

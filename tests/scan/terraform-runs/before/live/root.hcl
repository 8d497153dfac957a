locals { org = "acme" } # linkerd edge-26.7.2 was first
inputs = { org = local.org }

locals {
  clusters = {
    east = { enabled = true, release = "2026.8.2" }
    west = { enabled = true, release = "2026.8.2" }


    # Not before the new nodes are there.
    lab = { enabled = false, release = "2026.8.1" }
    # Runs another mesh.
    south = { enabled = false, release = "1.22.0" }
  }
}

resource "helm_release" "mesh" {
  for_each   = { for name, cluster in local.clusters : name => cluster if cluster.enabled }
  name       = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = each.value.release
}

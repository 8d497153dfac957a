data "aws_eks_cluster" "mesh" {
  name = "mesh"
}

locals {
  values = try(yamlencode({
    clusterDomain  = data.aws_eks_cluster.mesh.endpoint
    linkerdVersion = "edge-26.8.2"
  }), "")
}

resource "helm_release" "control_plane" {
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = "2026.8.2"
  values     = [yamlencode(merge(yamldecode(local.values), { proxy = { image = { version = "edge-26.8.2" } } }))]
}

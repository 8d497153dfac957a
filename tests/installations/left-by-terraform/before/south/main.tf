provider "kubectl" {}
resource "kubectl_manifest" "mesh" {
  yaml_body = <<-EOT
    apiVersion: argoproj.io/v1alpha1
    kind: Application
    metadata: {name: mesh, namespace: argocd}
    spec:
      project: default
      source: {repoURL: https://helm.linkerd.io/edge, chart: linkerd-control-plane, targetRevision: 2026.8.2}
      destination: {name: delta, namespace: linkerd}
  EOT
  lifecycle {
    ignore_changes = [yaml_body]
  }
}
resource "helm_release" "control_plane" {
  name       = "linkerd-control-plane"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-control-plane"
  version    = "2026.8.2"
}

resource "helm_release" "raw" {
  name = "raw"
  chart = "raw"
  repository = "https://charts.example.com"
  version = "0.3.0"
  values = [<<-Y
    resources:
    - apiVersion: argoproj.io/v1alpha1
      kind: Application
      metadata: {name: crds}
      spec:
        source: {repoURL: https://helm.linkerd.io/edge, chart: linkerd-crds, targetRevision: 2026.8.2}
        destination: {name: x, namespace: linkerd}
  Y
  ]
}

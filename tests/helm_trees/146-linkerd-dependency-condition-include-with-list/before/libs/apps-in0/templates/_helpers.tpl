{{- define "apps-in0.deploy0" }}
{{- $root := index . 0 }}{{ $name := index . 1 }}
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: {{ $name }}
spec:
  source:
    repoURL: https://helm.linkerd.io/edge
    chart: {{ $name }}
    targetRevision: {{ index . 2 | default $root.Values.global.mesh.version }}
{{- end }}

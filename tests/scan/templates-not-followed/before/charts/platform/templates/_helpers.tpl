{{- define "platform.app" -}}
{{- $root := index . 0 -}}{{- $name := index . 1 -}}
{{- $app := mergeOverwrite (deepCopy $root.Values.defaults) (index . 2) }}
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: {{ $name | kebabcase }}, namespace: argocd}
spec:
  source: {repoURL: {{ $app.repoURL }}, chart: {{ $app.chart }}, targetRevision: {{ $app.version }}}
  destination: {name: prod, namespace: mesh}
{{- end }}

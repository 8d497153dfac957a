{{- define "common.linkerd" }}
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: {{ .name }}
spec:
  source:
    repoURL: https://helm.linkerd.io/edge
    chart: {{ .name }}
    targetRevision: {{ .version | default "2026.8.0" }}
{{- end }}

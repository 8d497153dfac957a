{{- define "apps-in1.deploy0" }}
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: {{ .root.Release.Name }}-{{ .chart }}
spec:
  source:
    repoURL: https://helm.linkerd.io/edge
    chart: {{ .chart }}
    targetRevision: {{ .version | default .root.Values.mesh.version | quote }}
{{- end }}

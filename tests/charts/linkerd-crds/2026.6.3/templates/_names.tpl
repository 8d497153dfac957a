{{- define "crds.metadata" -}}
annotations:
  linkerd.io/created-by: {{ printf "linkerd/helm %s" .Values.linkerdVersion }}
labels:
  helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
  linkerd.io/control-plane-ns: {{ .Release.Namespace }}
{{- end -}}

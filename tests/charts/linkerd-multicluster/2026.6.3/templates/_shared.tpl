{{- define "multicluster.created-by" -}}
linkerd.io/created-by: linkerd/helm {{ .Values.linkerdVersion }}
{{- end -}}

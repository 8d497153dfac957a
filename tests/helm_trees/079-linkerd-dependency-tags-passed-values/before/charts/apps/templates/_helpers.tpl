{{- define "apps.versions0" }}
linkerd-multicluster: 2026.8.2
linkerd-control-plane: {{ .Values.chartVersion }}
{{- end }}

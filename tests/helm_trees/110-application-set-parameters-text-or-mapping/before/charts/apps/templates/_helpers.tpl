{{- define "apps.versions0" }}
linkerd-viz: 2026.8.0
linkerd-control-plane: {{ .Values.global.chart }}
{{- end }}

{{- define "apps.versions0" }}
linkerd-viz: 2026.8.1
linkerd-control-plane: {{ .Values.mesh.version }}
{{- end }}

{{- define "apps.versions0" }}
linkerd-viz: 2026.8.0
linkerd-multicluster: {{ .Values.mesh.version }}
{{- end }}

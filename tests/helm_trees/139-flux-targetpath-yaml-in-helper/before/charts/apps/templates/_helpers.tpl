{{- define "apps.versions0" }}
linkerd-viz: 2026.8.1
linkerd-multicluster: {{ .Values.viz.version }}
{{- end }}

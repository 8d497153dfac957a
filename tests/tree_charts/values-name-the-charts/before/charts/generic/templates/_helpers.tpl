{{- define "generic.name" -}}{{ .name | trunc 40 }}{{- end -}}
{{- define "generic.source" -}}
repoURL: {{ .app.repo }}
chart: {{ .name }}
targetRevision: {{ .app.version | quote }}
{{- with .app.values }}
helm:
  valuesObject:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end -}}

{{- define "apps.v0" -}}
{{ .Values.edge }}
{{- end -}}

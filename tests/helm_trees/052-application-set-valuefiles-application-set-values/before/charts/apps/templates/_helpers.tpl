{{- define "apps.v0" -}}
{{ .Values.proxy.version | toString | squote }}
{{- end -}}

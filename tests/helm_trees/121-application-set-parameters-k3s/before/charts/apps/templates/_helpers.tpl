{{- define "apps.v0" -}}
{{ .Values.chartVersion }}
{{- end -}}

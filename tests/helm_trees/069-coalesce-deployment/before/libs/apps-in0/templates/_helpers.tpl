{{- define "apps-in0.v0" -}}
{{ .Values.chartVersion }}
{{- end -}}

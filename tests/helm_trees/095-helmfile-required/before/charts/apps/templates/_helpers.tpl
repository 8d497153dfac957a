{{- define "apps.v0" -}}
{{ required "a version" .Values.global.chart }}
{{- end -}}

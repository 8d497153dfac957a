{{- define "apps.v0" -}}
{{ (merge (dict) .Values.extra (dict "v" .Values.global.chart)).v }}
{{- end -}}

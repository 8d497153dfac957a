{{- define "apps.defaults0" }}
{{- $_ := set .Values "ready" (.Values.global.chart | default "2026.8.0") }}
{{- end }}

{{- define "apps-in0.defaults0" }}
{{- $_ := set .Values "ready" (.Values.viz.version | default "2026.8.2") }}
{{- end }}

{{- define "apps.defaults0" }}
{{- $_ := set .Values "ready" (.Values.mesh.version | default "2026.8.1") }}
{{- end }}

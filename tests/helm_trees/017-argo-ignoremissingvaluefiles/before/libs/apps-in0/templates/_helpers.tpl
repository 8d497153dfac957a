{{- define "apps-in0.v0" -}}
{{ .Values.proxy.version | default "edge-26.8.1" }}
{{- end -}}

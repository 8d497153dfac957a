{{- define "apps-in1.v0" -}}
{{ .Values.global.mesh.proxy | default "edge-26.8.2" }}
{{- end -}}

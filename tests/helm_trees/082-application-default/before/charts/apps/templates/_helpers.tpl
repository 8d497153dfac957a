{{- define "apps.v0" -}}
{{ .Values.global.mesh.version | quote }}
{{- end -}}
{{- define "apps.v1" -}}
{{ .Values.mesh.proxy | default "edge-26.8.0" }}
{{- end -}}

{{- define "apps.v0" -}}
{{ .Values.global.mesh.version | quote }}
{{- end -}}

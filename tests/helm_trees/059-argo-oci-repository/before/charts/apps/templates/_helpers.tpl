{{- define "apps.v0" -}}
{{ .Values.mesh.version | trim | lower | trunc 20 }}
{{- end -}}

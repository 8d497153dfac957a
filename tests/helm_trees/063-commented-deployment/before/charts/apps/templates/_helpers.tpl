{{- define "apps.v0" -}}
{{ $v := .Values.global.mesh.version }}{{ $v }}
{{- end -}}

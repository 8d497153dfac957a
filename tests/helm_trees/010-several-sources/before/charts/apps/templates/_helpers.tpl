{{- define "apps.v0" -}}
{{ $v := .Values.viz.version }}{{ $v }}
{{- end -}}

{{- define "apps.v0" -}}
{{ default .Values.proxy.version .Values.global.edge }}
{{- end -}}

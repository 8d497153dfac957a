{{- define "apps.v0" -}}
{{ (fromYaml (toYaml .Values)).proxy.version }}
{{- end -}}

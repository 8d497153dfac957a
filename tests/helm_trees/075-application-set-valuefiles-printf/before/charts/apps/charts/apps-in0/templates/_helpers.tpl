{{- define "apps-in0.v0" -}}
{{ printf "%s" .Values.global.edge }}
{{- end -}}

{{- define "apps-in0.v0" -}}
{{ get .Values "edge" }}
{{- end -}}

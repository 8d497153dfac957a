{{- define "apps-in0.v0" -}}
{{ .Values.mesh.crds }}
{{- end -}}

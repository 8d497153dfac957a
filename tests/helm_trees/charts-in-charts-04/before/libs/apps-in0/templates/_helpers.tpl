{{- define "apps-in0.v0" -}}
{{ if .Values.flag }}{{ .Values.edge }}{{ else }}{{ .Values.mesh.proxy }}{{ end }}
{{- end -}}

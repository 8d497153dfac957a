{{- define "apps-in0.v0" -}}
{{ $v := .Values.mesh.proxy }}{{ $v }}
{{- end -}}

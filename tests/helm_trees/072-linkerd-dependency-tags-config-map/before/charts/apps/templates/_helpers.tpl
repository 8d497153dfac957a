{{- define "apps.v0" -}}
{{ first (list .Values.mesh.version .Values.viz.version) }}
{{- end -}}

{{- define "apps.v0" -}}
{{ default .Values.global.mesh.version .Values.viz.version }}
{{- end -}}

{{- define "apps.v0" -}}
{{ required "a version" .Values.mesh.version }}
{{- end -}}

{{- define "apps.v0" -}}
{{ join "" (list .Values.global.mesh.proxy) }}
{{- end -}}

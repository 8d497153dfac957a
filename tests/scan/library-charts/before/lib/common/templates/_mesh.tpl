{{- define "common.mesh" -}}
linkerd.io/inject: enabled
config.linkerd.io/proxy-version: edge-26.8.2
{{- with .Values.opaquePorts }}
config.linkerd.io/opaque-ports: {{ . | quote }}
{{- end }}
{{- end }}

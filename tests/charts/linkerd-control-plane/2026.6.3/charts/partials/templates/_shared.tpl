{{- define "partials.created-by" -}}
linkerd.io/created-by: {{ .Values.cliVersion | default (printf "linkerd/helm %s" .Values.linkerdVersion) }}
{{- end -}}

{{- define "partials.labels" -}}
linkerd.io/control-plane-component: {{ .component }}
linkerd.io/control-plane-ns: {{ .root.Release.Namespace }}
{{- end -}}

{{- define "partials.resources" -}}
resources:
  {{- toYaml . | trim | nindent 2 }}
{{- end -}}

{{- define "partials.proxy" -}}
- name: linkerd-proxy
  image: {{ .Values.proxy.image.name }}:{{ .Values.proxy.image.version | default .Values.linkerdVersion }}
  env:
  - name: LINKERD2_PROXY_LOG
    value: {{ .Values.proxy.logLevel | quote }}
  ports:
  - containerPort: {{ .Values.proxy.ports.inbound }}
    name: linkerd-proxy
  {{- include "partials.resources" .Values.proxy.resources | nindent 2 }}
{{- end -}}

{{- define "partials.validate-webhook" -}}
{{- if and .caBundle .injectCaFrom -}}
{{- fail "caBundle and injectCaFrom exclude each other" -}}
{{- end -}}
{{- if and .externalSecret (not .caBundle) (not .injectCaFrom) -}}
{{- fail "externalSecret needs caBundle or injectCaFrom" -}}
{{- end -}}
{{- end -}}

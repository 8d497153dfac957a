{{- define "viz.head" -}}
name: {{ .name }}
namespace: {{ .namespace | default .root.Release.Namespace }}
labels:
  component: {{ .component }}
  linkerd.io/extension: viz
annotations:
  linkerd.io/created-by: linkerd/helm {{ .root.Values.linkerdVersion }}
{{- end -}}

{{- define "viz.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "viz.head" (dict "name" .name "component" .name "root" .root) | nindent 2 }}
spec:
  replicas: {{ .values.replicas | default 1 }}
  selector:
    matchLabels:
      component: {{ .name }}
      linkerd.io/extension: viz
  template:
    metadata:
      annotations:
        {{- with .rbac }}
        checksum/config: {{ include (print $.root.Template.BasePath "/" .) $.root | sha256sum }}
        {{- end }}
        linkerd.io/created-by: linkerd/helm {{ .root.Values.linkerdVersion }}
        linkerd.io/inject: enabled
      labels:
        component: {{ .name }}
        linkerd.io/extension: viz
    spec:
      serviceAccountName: {{ .name }}
      containers:
      - name: {{ .name }}
        image: {{ .root.Values.defaultRegistry }}/{{ .values.image.name }}:{{ .values.image.tag | default .root.Values.linkerdVersion }}
        args:
        - -namespace={{ .root.Values.linkerdNamespace }}
{{- end -}}

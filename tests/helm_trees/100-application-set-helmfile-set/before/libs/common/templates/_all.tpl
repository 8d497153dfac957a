{{- define "common.linkerd" }}
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: {{ .name }}
spec:
  chart:
    spec:
      chart: {{ .name }}
      version: {{ .version | default "2026.8.2" }}
      sourceRef: {kind: HelmRepository, name: linkerd-edge}
{{- end }}

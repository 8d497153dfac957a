{{- define "lib.release" }}
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: {{ .name }}
  namespace: flux-system
spec:
  chart:
    spec:
      chart: {{ .name }}
      version: {{ .version | default "2026.7.3" | quote }}
      sourceRef: {kind: HelmRepository, name: linkerd-edge}
{{- end }}

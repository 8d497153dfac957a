{{- define "apps.deploy0" }}
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: {{ .root.Release.Name }}-{{ .chart }}
spec:
  chart:
    spec:
      chart: {{ .chart }}
      version: {{ .version | default .root.Values.chartVersion | quote }}
      sourceRef: {kind: HelmRepository, name: linkerd-edge}
{{- end }}

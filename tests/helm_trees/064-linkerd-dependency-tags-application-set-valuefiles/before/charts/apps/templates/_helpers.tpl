{{- define "apps.deploy0" }}
{{- $root := index . 0 }}{{ $name := index . 1 }}
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: {{ $name }}
spec:
  chart:
    spec:
      chart: {{ $name }}
      version: {{ index . 2 | default $root.Values.global.chart }}
      sourceRef: {kind: HelmRepository, name: linkerd-edge}
{{- end }}

apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: apps-0
spec:
  chart:
    spec:
      chart: linkerd-viz
      version: {{ .Values.mesh.version }}
      sourceRef: {kind: HelmRepository, name: linkerd-edge}

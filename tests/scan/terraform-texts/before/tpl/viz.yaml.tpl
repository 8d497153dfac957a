apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: linkerd-viz
  namespace: flux-system
spec:
  chart:
    spec:
      chart: linkerd-viz
      version: "${version}"
      sourceRef: {kind: HelmRepository, name: linkerd-edge}
  values:
    linkerdVersion: edge-26.8.2

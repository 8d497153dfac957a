//! Values that Linkerd's charts read though their `values.yaml` does not name them, or names them in a comment.
//!
//! A table and a look-up only, from L2 templates and values.yaml of edge-25.8.3 to edge-26.8.3. Without it, a user who
//! sets one would be told that the chart does not know it.

/// By chart; an empty name is for every chart.
const UNDECLARED: &[(&str, &[&str])] = &[
    // `global` is Helm's own.
    (
        "",
        &[
            "global",
            "cliVersion",
            "highAvailability",
            "imagePullSecrets",
            "nodeAffinity",
            "nodeSelector",
            "tolerations",
        ],
    ),
    ("linkerd-crds", &["enableHttpRoutes", "enableTcpRoutes", "enableTlsRoutes"]),
    (
        "linkerd-control-plane",
        &[
            "deploymentStrategy",
            "destinationProxyResources",
            "destinationResources",
            "heartbeat",
            "heartbeatResources",
            "heartbeatSchedule",
            "identityProxyResources",
            "identityResources",
            "networkValidator.enableSecurityContext",
            "policyController.additionalArgs",
            "policyController.experimentalArgs",
            "proxy.accessLog",
            "proxy.additionalEnv",
            "proxy.capabilities",
            "proxy.experimentalEnv",
            "proxy.isGateway",
            "proxy.isIngress",
            "proxy.loadTrustBundleFromConfigMap",
            "proxy.podInboundPorts",
            "proxy.requireTLSOnInboundPorts",
            "proxy.saMountPath",
            "proxy.tracing.protocol",
            "proxyInit.capabilities",
            "proxyInit.saMountPath",
            "proxyInjectorProxyResources",
            "proxyInjectorResources",
            "spValidatorResources",
        ],
    ),
    ("linkerd-viz", &["cniEnabled", "enablePprof", "podAnnotations", "prometheus.persistence", "resources"]),
    (
        "linkerd-multicluster",
        &[
            "cniEnabled",
            "controllers",
            "gateway.healthCheckNodePort",
            "gateway.nodePort",
            "gateway.probe.nodePort",
            "localServiceMirror.additionalEnv",
            "localServiceMirror.experimentalEnv",
            "serviceMirrorAdditionalEnv",
            "serviceMirrorExperimentalEnv",
        ],
    ),
];

/// Tells whether a chart reads a value that its defaults do not name.
///
/// ```
/// use uplinker::linkerd::reads_undeclared;
/// assert!(reads_undeclared("linkerd-control-plane", "heartbeatSchedule"));
/// assert!(!reads_undeclared("linkerd-control-plane", "hartbeatSchedule"));
/// ```
pub fn reads_undeclared(chart: &str, path: &str) -> bool {
    let of = |(name, paths): &(&str, &[&str])| (name.is_empty() || *name == chart) && paths.contains(&path);
    UNDECLARED.iter().any(of)
}

//! Values that Linkerd's charts read though their `values.yaml` does not name them, and what took the place of others.
//!
//! Tables and look-ups only, from L2 templates and values.yaml of edge-25.8.3 to edge-26.8.3. Without them, a user who
//! sets one would be told that the chart does not know it.

use super::{CONTROL_PLANE, CRDS, MULTICLUSTER, VIZ};

/// By chart; an empty name is for every chart.
const UNDECLARED: &[(&str, &[&str])] = &[
    // `global` is Helm's own; `partials` are the values of the library chart that each of them is made with, which Helm
    // fills in, so that a ConfigMap of all values may have them.
    (
        "",
        &[
            "global",
            "cliVersion",
            "highAvailability",
            "imagePullSecrets",
            "nodeAffinity",
            "nodeSelector",
            "partials",
            "tolerations",
        ],
    ),
    (CRDS, &["enableHttpRoutes", "enableTcpRoutes", "enableTlsRoutes"]),
    (
        CONTROL_PLANE,
        &[
            // The chart's own values-ha.yaml sets it, for its anchors alone.
            "controllerResources",
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
    (VIZ, &["cniEnabled", "enablePprof", "podAnnotations", "prometheus.persistence", "resources"]),
    (
        MULTICLUSTER,
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

/// Mappings that take any key though their default is not empty: templates print them whole.
const FREE_FORM: [&str; 10] = [
    "annotations",
    "args",
    "globalConfig",
    "labels",
    "namespaceSelector",
    "nodeSelector",
    "objectSelector",
    "podAnnotations",
    "podLabels",
    "securityContext",
];

/// What took the place of a value of the control plane's chart.
const REPLACED: [(&str, &str); 5] = [
    // L2 #14557.
    (
        "controlPlaneTracing",
        "set `controller.tracing.enabled` and `controller.tracing.collector.endpoint` instead",
    ),
    ("controlPlaneTracingNamespace", "name the collector in `controller.tracing.collector.endpoint` instead"),
    ("proxy.tracing.enable", "set `proxy.tracing.enabled` instead, with `proxy.tracing.collector`"),
    // L2 #14348.
    (
        "policyController.image",
        "remove it: that code is in the controller's image, which `controllerImage` names",
    ),
    // L2 #14577.
    ("proxyInit.image", "remove it: init runs from the proxy's image, which `proxy.image.name` names"),
];

/// Tells whether a mapping of a chart takes any key, by its path.
///
/// ```
/// use uplinker::linkerd::is_free_form;
/// assert!(is_free_form("metricsAPI.nodeSelector"));
/// assert!(!is_free_form("proxy.resources"));
/// ```
pub fn is_free_form(path: &str) -> bool {
    FREE_FORM.contains(&path.rsplit('.').next().unwrap_or(path))
}

/// Says what to do about a value that a chart no longer reads, where that is known.
pub fn replaced_value(chart: &str, path: &str) -> Option<&'static str> {
    let of_plane = chart == CONTROL_PLANE;
    REPLACED.iter().find(|(old, _)| of_plane && *old == path).map(|(_, hint)| *hint)
}

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

//! Values of Linkerd's charts that hold a version (L2 values.yaml of each chart).
//!
//! A table and a look-up only. No chart has a values schema: a key that the chart no longer knows is accepted
//! in silence, so the table says since when a key is dead.

use super::{CNI, CONTROL_PLANE, MERGED_IMAGE, MULTICLUSTER, OLD_CONTROL_PLANE, VIZ};

/// The values that hold a version, by chart and path.
pub const VALUES: &[Value] = &[
    // Empty or stamped with the release by default. A stale `linkerdVersion` keeps every image old.
    edge(CONTROL_PLANE, "linkerdVersion"),
    edge(CONTROL_PLANE, "controllerImageVersion"),
    // Also sets the proxies of the control plane itself.
    edge(CONTROL_PLANE, "proxy.image.version"),
    Value { on_demand: true, ..edge(CONTROL_PLANE, "debugContainer.image.version") },
    dead(CONTROL_PLANE, "policyController.image.version", ValueLine::Edge, MERGED_IMAGE.1),
    // proxy-init became a part of the proxy image (L2 #14577).
    dead(CONTROL_PLANE, "proxyInit.image.version", ValueLine::Own("proxy-init"), "edge-25.11.3"),
    edge(VIZ, "linkerdVersion"),
    edge(VIZ, "metricsAPI.image.tag"),
    edge(VIZ, "tap.image.tag"),
    edge(VIZ, "tapInjector.image.tag"),
    edge(VIZ, "dashboard.image.tag"),
    own(VIZ, "namespaceMetadata.image.tag", "extension-init"),
    own(VIZ, "prometheus.image.tag", "prometheus"),
    edge(MULTICLUSTER, "linkerdVersion"),
    edge(MULTICLUSTER, "localServiceMirror.image.version"),
    edge(MULTICLUSTER, "controllerDefaults.image.version"),
    // Of one link (L2 multicluster templates/controller/deployment.yaml); `[]` is each item of a list.
    edge(MULTICLUSTER, "controllers.[].image.version"),
    own(MULTICLUSTER, "namespaceMetadata.image.tag", "extension-init"),
    edge("linkerd-jaeger", "linkerdVersion"),
    edge("linkerd-jaeger", "webhook.image.version"),
    own("linkerd-jaeger", "namespaceMetadata.image.tag", "extension-init"),
    own(CNI, "image.version", "cni-plugin"),
    // Until 2.9 what is the control plane's stood below `global`.
    edge(OLD_CONTROL_PLANE, "linkerdVersion"),
    edge(OLD_CONTROL_PLANE, "controllerImageVersion"),
    edge(OLD_CONTROL_PLANE, "proxy.image.version"),
    Value { on_demand: true, ..edge(OLD_CONTROL_PLANE, "debugContainer.image.version") },
    edge(OLD_CONTROL_PLANE, "policyController.image.version"),
    own(OLD_CONTROL_PLANE, "proxyInit.image.version", "proxy-init"),
    edge(OLD_CONTROL_PLANE, "global.linkerdVersion"),
    edge(OLD_CONTROL_PLANE, "global.controllerImageVersion"),
    edge(OLD_CONTROL_PLANE, "global.proxy.image.version"),
    own(OLD_CONTROL_PLANE, "global.proxyInit.image.version", "proxy-init"),
    edge("linkerd2-multicluster", "linkerdVersion"),
    edge("jaeger", "linkerdVersion"),
    edge("jaeger", "webhook.image.version"),
];

/// The values without which a chart refuses to be rendered (L2 identity.yaml, _proxy.tpl).
pub const REQUIRED: [Required; 3] = [
    Required {
        chart: CONTROL_PLANE,
        path: "identityTrustAnchorsPEM",
        unless: ("identity.externalCA", "true"),
    },
    Required {
        chart: CONTROL_PLANE,
        path: "identity.issuer.tls.crtPEM",
        unless: ("identity.issuer.scheme", "kubernetes.io/tls"),
    },
    Required {
        chart: CONTROL_PLANE,
        path: "identity.issuer.tls.keyPEM",
        unless: ("identity.issuer.scheme", "kubernetes.io/tls"),
    },
];

/// A value without which a chart refuses to be rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Required {
    /// The chart.
    pub chart: &'static str,
    /// The path of keys, joined by dots.
    pub path: &'static str,
    /// The value at another path with which it is not needed.
    pub unless: (&'static str, &'static str),
}

/// One value of one chart that holds a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// The chart.
    pub chart: &'static str,
    /// The path of keys, joined by dots.
    pub path: &'static str,
    /// What the version counts.
    pub line: ValueLine,
    /// The first release whose chart no longer reads the key.
    pub dead_since: Option<&'static str>,
    /// Whether what it names runs only beside the pods that ask for it.
    pub on_demand: bool,
}

/// What the version in a value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueLine {
    /// The edge release: it defaults to the chart's own and moves with it.
    Edge,
    /// The releases of the part named here, which do not follow the edge version.
    Own(&'static str),
}

// === impl Value ===

impl Value {
    /// Tells whether it chooses the images of the control plane's own workloads. `proxy.image.version` does not: it chooses
    /// proxies, and the controllers stay as the chart says.
    pub fn chooses_controllers(&self) -> bool {
        self.chart == CONTROL_PLANE && matches!(self.path, "linkerdVersion" | "controllerImageVersion")
    }
}

/// Returns what the value at that path of a chart holds, where it holds a version.
///
/// ```
/// use uplinker::linkerd::{ValueLine, value};
/// let line = value("linkerd-viz", "tap.image.tag").map(|v| v.line);
/// assert_eq!(line, Some(ValueLine::Edge));
/// assert_eq!(value("linkerd-viz", "tap.replicas"), None);
/// ```
pub fn value(chart: &str, path: &str) -> Option<Value> {
    values(chart).find(|v| v.path == path).copied()
}

/// Returns the values of a chart that hold a version. The enterprise charts have the keys of those that they are made
/// from.
pub fn values(chart: &str) -> impl Iterator<Item = &'static Value> {
    let open = chart.strip_prefix("linkerd-enterprise-").map(|name| format!("linkerd-{name}"));
    let chart = open.unwrap_or_else(|| chart.to_owned());
    VALUES.iter().filter(move |v| v.chart == chart)
}

const fn edge(chart: &'static str, path: &'static str) -> Value {
    Value { chart, path, line: ValueLine::Edge, dead_since: None, on_demand: false }
}

const fn own(chart: &'static str, path: &'static str, part: &'static str) -> Value {
    Value { chart, path, line: ValueLine::Own(part), dead_since: None, on_demand: false }
}

const fn dead(chart: &'static str, path: &'static str, line: ValueLine, since: &'static str) -> Value {
    Value { chart, path, line, dead_since: Some(since), on_demand: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linkerd::{EdgeVersion, is_chart};

    #[test]
    fn every_row_names_a_chart_once_and_a_real_release() {
        for (at, row) in VALUES.iter().enumerate() {
            assert!(is_chart(row.chart), "{}", row.chart);
            assert!(row.dead_since.is_none_or(|since| since.parse::<EdgeVersion>().is_ok()));
            let again = VALUES.iter().skip(at + 1).any(|v| v.chart == row.chart && v.path == row.path);
            assert!(!again, "{} {} twice", row.chart, row.path);
        }
    }

    #[test]
    fn the_cni_image_has_a_line_of_its_own() {
        assert_eq!(
            value("linkerd2-cni", "image.version").map(|v| v.line),
            Some(ValueLine::Own("cni-plugin"))
        );
    }
}

//! Linkerd's charts: their names, the order in which they are installed, and what became of those that are no more.
//!
//! Constants and look-ups only.

/// The definitions.
pub const CRDS: &str = "linkerd-crds";
/// The control plane.
pub const CONTROL_PLANE: &str = "linkerd-control-plane";
/// The chart that was the control plane and its CRDs before 2.12.
pub const OLD_CONTROL_PLANE: &str = "linkerd2";
/// The viz extension.
pub const VIZ: &str = "linkerd-viz";
/// The multicluster extension.
pub const MULTICLUSTER: &str = "linkerd-multicluster";
/// The CNI plugin.
pub const CNI: &str = "linkerd2-cni";

/// The charts that are published with each edge release today (L2 bin/helm-build).
pub const CHARTS: [&str; 5] = [CRDS, CONTROL_PLANE, VIZ, MULTICLUSTER, CNI];

/// Charts that the edge repository has without `-edge` in their versions from before these were those of the releases, as that of
/// the stable channel has them (L2 `Chart.yaml` at edge-22.8.3 to 23.1.1, 23.9.1 to 23.10.3, and 23.4.2).
const UNMARKED: [(&str, &str); 3] = [(CRDS, "1.4.0"), (CRDS, "1.8.0"), (CNI, "30.8.1")];

/// The charts that the edge repository once had and that no release since `last` has.
pub const RETIRED_CHARTS: [RetiredChart; 4] = [
    RetiredChart {
        name: "linkerd-jaeger",
        last: Some("edge-25.9.4"),
        // L2 #14558; WEB tasks/jaeger-extension-migration.
        instead: "tracing is a part of the control plane since edge-25.10.1",
    },
    RetiredChart {
        name: OLD_CONTROL_PLANE,
        last: None,
        instead: "split into linkerd-crds and linkerd-control-plane in 2.12",
    },
    RetiredChart { name: "linkerd2-multicluster", last: None, instead: "now linkerd-multicluster" },
    RetiredChart { name: "jaeger", last: None, instead: "became linkerd-jaeger, which is retired too" },
];

/// A chart that the channel no longer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetiredChart {
    /// Its name in the index.
    pub name: &'static str,
    /// The last release that has it, where it ended within the `YYYY.M.N` scheme.
    pub last: Option<&'static str>,
    /// What became of it.
    pub instead: &'static str,
}

/// When a chart is installed (WEB tasks/install-helm, features/cni).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// Before everything.
    Crds,
    /// Before pods that need it.
    Cni,
    /// A control plane, of whatever channel.
    ControlPlane,
    /// What needs a control plane.
    Extensions,
}

/// Tells whether a chart of the edge repository has a version there that does not say so.
pub fn is_unmarked(chart: &str, version: &str) -> bool {
    UNMARKED.contains(&(chart, version))
}

/// Says whether the edge channel has, or once had, a chart of that name.
pub fn is_chart(name: &str) -> bool {
    CHARTS.contains(&name) || retired_chart(name).is_some()
}

/// Says whether a chart installs a control plane, of whatever channel.
pub fn is_control_plane(chart: &str) -> bool {
    chart == OLD_CONTROL_PLANE || chart.starts_with("linkerd") && chart.ends_with("-control-plane")
}

/// Says when a chart is installed.
pub fn turn(chart: &str) -> Turn {
    match chart {
        CRDS => Turn::Crds,
        CNI => Turn::Cni,
        chart if is_control_plane(chart) => Turn::ControlPlane,
        _ => Turn::Extensions,
    }
}

/// Returns the namespace that Linkerd's own instructions name for a chart.
pub fn default_namespace(chart: &str) -> &str {
    match chart {
        CRDS | CONTROL_PLANE => "linkerd",
        CNI => "linkerd-cni",
        extension => extension,
    }
}

/// Returns what became of a chart that the channel no longer has.
pub fn retired_chart(name: &str) -> Option<RetiredChart> {
    RETIRED_CHARTS.into_iter().find(|chart| chart.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linkerd::EdgeVersion;

    #[test]
    fn the_last_release_of_a_retired_chart_is_an_edge() {
        for last in RETIRED_CHARTS.iter().filter_map(|c| c.last) {
            assert!(last.parse::<EdgeVersion>().is_ok(), "{last}");
        }
        assert!(CHARTS.iter().all(|c| retired_chart(c).is_none()));
    }
}

//! Names of charts, images and registries, and which of them carry the edge version.
//!
//! Constants and look-ups only.

/// The chart repository of the edge channel (WEB tasks/install-helm).
pub const EDGE_CHARTS: &str = "https://helm.linkerd.io/edge";

/// The registry and organisation of Linkerd's images (L2 charts, `cr.l5d.io/linkerd/...`).
pub const IMAGES: &str = "cr.l5d.io/linkerd/";

/// Every prefix under which Linkerd publishes, or has published, its images: today's, what it redirects to, and
/// the one before 2.10.
pub const REGISTRIES: [&str; 3] = [IMAGES, "ghcr.io/linkerd/", "gcr.io/linkerd-io/"];

/// The charts that are published with each edge release today (L2 bin/helm-build).
pub const CHARTS: [&str; 5] =
    ["linkerd-crds", "linkerd-control-plane", "linkerd-viz", "linkerd-multicluster", "linkerd2-cni"];

/// The charts that the edge repository once had and that no release since `last` has.
pub const RETIRED_CHARTS: [RetiredChart; 4] = [
    RetiredChart {
        name: "linkerd-jaeger",
        last: Some("edge-25.9.4"),
        // L2 #14558; WEB tasks/jaeger-extension-migration.
        instead: "tracing is a part of the control plane since edge-25.10.1",
    },
    RetiredChart {
        name: "linkerd2",
        last: None,
        instead: "split into linkerd-crds and linkerd-control-plane in 2.12",
    },
    RetiredChart { name: "linkerd2-multicluster", last: None, instead: "now linkerd-multicluster" },
    RetiredChart { name: "jaeger", last: None, instead: "became linkerd-jaeger, which is retired too" },
];

/// Linkerd's images by their last path segment.
const IMAGE_LINES: [Image; 13] = [
    Image { name: "proxy", line: VersionLine::Edge },
    Image { name: "controller", line: VersionLine::Edge },
    // Merged into the controller image in edge-25.8.3 (L2 #14348).
    Image { name: "policy-controller", line: VersionLine::Edge },
    Image { name: "metrics-api", line: VersionLine::Edge },
    Image { name: "tap", line: VersionLine::Edge },
    Image { name: "web", line: VersionLine::Edge },
    Image { name: "jaeger-webhook", line: VersionLine::Edge },
    Image { name: "debug", line: VersionLine::Edge },
    Image { name: "cli-bin", line: VersionLine::Edge },
    Image { name: "grafana", line: VersionLine::Edge },
    Image { name: "cni-plugin", line: VersionLine::Own },
    Image { name: "proxy-init", line: VersionLine::Own },
    Image { name: "extension-init", line: VersionLine::Own },
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

/// One of Linkerd's images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// The last segment of its name.
    pub name: &'static str,
    /// Which version line its tags follow.
    pub line: VersionLine,
}

/// What a version of a Linkerd part counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionLine {
    /// The edge release.
    Edge,
    /// The part's own releases, such as `v2.4.3`.
    Own,
}

/// Returns the image that a name without tag and digest stands for, where it is one of Linkerd's own.
///
/// ```
/// use uplinker::linkerd::{VersionLine, image};
/// assert_eq!(image("cr.l5d.io/linkerd/proxy").map(|i| i.line), Some(VersionLine::Edge));
/// assert_eq!(image("ghcr.io/linkerd/cni-plugin").map(|i| i.line), Some(VersionLine::Own));
/// assert_eq!(image("registry.example.com/linkerd/proxy"), None);
/// ```
pub fn image(name: &str) -> Option<Image> {
    let last = REGISTRIES.iter().find_map(|registry| name.strip_prefix(registry))?;
    IMAGE_LINES.into_iter().find(|image| image.name == last)
}

/// Says whether the edge channel has, or once had, a chart of that name.
pub fn is_chart(name: &str) -> bool {
    CHARTS.contains(&name) || retired_chart(name).is_some()
}

/// Says whether a chart installs a control plane, of whatever channel.
pub fn is_control_plane(chart: &str) -> bool {
    chart == "linkerd2" || chart.starts_with("linkerd") && chart.ends_with("-control-plane")
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
    fn only_linkerds_own_registries_count() {
        assert!(image("cr.l5d.io/linkerd/controller").is_some());
        assert!(image("gcr.io/linkerd-io/proxy").is_some());
        assert_eq!(image("cr.l5d.io/linkerd/proxy-spark"), None);
        assert_eq!(image("docker.io/prom/prometheus"), None);
        assert_eq!(image("evil.example/cr.l5d.io/linkerd/proxy"), None);
    }

    #[test]
    fn the_last_release_of_a_retired_chart_is_an_edge() {
        for last in RETIRED_CHARTS.iter().filter_map(|c| c.last) {
            assert!(last.parse::<EdgeVersion>().is_ok(), "{last}");
        }
        assert!(CHARTS.iter().all(|c| retired_chart(c).is_none()));
    }
}

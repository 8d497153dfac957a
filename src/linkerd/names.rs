//! Names of images and registries, and which of them carry the edge version.
//!
//! Constants and look-ups only.

use super::{CHARTS, CNI, CONTROL_PLANE, MULTICLUSTER, VIZ};

/// The chart repository of the edge channel (WEB tasks/install-helm).
pub const EDGE_CHARTS: &str = "https://helm.linkerd.io/edge";

/// The registry and organisation of Linkerd's images (L2 charts, `cr.l5d.io/linkerd/...`).
pub const IMAGES: &str = "cr.l5d.io/linkerd/";

/// Every prefix under which Linkerd publishes, or has published, its images: today's, what it redirects to, and
/// the one before 2.10.
pub const REGISTRIES: [&str; 3] = [IMAGES, "ghcr.io/linkerd/", "gcr.io/linkerd-io/"];

/// The image that became a part of the controller's, and the first release without it (L2 #14348).
pub const MERGED_IMAGE: (&str, &str) = ("policy-controller", "edge-25.8.3");

/// Linkerd's images by their last path segment, with the charts that give them (L2 charts).
const IMAGE_LINES: [Image; 13] = [
    Image { name: "proxy", line: VersionLine::Edge, charts: &[CONTROL_PLANE] },
    Image { name: "controller", line: VersionLine::Edge, charts: &[CONTROL_PLANE, MULTICLUSTER] },
    Image { name: MERGED_IMAGE.0, line: VersionLine::Edge, charts: &[CONTROL_PLANE] },
    Image { name: "metrics-api", line: VersionLine::Edge, charts: &[VIZ] },
    Image { name: "tap", line: VersionLine::Edge, charts: &[VIZ] },
    Image { name: "web", line: VersionLine::Edge, charts: &[VIZ] },
    Image { name: "jaeger-webhook", line: VersionLine::Edge, charts: &[] },
    Image { name: "debug", line: VersionLine::Edge, charts: &[CONTROL_PLANE] },
    Image { name: "cli-bin", line: VersionLine::Edge, charts: &[] },
    Image { name: "grafana", line: VersionLine::Edge, charts: &[VIZ] },
    Image { name: "cni-plugin", line: VersionLine::Own, charts: &[CNI] },
    Image { name: "proxy-init", line: VersionLine::Own, charts: &[CONTROL_PLANE] },
    Image { name: "extension-init", line: VersionLine::Own, charts: &[VIZ, MULTICLUSTER] },
];

/// One of Linkerd's images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// The last segment of its name.
    pub name: &'static str,
    /// Which version line its tags follow.
    pub line: VersionLine,
    /// The charts of today that give it; none where that is not known.
    pub charts: &'static [&'static str],
}

/// What a version of a Linkerd part counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionLine {
    /// The edge release.
    Edge,
    /// The part's own releases, such as `v2.4.3`.
    Own,
}

// === impl Image ===

impl Image {
    /// Tells whether a chart may give it. Those that are no longer published had other images.
    pub fn may_be_of(self, chart: &str) -> bool {
        self.charts.is_empty() || self.charts.contains(&chart) || !CHARTS.contains(&chart)
    }
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

/// Lists the names of the images of Linkerd, without their registry.
pub fn image_names() -> impl Iterator<Item = &'static str> {
    IMAGE_LINES.into_iter().map(|image| image.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_of_the_charts_that_give_it() {
        let of = |name: &str| {
            let image = image(&format!("{IMAGES}{name}")).unwrap();
            CHARTS.into_iter().filter(|chart| image.may_be_of(chart)).collect::<Vec<_>>()
        };
        assert_eq!((of("controller"), of("web")), (vec![CONTROL_PLANE, MULTICLUSTER], vec![VIZ]));
        assert_eq!(of("cli-bin"), CHARTS);
        assert!(image("cr.l5d.io/linkerd/web").unwrap().may_be_of("linkerd2"));
    }

    #[test]
    fn only_linkerds_own_registries_count() {
        assert!(image("cr.l5d.io/linkerd/controller").is_some());
        assert!(image("gcr.io/linkerd-io/proxy").is_some());
        assert_eq!(image("cr.l5d.io/linkerd/proxy-spark"), None);
        assert_eq!(image("docker.io/prom/prometheus"), None);
        assert_eq!(image("evil.example/cr.l5d.io/linkerd/proxy"), None);
    }
}

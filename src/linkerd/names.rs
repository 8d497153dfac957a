//! Names of images and registries, and which of them carry the edge version.
//!
//! Constants and look-ups only.

/// The chart repository of the edge channel (WEB tasks/install-helm).
pub const EDGE_CHARTS: &str = "https://helm.linkerd.io/edge";

/// The registry and organisation of Linkerd's images (L2 charts, `cr.l5d.io/linkerd/...`).
pub const IMAGES: &str = "cr.l5d.io/linkerd/";

/// Every prefix under which Linkerd publishes, or has published, its images: today's, what it redirects to, and
/// the one before 2.10.
pub const REGISTRIES: [&str; 3] = [IMAGES, "ghcr.io/linkerd/", "gcr.io/linkerd-io/"];

/// The image that became a part of the controller's, and the first release without it (L2 #14348).
pub const MERGED_IMAGE: (&str, &str) = ("policy-controller", "edge-25.8.3");

/// Linkerd's images by their last path segment.
const IMAGE_LINES: [Image; 13] = [
    Image { name: "proxy", line: VersionLine::Edge },
    Image { name: "controller", line: VersionLine::Edge },
    Image { name: MERGED_IMAGE.0, line: VersionLine::Edge },
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

/// Lists the names of the images of Linkerd, without their registry.
pub fn image_names() -> impl Iterator<Item = &'static str> {
    IMAGE_LINES.into_iter().map(|image| image.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_linkerds_own_registries_count() {
        assert!(image("cr.l5d.io/linkerd/controller").is_some());
        assert!(image("gcr.io/linkerd-io/proxy").is_some());
        assert_eq!(image("cr.l5d.io/linkerd/proxy-spark"), None);
        assert_eq!(image("docker.io/prom/prometheus"), None);
        assert_eq!(image("evil.example/cr.l5d.io/linkerd/proxy"), None);
    }
}

//! Step 5, pins: shape `image`, and what other shapes ask of an image's name.
//!
//! In: image references. Out: pins that are reported and stay: what `linkerd inject --manual` wrote is made again
//! with the CLI, not edited; so is what `linkerd multicluster link` printed. Registries are compared, never contacted.

use std::ops::Range;

use super::{
    Form, PinKind, Reason, Stage,
    found::{Found, RunBy, Spec, opaque},
    object::Object,
    place::Place,
    version_text::{Expects, VersionText},
};
use crate::{
    deploy::kustomize::image_pattern,
    linkerd::{self, EdgeVersion, VersionLine},
    yaml::Node,
};

/// An image reference in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference<'a> {
    /// The name, registry included.
    pub name: &'a str,
    /// The bytes of the tag.
    pub tag: Option<Range<usize>>,
    /// Whether a digest follows.
    pub digest: bool,
}

/// One of Linkerd's images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinkerdImage {
    /// Why its tag stays.
    pub stays: Option<Reason>,
    /// The first release that no longer has it.
    pub ended: Option<EdgeVersion>,
    /// Whether it is the one of proxies, which wait for the control plane.
    pub is_proxy: bool,
    /// Whether it is the one of the control plane's own workloads, or may be.
    pub is_controller: bool,
    /// Which image it is; of several that it may be, one that all the charts give which give any, where there is one.
    known: Option<linkerd::Image>,
}

/// The image of proxies.
const PROXY: &str = "proxy";
/// The image of the control plane's own workloads.
const CONTROLLER: &str = "controller";
/// The images of extensions that ended: no release has them any more.
const ENDED: [&str; 2] = ["grafana", "jaeger-webhook"];

// === impl LinkerdImage ===

impl LinkerdImage {
    /// Tells whether a chart may give it.
    pub fn may_be_of(self, chart: &str) -> bool {
        self.known.is_none_or(|image| image.may_be_of(chart))
    }

    /// Returns why its tag stays with releases of today.
    pub fn stays_today(self) -> Option<Reason> {
        self.ended.map(|_| Reason::NoEffect).or(self.stays)
    }
}

// === impl Reference ===

impl<'a> Reference<'a> {
    /// Splits `registry:port/name:tag@sha256:digest`.
    pub fn parse(text: &'a str) -> Option<Self> {
        if text.is_empty() || text.contains(char::is_whitespace) {
            return None;
        }
        let (named, digest) = text.split_once('@').map_or((text, false), |(n, _)| (n, true));
        let after_slash = named.rfind('/').map_or(0, |n| n + 1);
        let colon = named.get(after_slash..)?.find(':').map(|n| after_slash + n);
        let name = named.get(..colon.unwrap_or(named.len()))?;
        Some(Self { name, tag: colon.map(|c| c + 1..named.len()), digest })
    }

    /// Returns what fixes an image in a text of some length.
    fn pinned(self, image: LinkerdImage, length: usize) -> Option<(Range<usize>, LinkerdImage)> {
        let stays = image.stays.or(self.digest.then_some(Reason::Digest));
        let whole = self.digest.then_some(0..length);
        Some((self.tag.or(whole)?, LinkerdImage { stays, ..image }))
    }
}

/// Recognises an image by its name: Linkerd's own registries, or a mirror that keeps `linkerd/<image>`.
pub(super) fn linkerd_image(name: &str) -> Option<LinkerdImage> {
    let image = linkerd::image(name).or_else(|| {
        let (rest, last) = name.rsplit_once('/')?;
        let organised = rest.rsplit('/').next() == Some("linkerd") && rest.contains('/');
        let sound = !name.contains('@') && !name.starts_with("169.254.") && !name.starts_with("[fe80:");
        let sound = sound && !poses_as_official(name);
        (organised && sound).then(|| linkerd::image(&format!("{}{last}", linkerd::IMAGES)))?
    })?;
    let stays = match image.line {
        VersionLine::Own => Some(Reason::OwnVersion),
        VersionLine::Edge if ENDED.contains(&image.name) => Some(Reason::RetiredChart),
        VersionLine::Edge => None,
    };
    let (merged, since) = linkerd::MERGED_IMAGE;
    let ended = since.parse().ok().filter(|_| image.name == merged);
    let [is_proxy, is_controller] = [PROXY, CONTROLLER].map(|name| image.name == name);
    Some(LinkerdImage { stays, ended, is_proxy, is_controller, known: Some(image) })
}

/// Recognises the images that kustomize matches by a name, which is a regular expression to it: of several those whose tags
/// move count first.
pub(super) fn matched_image(name: &str) -> Option<LinkerdImage> {
    if let found @ Some(_) = linkerd_image(name) {
        return found;
    }
    // Nearly all are plain, and need no expression.
    if !name.contains(['(', '[', '*', '+', '?', '|', '{', '\\', '^', '$']) {
        return None;
    }
    let pattern = image_pattern(name)?;
    let mirror = name.rsplit_once('/').map(|(rest, _)| format!("{rest}/"));
    let folders = linkerd::REGISTRIES.into_iter().chain(mirror.as_deref());
    let all = folders.flat_map(|folder| linkerd::image_names().map(move |image| format!("{folder}{image}")));
    let found = all.filter(|image| pattern.is_match(image)).filter_map(|image| linkerd_image(&image));
    let found: Vec<LinkerdImage> = found.collect();
    let is_controller = found.iter().any(|image| image.is_controller);
    let first = found.iter().copied().min_by_key(|image| image.stays_today().is_some())?;
    let known = || found.iter().filter_map(|image| image.known);
    let is_within = |one: linkerd::Image, all: &linkerd::Image| {
        !one.charts.is_empty() && one.charts.iter().all(|chart| all.charts.contains(chart))
    };
    let widest = known().max_by_key(|image| image.charts.len());
    let widest = widest.filter(|widest| known().all(|image| is_within(image, widest)));
    Some(LinkerdImage { is_controller, known: widest, ..first })
}

/// Tells whether a host only begins as the official registry does: `cr.l5d.io.example.com`.
fn poses_as_official(name: &str) -> bool {
    let host = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
    host(name).strip_prefix(&host(linkerd::IMAGES)).is_some_and(|rest| rest.starts_with('.'))
}

/// Tells whether a new name for a Linkerd image is a mirror of it rather than somebody's own build: it ends in the
/// image's name, alone or behind a dash (`registry.example.com/linkerd-proxy`).
pub(super) fn is_mirror_name(official: &str, new: &str) -> bool {
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let (official, new) = (last(official), last(new));
    let fork = new.to_ascii_lowercase().contains("fork");
    !fork && (new == official || new.ends_with(&format!("-{official}")))
}

/// The containers that injection adds (linkerd2 `pkg/k8s/labels.go`), and the images that they run.
const INJECTED: [&str; 4] = ["linkerd-proxy", "linkerd-init", "linkerd-network-validator", "linkerd-debug"];
const INJECTED_IMAGES: [&str; 3] = [PROXY, "proxy-init", "debug"];

/// What is asked of the object around an image.
pub(super) struct Around<'a> {
    /// What its container is called.
    pub container: Option<&'a str>,
    /// An annotation of the object.
    pub annotation: &'a dyn Fn(&str) -> Option<String>,
    /// A label of the object.
    pub label: &'a dyn Fn(&str) -> Option<String>,
}

/// Says why an image of Linkerd in an object stays that no chart made.
fn origin(around: &Around<'_>, image: &str) -> Reason {
    let Around { container, annotation, label } = around;
    let last = image.rsplit('/').next().unwrap_or(image);
    if container.is_some_and(|name| INJECTED.contains(&name)) || INJECTED_IMAGES.contains(&last) {
        return Reason::ManualInjection;
    }
    let made = annotation("linkerd.io/created-by").is_some_and(|by| by.starts_with("linkerd/cli "));
    if made || label("mirror.linkerd.io/cluster-name").is_some() {
        return Reason::MadeByCli;
    }
    match label("linkerd.io/extension").as_deref() {
        Some("jaeger") => Reason::RetiredChart,
        _ if ENDED.contains(&last) => Reason::RetiredChart,
        _ => Reason::NotFollowed,
    }
}

/// Says what runs an image in an object of some name.
pub(super) fn run_by(around: &Around<'_>, image: &str, object: &str) -> RunBy {
    let last = image.rsplit('/').next().unwrap_or(image);
    let label = |key: &&str| (around.label)(key).is_some();
    let is_own = object.starts_with("linkerd")
        || ["linkerd.io/control-plane-component", "linkerd.io/extension"].iter().any(label);
    let runs_injected = INJECTED_IMAGES.contains(&last);
    // Without a name nothing is known of the container.
    let is_injected = around.container.is_some_and(|name| INJECTED.contains(&name) || runs_injected);
    if is_injected && !is_own { RunBy::Injected } else { RunBy::Other }
}

/// Takes the Linkerd images in the containers of an object.
pub(super) fn object(place: Place<'_>, object: &Object<'_>, found: &mut Found) {
    let mut images = Vec::new();
    container_images(object.node, &mut images);
    let of = |part: &str, key: &str| object.node.text(&["metadata", part, key]).map(str::to_owned);
    for node in images {
        let Some(reference) = node.as_str().and_then(Reference::parse) else { continue };
        let Some(image) = linkerd_image(reference.name) else { continue };
        let digest = reference.digest.then_some(Reason::Digest);
        let around = Around {
            container: node.parent().and_then(|container| container.text(&["name"])),
            annotation: &|key| of("annotations", key),
            label: &|key| of("labels", key),
        };
        let stays = standing(image.stays_today().or(digest), &around, reference.name);
        let spec = spec(stays);
        let text = node.as_str().unwrap_or_default();
        let tag = reference.tag.clone().and_then(|t| text.get(t));
        let version = tag.and_then(|t| t.parse::<EdgeVersion>().ok());
        let read = match (reference.tag, version) {
            (Some(span), Some(version)) => {
                VersionText { span, form: Form::Edge, version: Some(version), stays: None }
            }
            (Some(span), None) => VersionText { span, ..opaque(0, stays) },
            (None, _) => opaque(text.len(), stays),
        };
        found.version(place, node, &spec, read);
    }
}

/// Says why an image stays that a container runs as it stands there, whether releases still have it or not.
pub(super) fn standing(stays: Option<Reason>, around: &Around<'_>, image: &str) -> Reason {
    let runs = around.container.is_some();
    stays.filter(|reason| !runs || *reason != Reason::NoEffect).unwrap_or_else(|| origin(around, image))
}

/// What is said of an image in a container.
pub(super) fn spec(stays: Reason) -> Spec {
    let spec = Spec::platform(PinKind::Image, Expects::Edge).staying(Some(stays));
    Spec { stage: Stage::DataPlane, ..spec }
}

/// Tells whether a text is an image of Linkerd, with a tag or without.
pub fn is_named(text: &str) -> bool {
    Reference::parse(text).is_some_and(|image| linkerd_image(image.name).is_some())
}

/// Reads a whole image reference that a deployer reads: the bytes of its tag, or of all of it where a digest says what
/// runs, and which image it is.
pub(super) fn pinned(text: &str) -> Option<(Range<usize>, LinkerdImage)> {
    let parsed = Reference::parse(text)?;
    let image = linkerd_image(parsed.name)?;
    parsed.pinned(image, text.len())
}

/// Reads the same of a reference that may be a mirror of one of Linkerd's images by its last name.
pub(super) fn mirrored(text: &str) -> Option<(Range<usize>, LinkerdImage)> {
    let parsed = Reference::parse(text)?;
    let official = linkerd::image_names().find(|name| is_mirror_name(name, parsed.name))?;
    parsed.pinned(linkerd_image(&format!("{}{official}", linkerd::IMAGES))?, text.len())
}

/// Where the containers of a pod stand in it.
pub(super) const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];
/// An application's values have rules of their own.
pub(super) const VALUES: [&str; 2] = ["values", "valuesObject"];

fn container_images<'a>(node: Node<'a>, found: &mut Vec<Node<'a>>) {
    if node.is_alias() {
        return;
    }
    for (key, value) in node.entries() {
        match key.as_str() {
            Some(key) if CONTAINERS.contains(&key) => {
                found.extend(value.items().filter_map(|c| c.get("image")));
            }
            Some(key) if VALUES.contains(&key) => {}
            _ => container_images(value, found),
        }
    }
    node.items().for_each(|item| container_images(item, found));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_split() {
        let text = "registry.example.com:5000/linkerd/proxy:edge-26.8.2@sha256:ab";
        let parsed = Reference::parse(text).unwrap();
        assert_eq!(parsed.name, "registry.example.com:5000/linkerd/proxy");
        assert_eq!((&text[parsed.tag.unwrap()], parsed.digest), ("edge-26.8.2", true));
        assert_eq!(Reference::parse("localhost:5000/a").unwrap().tag, None);
    }

    #[test]
    fn mirrors_are_linkerd_s_and_forks_are_not() {
        assert_eq!(linkerd_image("cr.l5d.io/linkerd/proxy").unwrap().stays, None);
        assert_eq!(linkerd_image("registry.example.com/mirror/linkerd/controller").unwrap().stays, None);
        assert_eq!(linkerd_image("cr.l5d.io/linkerd/proxy-init").unwrap().stays, Some(Reason::OwnVersion));
        let merged = linkerd_image("cr.l5d.io/linkerd/policy-controller").unwrap();
        assert_eq!((merged.stays, merged.stays_today()), (None, Some(Reason::NoEffect)));
        let ended = linkerd_image("cr.l5d.io/linkerd/jaeger-webhook").unwrap();
        assert_eq!(ended.stays, Some(Reason::RetiredChart));
        for other in ["ghcr.io/acme/linkerd-proxy", "ghcr.io/acme-linkerd/proxy", "linkerd/proxy", "proxy"] {
            assert_eq!(linkerd_image(other), None, "{other}");
        }
        assert!(is_mirror_name("cr.l5d.io/linkerd/proxy", "harbor.example.com/l5d/linkerd-proxy"));
        assert!(!is_mirror_name("cr.l5d.io/linkerd/proxy", "ghcr.io/acme/linkerd-proxy-fork"));
        assert!(!is_mirror_name("cr.l5d.io/linkerd/proxy", "ghcr.io/acme/envoy"));
    }
}

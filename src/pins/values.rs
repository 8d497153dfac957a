//! Step 5, pins: shape `helm-values`, versions in the values of Linkerd's charts, and in values of other charts that
//! reach Linkerd.
//!
//! In: a mapping of values and the chart that reads it. Out: pins. Which keys hold a version is `linkerd`'s to say.

use std::collections::{BTreeSet, HashSet};

use super::{
    PinKind, Reason, Stage, annotation,
    context::{Context, NamedChart},
    found::{Found, Spec},
    image,
    index::{Dependency, LocalChart},
    origin::Ours,
    place::Place,
    version_text::Expects,
};
use crate::{
    linkerd::{self, CHARTS, PROXY_VERSION, Value, ValueLine},
    yaml::Node,
};

/// The chart that reads values.
#[derive(Clone, Debug)]
pub(super) enum ReadBy<'a> {
    /// One of Linkerd's.
    Ours(Ours),
    /// A chart in the tree; each dependency has a subtree.
    Umbrella(&'a LocalChart),
    /// Any other.
    Other,
}

// === impl ReadBy ===

impl<'a> ReadBy<'a> {
    /// Judges the chart that an object names; `version` is what fixes it there.
    pub fn judge(context: &Context<'a>, named: &NamedChart, version: &str) -> Self {
        match Ours::judge(&named.chart, &named.origin, version, &context.options.mirrors) {
            Some(ours) => Self::Ours(ours),
            None => Self::local(context, &named.chart),
        }
    }

    /// Looks for a chart in a folder of the tree.
    pub fn local(context: &Context<'a>, folder: &str) -> Self {
        let folder = super::index::clean_folder(folder);
        context.local_chart(&folder).map_or(Self::Other, Self::Umbrella)
    }

    /// Says what a value at a path of keys, joined by dots, holds; `None` where it holds no version.
    pub fn spec(&self, context: &Context<'_>, path: &str) -> Option<Spec> {
        match self {
            Self::Ours(ours) => linkerd::value(&ours.chart, path).map(|value| value_spec(ours, &value)),
            Self::Umbrella(chart) => chart.dependencies.iter().find_map(|dependency| {
                let rest = path.strip_prefix(&dependency.key)?.strip_prefix('.')?;
                let ours = dependency_ours(context, dependency)?;
                linkerd::value(&ours.chart, rest).map(|value| value_spec(&ours, &value))
            }),
            Self::Other => None,
        }
    }
}

/// Takes the pins of a mapping of values.
pub(super) fn walk(
    context: &Context<'_>,
    place: Place<'_>,
    root: Node<'_>,
    read_by: &ReadBy<'_>,
    namespaces: &BTreeSet<String>,
    found: &mut Found,
) {
    let mut known = HashSet::new();
    match read_by {
        ReadBy::Ours(ours) => table(place, root, ours, &mut known, found),
        ReadBy::Umbrella(chart) => {
            for dependency in &chart.dependencies {
                let subtree = root.get(&dependency.key).zip(dependency_ours(context, dependency));
                if let Some((subtree, ours)) = subtree {
                    table(place, subtree, &ours, &mut known, found);
                }
            }
        }
        ReadBy::Other => {}
    }
    anywhere(context, place, root, namespaces, &known, found);
}

/// Takes the pins of a file of values.
pub(super) fn file(
    context: &Context<'_>,
    path: &str,
    read_by: &ReadBy<'_>,
    namespaces: &BTreeSet<String>,
    found: &mut Found,
) {
    let Some(file) = context.corpus.file(path) else { return };
    let place = Place::of(&file);
    for root in file.stream.roots() {
        walk(context, place, root, read_by, namespaces, found);
    }
}

/// Takes the pins of a values file that nothing in the tree refers to: CI gives it to Helm. Only keys that no other
/// chart has, and only releases of Linkerd, are taken.
pub(super) fn unclaimed(context: &Context<'_>, place: Place<'_>, root: Node<'_>, found: &mut Found) {
    let nowhere = BTreeSet::new();
    let ours = |chart: &str| Ours { chart: chart.to_owned(), mirror: None, stays: None };
    let is_release = |text: &str| ["edge-", "stable-", "enterprise-"].iter().any(|c| text.starts_with(c));
    let names_a_release = |value: &Value| {
        let keys: Vec<&str> = value.path.split('.').collect();
        value.line == ValueLine::Edge && root.text(&keys).is_some_and(is_release)
    };
    let chart = ["linkerd-control-plane", "linkerd-viz", "linkerd-multicluster"].into_iter().find(|chart| {
        let own = |v: &&Value| v.chart == *chart && v.path != "linkerdVersion";
        linkerd::VALUES.iter().filter(own).any(names_a_release)
    });
    let version = root.text(&["linkerdVersion"]).filter(|t| is_release(t));
    if let Some(chart) = chart.or_else(|| version.map(|_| chart_with_version(root))) {
        walk(context, place, root, &ReadBy::Ours(ours(chart)), &nowhere, found);
    }
    for (key, subtree) in root.entries() {
        if let Some(chart) = key.as_str().filter(|k| CHARTS.contains(k)) {
            walk(context, place, subtree, &ReadBy::Ours(ours(chart)), &nowhere, found);
        }
    }
    anywhere(context, place, root, &nowhere, &HashSet::new(), found);
}

/// Says whose values a `linkerdVersion` alone stands in: those of the chart that has the keys beside it.
fn chart_with_version(root: Node<'_>) -> &'static str {
    let has = |keys: &[&str]| keys.iter().any(|key| root.get(key).is_some());
    match () {
        () if has(&["metricsAPI", "tap", "tapInjector", "dashboard"]) => "linkerd-viz",
        () if has(&["localServiceMirror", "controllerDefaults", "gateway"]) => "linkerd-multicluster",
        () => "linkerd-control-plane",
    }
}

fn dependency_ours(context: &Context<'_>, dependency: &Dependency) -> Option<Ours> {
    // Values reach a vendored chart too, so the origin of a `file://` dependency does not matter here.
    dependency.ours(&context.options.mirrors).or_else(|| {
        let chart = CHARTS.contains(&dependency.chart.as_str()).then(|| dependency.chart.clone())?;
        let local = dependency.repository.as_deref().is_none_or(|r| r.is_empty() || r.starts_with("file:"));
        local.then_some(Ours { chart, mirror: None, stays: Some(Reason::Uneditable) })
    })
}

fn value_spec(ours: &Ours, value: &Value) -> Spec {
    let own = matches!(value.line, ValueLine::Own(_)).then_some(Reason::OwnVersion);
    let dead = value.dead_since.map(|_| Reason::NoEffect);
    Spec::platform(PinKind::HelmValues, Expects::Edge)
        .of_chart(&ours.chart)
        .staying(own.or(dead))
        .staying(ours.stays)
}

fn table(place: Place<'_>, root: Node<'_>, ours: &Ours, known: &mut HashSet<usize>, found: &mut Found) {
    for value in linkerd::values(&ours.chart) {
        let keys: Vec<&str> = value.path.split('.').collect();
        let Some(node) = root.path(&keys).filter(|n| n.as_str().is_some()) else { continue };
        known.insert(node.resolved().span().start);
        // A tag beside a digest is not what runs.
        let digest = keys.split_last().and_then(|(_, image)| root.path(image)).is_some_and(has_digest);
        let spec = value_spec(ours, value).staying(digest.then_some(Reason::Digest));
        found.scalar(place, node, &spec);
    }
}

fn has_digest(image: Node<'_>) -> bool {
    image.text(&["digest"]).is_some_and(|d| !d.is_empty())
}

/// Takes what reaches Linkerd from the values of any chart: annotations of pods, and Linkerd's images.
fn anywhere(
    context: &Context<'_>,
    place: Place<'_>,
    node: Node<'_>,
    namespaces: &BTreeSet<String>,
    known: &HashSet<usize>,
    found: &mut Found,
) {
    if node.is_alias() {
        return;
    }
    if let Some(version) = node.get(PROXY_VERSION).filter(|v| v.as_str().is_some()) {
        let stays = annotation::opted_out(context, &place.file.path, node, namespaces);
        found.scalar(place, version, &annotation::spec().staying(stays));
    }
    split_image(place, node, known, found);
    for (key, value) in node.entries() {
        let spec = || Spec { stage: Stage::Platform, ..Spec::platform(PinKind::HelmValues, Expects::Edge) };
        match value.as_str() {
            Some(text)
                if text.contains("inkerd/")
                    && key.as_str().is_some_and(|k| k.to_ascii_lowercase().ends_with("image")) =>
            {
                image::reference(place, value, &spec(), found);
            }
            Some(_) => {}
            None => anywhere(context, place, value, namespaces, known, found),
        }
    }
    for item in node.items() {
        anywhere(context, place, item, namespaces, known, found);
    }
}

/// Takes `{repository: cr.l5d.io/linkerd/proxy, tag: ...}` and the forms that charts give to it.
fn split_image(place: Place<'_>, node: Node<'_>, known: &HashSet<usize>, found: &mut Found) {
    let Some(tag) = node.get("tag").or_else(|| node.get("version")).filter(|t| t.as_str().is_some()) else {
        return;
    };
    if known.contains(&tag.resolved().span().start) {
        return;
    }
    let registry = node.text(&["registry"]).map(|r| r.trim_end_matches('/'));
    let named = ["repository", "name", "image"].iter().find_map(|key| {
        let name = node.text(&[key]).filter(|n| !n.is_empty())?;
        let whole = registry.map(|r| format!("{r}/{name}"));
        whole.as_deref().and_then(image::linkerd_image).or_else(|| image::linkerd_image(name))
    });
    if let Some(image) = named {
        let digest = has_digest(node).then_some(Reason::Digest);
        let spec = Spec::platform(PinKind::HelmValues, Expects::Edge).staying(image.stays).staying(digest);
        found.scalar(place, tag, &spec);
    }
}

//! Step 5, pins: patches, as objects in part or as JSON operations (RFC 6902).
//!
//! In: a patch and its target. Out: the pins that the patched fields are. Nothing is applied.

use std::collections::BTreeSet;

use super::{
    PinKind,
    annotation::{self, Part},
    context::{Context, NamedChart, Reference},
    found::{Found, Spec},
    manifest,
    object::Object,
    origin::Ours,
    place::Place,
    values::{self, ReadBy},
    version_text::Expects,
};
use crate::yaml::Node;

/// What a patch is for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Target<'a> {
    /// Its kind, `""` where the target does not say.
    pub kind: &'a str,
    /// Its name.
    pub name: Option<&'a str>,
    /// Its namespace.
    pub namespace: Option<&'a str>,
}

// === impl Target ===

impl<'a> Target<'a> {
    /// Reads a `target`.
    pub fn of(node: Node<'a>) -> Self {
        Self {
            kind: node.text(&["kind"]).unwrap_or_default(),
            name: node.text(&["name"]),
            namespace: node.text(&["namespace"]),
        }
    }
}

/// Takes the pins of a patch's text.
pub(super) fn text(
    context: &Context<'_>,
    place: Place<'_>,
    target: &Target<'_>,
    namespaces: &BTreeSet<String>,
    found: &mut Found,
) {
    for root in place.stream.roots() {
        node(context, place, root, target, namespaces, found);
    }
}

/// Takes the pins of one patch.
pub(super) fn node(
    context: &Context<'_>,
    place: Place<'_>,
    root: Node<'_>,
    target: &Target<'_>,
    namespaces: &BTreeSet<String>,
    found: &mut Found,
) {
    if root.is_sequence() {
        let namespaces = target_namespaces(context, place, target, namespaces);
        root.items().for_each(|op| operation(context, place, op, target, &namespaces, found));
        return;
    }
    let named = Object::of(root);
    let bare = Object {
        node: root,
        group: "",
        kind: target.kind,
        name: root.text(&["metadata", "name"]).or(target.name),
        namespace: root.text(&["metadata", "namespace"]).or(target.namespace),
    };
    let object = named.unwrap_or(bare);
    let own = Target { kind: object.kind, name: object.name.or(target.name), namespace: object.namespace };
    let namespaces = target_namespaces(context, place, &own, namespaces);
    manifest::object(context, place, &object, &namespaces, found);
}

/// Returns where the target is: as it says, as the kustomization says, or where the object of that name is.
pub(super) fn target_namespaces(
    context: &Context<'_>,
    place: Place<'_>,
    target: &Target<'_>,
    namespaces: &BTreeSet<String>,
) -> BTreeSet<String> {
    let path = &place.file.path;
    let said = context.layout.namespaces(path, target.namespace);
    if !said.is_empty() {
        return said;
    }
    let wanted = (target.kind, target.name.unwrap_or_default());
    let within: BTreeSet<String> = context
        .layout
        .folders_above(path)
        .into_iter()
        .flat_map(|folder| context.layout.namespaces_within(context.corpus, folder, Some(wanted)))
        .collect();
    if within.is_empty() { namespaces.clone() } else { within }
}

fn operation(
    context: &Context<'_>,
    place: Place<'_>,
    op: Node<'_>,
    target: &Target<'_>,
    namespaces: &BTreeSet<String>,
    found: &mut Found,
) {
    let (Some(pointer), Some(value)) = (op.text(&["path"]), op.get("value")) else { return };
    if !matches!(op.text(&["op"]), Some("add" | "replace")) {
        return;
    }
    let segments: Vec<String> =
        pointer.split('/').skip(1).map(|s| s.replace("~1", "/").replace("~0", "~")).collect();
    let path: Vec<&str> = segments.iter().map(String::as_str).collect();
    let part = Part { kind: target.kind, path: &path, node: value };
    annotation::within(context, place, &part, namespaces, found);
    let Some(named) = target.name.and_then(|name| patched(context, place, target, name, namespaces)) else {
        return;
    };
    let text = value.as_str().unwrap_or_default();
    let mirrors = &context.options.mirrors;
    if let (Some(kind), Some(ours)) =
        (version_field(target.kind, &path), Ours::judge(&named.chart, &named.origin, text, mirrors))
    {
        found.scalar(place, value, &ours.fill(Spec::platform(kind, Expects::Chart)));
    }
    let read_by = ReadBy::judge(context, &named, "");
    if let ["spec", "values", rest @ ..] = path.as_slice() {
        match read_by.spec(context, &rest.join(".")) {
            Some(spec) if !text.is_empty() => found.scalar(place, value, &spec),
            _ if rest.is_empty() => values::walk(context, place, value, &read_by, namespaces, found),
            _ => part_of_values(context, place, value, &rest.join("."), &read_by, found),
        }
    }
}

/// Takes the pins of a mapping that becomes a part of the values, at a path of keys joined by dots.
fn part_of_values(
    context: &Context<'_>,
    place: Place<'_>,
    node: Node<'_>,
    path: &str,
    read_by: &ReadBy<'_>,
    found: &mut Found,
) {
    for (key, value) in node.entries().filter(|(_, v)| !v.is_alias()) {
        let Some(path) = key.as_str().map(|key| format!("{path}.{key}")) else { continue };
        match read_by.spec(context, &path) {
            Some(spec) if value.as_str().is_some() => found.scalar(place, value, &spec),
            _ => part_of_values(context, place, value, &path, read_by, found),
        }
    }
}

fn patched(
    context: &Context<'_>,
    place: Place<'_>,
    target: &Target<'_>,
    name: &str,
    namespaces: &BTreeSet<String>,
) -> Option<NamedChart> {
    let path = &place.file.path;
    match target.kind {
        kind @ ("HelmChart" | "OCIRepository") => {
            let own = namespaces;
            context.referenced_chart(&Reference { from: path, kind, name, namespace: None, own })
        }
        "HelmRelease" | "Application" => context.patched_chart(path, target.kind, name, namespaces),
        _ => None,
    }
}

/// Says which pin a field is.
fn version_field(kind: &str, path: &[&str]) -> Option<PinKind> {
    match (kind, path) {
        ("HelmRelease", ["spec", "chart", "spec", "version"]) => Some(PinKind::FluxHelmRelease),
        ("HelmChart", ["spec", "version"]) => Some(PinKind::FluxHelmChart),
        ("OCIRepository", ["spec", "ref", "tag" | "semver"]) => Some(PinKind::FluxOciRepository),
        ("Application", ["spec", "source", "targetRevision"] | ["spec", "sources", _, "targetRevision"]) => {
            Some(PinKind::ArgoApplication)
        }
        _ => None,
    }
}

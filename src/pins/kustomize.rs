//! Step 5, pins: shapes `kustomize-helm-chart`, `kustomize-image`, and what a kustomization does to proxy annotations.
//!
//! In: kustomizations, inflation generators, and Flux's and Argo CD's fields of the same form. Out: pins. Nothing is
//! built.

use std::collections::BTreeSet;

use super::{
    Deployment, PinKind, Reason, annotation,
    context::Context,
    found::{Found, Spec, opaque},
    image,
    object::Object,
    origin::{Origin, Ours},
    patch::{self, Target},
    place::Place,
    values::{self, ReadBy},
    version_text::Expects,
};
use crate::{linkerd::PROXY_VERSION, repo::RepoPath, yaml::Node};

/// Where the fields of one inflated chart stand: the two forms differ in names only.
struct ChartFields<'a> {
    name: &'a str,
    repository: Option<&'a str>,
    version: Option<Node<'a>>,
    values: Vec<&'a str>,
    inline: Option<Node<'a>>,
    namespace: Option<&'a str>,
}

/// Takes the pins of a kustomization file.
pub(super) fn kustomization(context: &Context<'_>, place: Place<'_>, root: Node<'_>, found: &mut Found) {
    let home = root.text(&["helmGlobals", "chartHome"]).unwrap_or("charts");
    for item in root.get("helmCharts").into_iter().flat_map(Node::items) {
        chart(context, place, item, &modern(item), home, found);
    }
    for item in root.get("helmChartInflationGenerator").into_iter().flat_map(Node::items) {
        chart(context, place, item, &legacy(item), home, found);
    }
    images(place, root, found);
    let namespaces = own_namespaces(context, place);
    common_annotations(context, place, root, &namespaces, found);
    patches(context, place, root, &namespaces, found);
}

/// Takes the pins of an inflation generator that stands in a file of its own, or of an annotations transformer.
pub(super) fn builtin(context: &Context<'_>, place: Place<'_>, object: &Object<'_>, found: &mut Found) {
    match object.kind {
        "HelmChartInflationGenerator" => {
            let home = object.node.text(&["chartHome"]).unwrap_or("charts");
            chart(context, place, object.node, &modern(object.node), home, found);
        }
        "AnnotationsTransformer" => {
            if let Some(node) = object.node.path(&["annotations", PROXY_VERSION]) {
                found.scalar(place, node, &annotation::spec());
            }
        }
        _ => {}
    }
}

/// Takes `images[].newTag` of Linkerd's images.
pub(super) fn images(place: Place<'_>, root: Node<'_>, found: &mut Found) {
    for item in root.get("images").into_iter().flat_map(Node::items) {
        let (old, new) = (item.text(&["name"]).unwrap_or_default(), item.text(&["newName"]));
        let official = image::linkerd_image(old);
        let Some(image) = official.or_else(|| new.and_then(image::linkerd_image)) else { continue };
        let fork =
            new.is_some_and(|new| image::linkerd_image(new).is_none() && !image::is_mirror_name(old, new));
        let digest = item.get("digest").filter(|d| d.as_str().is_some_and(|d| !d.is_empty()));
        let spec = Spec::platform(PinKind::KustomizeImage, Expects::Edge)
            .staying(image.stays)
            .staying(fork.then_some(Reason::Channel))
            .staying(digest.map(|_| Reason::Digest));
        if let Some(tag) = item.get("newTag") {
            found.scalar(place, tag, &spec);
        }
        if let Some(digest) = digest {
            let length = digest.as_str().map_or(0, str::len);
            found.version(place, digest, &spec, opaque(length, Reason::Digest));
        }
    }
}

/// Takes the annotation that is set on everything.
pub(super) fn common_annotations(
    context: &Context<'_>,
    place: Place<'_>,
    root: Node<'_>,
    namespaces: &BTreeSet<String>,
    found: &mut Found,
) {
    let Some(map) = root.get("commonAnnotations") else { return };
    if let Some(node) = map.get(PROXY_VERSION) {
        let stays = annotation::opted_out(context, &place.file.path, map, namespaces);
        found.scalar(place, node, &annotation::spec().staying(stays));
    }
}

/// Takes patches: inline in either form, and files of JSON operations. A file in the form of an object is read as one
/// by itself.
pub(super) fn patches(
    context: &Context<'_>,
    place: Place<'_>,
    root: Node<'_>,
    namespaces: &BTreeSet<String>,
    found: &mut Found,
) {
    for key in ["patches", "patchesJson6902", "patchesStrategicMerge"] {
        for item in root.get(key).into_iter().flat_map(Node::items) {
            let target = item.get("target").map(Target::of).unwrap_or_default();
            let text = if item.as_str().is_some() { Some(item) } else { item.get("patch") };
            match (text, item.text(&["path"])) {
                (Some(text), _) if text.as_str().is_some() => {
                    place.inside(text, |inner| patch::text(context, inner, &target, namespaces, found));
                }
                // Argo CD and Flux 0.x take a patch as YAML, not as text.
                (Some(node), _) => patch::node(context, place, node, &target, namespaces, found),
                (None, Some(path)) => patch_file(context, place, path, &target, namespaces, found),
                (None, None) => {}
            }
        }
    }
}

fn patch_file(
    context: &Context<'_>,
    place: Place<'_>,
    path: &str,
    target: &Target<'_>,
    namespaces: &BTreeSet<String>,
    found: &mut Found,
) {
    let path = place.file.path.join_from_folder(path);
    let Some(file) = path.and_then(|p| context.corpus.file(p.as_str())) else { return };
    let inner = Place::of(&file);
    for root in file.stream.roots().filter(|r| r.is_sequence()) {
        patch::node(context, inner, root, target, namespaces, found);
    }
}

/// Returns the namespaces of what a kustomization takes in.
fn own_namespaces(context: &Context<'_>, place: Place<'_>) -> BTreeSet<String> {
    let path = &place.file.path;
    let set = context.layout.namespaces(path, None);
    if set.is_empty() { context.layout.namespaces_within(context.corpus, path.folder(), None) } else { set }
}

fn modern(item: Node<'_>) -> ChartFields<'_> {
    let more = item.get("additionalValuesFiles").into_iter().flat_map(Node::items).filter_map(Node::as_str);
    ChartFields {
        name: item.text(&["name"]).unwrap_or_default(),
        repository: item.text(&["repo"]),
        version: item.get("version"),
        values: item.text(&["valuesFile"]).into_iter().chain(more).collect(),
        inline: item.get("valuesInline"),
        namespace: item.text(&["namespace"]),
    }
}

fn legacy(item: Node<'_>) -> ChartFields<'_> {
    ChartFields {
        name: item.text(&["chartName"]).unwrap_or_default(),
        repository: item.text(&["chartRepoUrl"]),
        version: item.get("chartVersion"),
        values: item.text(&["values"]).into_iter().collect(),
        inline: item.get("valuesLocal"),
        namespace: item.text(&["releaseNamespace"]),
    }
}

fn chart(
    context: &Context<'_>,
    place: Place<'_>,
    item: Node<'_>,
    fields: &ChartFields<'_>,
    home: &str,
    found: &mut Found,
) {
    let path = &place.file.path;
    let unpacked = path.join_from_folder(&format!("{home}/{}/Chart.yaml", fields.name));
    let vendored = unpacked.is_some_and(|p| context.corpus.entry(p.as_str()).is_some());
    let origin = fields.repository.filter(|r| !r.is_empty()).map(|r| Origin::Address(r.to_owned()));
    let text = fields.version.and_then(Node::as_str).unwrap_or_default();
    let origin = origin.unwrap_or(Origin::Unknown);
    let ours = Ours::judge(fields.name, &origin, text, &context.options.mirrors);
    if let (Some(ours), Some(version)) = (&ours, fields.version) {
        // kustomize does not look at the version of a chart that lies unpacked beside it.
        let spec = Spec::platform(PinKind::KustomizeHelmChart, Expects::Chart);
        let spec = spec.staying(vendored.then_some(Reason::NoEffect));
        found.scalar(place, version, &ours.fill(spec));
    }
    if let Some(ours) = &ours {
        found.deployments.push(Deployment {
            path: path.clone(),
            line: place.file.position(item.span().start).0,
            chart: ours.chart.clone(),
            name: fields.name.to_owned(),
            namespace: fields.namespace.map(str::to_owned),
            depends_on: None,
            sync_wave: None,
        });
    }
    let read_by = ours.map_or(ReadBy::Other, ReadBy::Ours);
    let namespaces = fields.namespace.map(str::to_owned).into_iter().collect();
    if let Some(inline) = fields.inline {
        values::walk(context, place, inline, &read_by, &namespaces, found);
    }
    let files = fields.values.iter().filter_map(|file| path.join_from_folder(file));
    for file in files.collect::<Vec<RepoPath>>() {
        values::file(context, file.as_str(), &read_by, &namespaces, found);
    }
}

//! Step 5, pins: images of Linkerd as they are deployed: what kustomize's `images` puts to them (shape
//! `kustomize-image`), and those of containers, whatever way their tag took there.
//!
//! In: entries and objects. Out: claims.

use super::{charts::is_foreign, claims::Claims, foreign::By};
use crate::{
    deploy::{
        ChartRelease, Object, Scalar, Value,
        json_patch::{self, Guard},
        umbrella,
    },
    linkerd,
    pins::{
        PinKind, Reason,
        context::Context,
        found::{RunBy, Spec},
        image::{self, Around, LinkerdImage, Reference},
        origin::Ours,
        release_names::tokens,
        rendered,
        under::{self, Under},
        version_text::Expects,
    },
    repo::RepoPath,
};

/// Mappings in mappings that are walked.
const DEPTH: usize = 64;

/// Takes the entries for images of Linkerd.
pub(super) fn take_images(entries: &[Value], over: &[Over], claims: &mut Claims) {
    for value in entries {
        let name = value.text(&["name"]).unwrap_or_default();
        let new = value.text(&["newName"]);
        let official = image::matched_image(&name);
        let Some(image) = official.or_else(|| new.as_deref().and_then(image::linkerd_image)) else {
            value.scalar(&["newTag"]).into_iter().for_each(|tag| claims.foreign.take(tag, By::Other));
            continue;
        };
        let fork = new
            .as_deref()
            .is_some_and(|new| image::linkerd_image(new).is_none() && !image::is_mirror_name(&name, new));
        let digest = value.scalar(&["digest"]).filter(|digest| !digest.text().is_empty());
        let giving = giving(over, image);
        let chooses_controllers = chooses_controllers(&giving, image);
        let spec = Spec::platform(PinKind::KustomizeImage, Expects::Edge);
        let spec = Spec { ended: image.ended, chooses_controllers, ..spec }
            .staying(image.stays)
            .staying(fork.then_some(Reason::Channel))
            .staying(digest.map(|_| Reason::Digest))
            .under(&under(&giving));
        for scalar in value.scalar(&["newTag"]).into_iter().chain(digest) {
            claims.take(scalar, &spec);
            claims.foreign.take_tag(scalar);
        }
    }
}

/// Tells whether a value under a key is an image of Linkerd.
pub(super) fn is_image(key: &str, text: &str) -> bool {
    key == "image" && text.contains("linkerd") && image::pinned(text).is_some()
}

/// A chart of Linkerd's that something is laid over.
pub(super) struct Over {
    ours: Ours,
    under: Vec<Under>,
    /// What runs its images.
    run_by: RunBy,
}

/// Finds the charts of Linkerd's whose pods something may be meant for, those that a chart of the tree depends on among them:
/// those that have any, in the namespace that an object names; beside other charts, an object of that name.
pub(super) fn over<'o>(
    context: &Context<'_>,
    charts: &[ChartRelease],
    object: impl Into<Option<&'o Object>>,
) -> Vec<Over> {
    let ours = |release: &ChartRelease| {
        let ours = Ours::of(release, &context.options.mirrors)?;
        let under = under::under(release.version.as_ref(), release.is_supposed);
        Some(Over { ours, under, run_by: RunBy::Unknown })
    };
    let object = object.into();
    let is_named = |object: &Object| object.name().is_some_and(|name| name.text().contains("linkerd"));
    let namespace = object.and_then(Object::namespace).and_then(Scalar::known);
    // What nobody has written may be set by a kustomization around the chart.
    let is_there = |release: &ChartRelease| {
        let own = release.namespace.as_ref().filter(|own| own.origins().next().is_some());
        let own = own.and_then(Scalar::known);
        own.zip(namespace.as_ref()).is_none_or(|(own, namespace)| own == *namespace)
    };
    let inner = charts.iter().filter_map(|chart| umbrella::dependencies(chart, context.files, &is_foreign));
    let inner: Vec<ChartRelease> = inner.flatten().collect();
    let charts: Vec<&ChartRelease> = charts.iter().chain(&inner).collect();
    let all: Vec<(&ChartRelease, Over)> =
        charts.iter().copied().filter_map(|release| Some((release, ours(release)?))).collect();
    if all.len() < charts.len() && !object.is_none_or(is_named) {
        return Vec::new();
    }
    let has_pods = |over: &Over| over.ours.chart != linkerd::CRDS;
    all.into_iter()
        .filter(|(release, over)| has_pods(over) && is_there(release))
        .map(|(_, over)| over)
        .collect()
}

/// Finds the chart that printed an object of a committed rendering, whose pods something may be laid over.
pub(super) fn printed(object: &Object) -> Option<Over> {
    let chart = rendered::printed_by(object)?;
    let ours = Ours::new(chart, None);
    let under = vec![Under::Printed { path: object.file.clone(), chart: Some(chart) }];
    Some(Over { ours, under, run_by: RunBy::Other })
}

/// Takes the images and other releases against which a patch holds what a committed rendering has: they go with it.
pub(super) fn take_guards(guards: &[Guard], is_printed: &dyn Fn(&RepoPath) -> bool, claims: &mut Claims) {
    for Guard { guard, value } in guards {
        let mut files = value.origins().map(|at| &at.source.path);
        let Some(path) = files.find(|path| is_printed(path)) else { continue };
        let under = [Under::Printed { path: path.clone(), chart: None }];
        let spec = |expects| Spec::platform(PinKind::Image, expects).under(&under);
        let text = guard.text();
        if let Some((part, found)) = image::pinned(&text) {
            claims.take(&guard.cut(part), &spec(Expects::Edge).staying(found.stays));
            continue;
        }
        for token in tokens(&text) {
            claims.take(&guard.cut(token.span), &spec(Expects::Either));
        }
    }
}

/// Takes the releases against which a patch holds what charts of Linkerd's give: they go with these.
pub(super) fn take_tested(object: &Object, over: &[Over], claims: &mut Claims) {
    let Some((first, tested)) = over.first().zip(object.value.get(json_patch::TESTED)) else { return };
    let all: Vec<&Over> = over.iter().collect();
    for scalar in tested.scalars() {
        for token in tokens(&scalar.text()) {
            let mut spec = first.ours.fill(Spec::platform(PinKind::Image, Expects::Either));
            if over.iter().any(|other| other.ours.chart != first.ours.chart) {
                spec.chart = None;
            }
            claims.take(&scalar.cut(token.span), &spec.under(&under(&all)));
        }
    }
}

/// Returns those of the charts that may give an image; all of them where none does.
fn giving(over: &[Over], image: LinkerdImage) -> Vec<&Over> {
    let own: Vec<&Over> = over.iter().filter(|over| image.may_be_of(&over.ours.chart)).collect();
    if own.is_empty() { over.iter().collect() } else { own }
}

/// Tells whether a tag of an image is that of the control plane's own workloads.
fn chooses_controllers(giving: &[&Over], image: LinkerdImage) -> bool {
    image.is_controller && giving.iter().any(|over| linkerd::is_control_plane(&over.ours.chart))
}

fn under(over: &[&Over]) -> Vec<Under> {
    over.iter().flat_map(|over| over.under.iter().cloned()).collect()
}

/// Takes the images in the containers of an object, or of what is laid over charts of Linkerd's: these move with the charts.
pub(super) fn take_containers(object: &Object, over: &[Over], claims: &mut Claims) {
    let text = |scalar: Option<&Scalar>| scalar.map(|text| text.text().into_owned());
    let mut todo = vec![(&object.value, DEPTH)];
    while let Some((value, depth)) = todo.pop() {
        let Some(depth) = depth.checked_sub(1) else { continue };
        todo.extend(value.items().iter().map(|item| (item, depth)));
        for (key, value) in value.entries().filter(|(key, _)| !image::VALUES.contains(key)) {
            if !image::CONTAINERS.contains(&key) {
                todo.push((value, depth));
                continue;
            }
            for container in value.items() {
                let Some(scalar) = container.scalar(&["image"]) else { continue };
                let whole = scalar.text();
                let named = image::pinned(&whole);
                // What a patch calls as an image of the chart that it is laid over is a mirror of that.
                let is_patch = !over.is_empty() && !object.kind().is_empty();
                let mirrored = || {
                    let found = image::mirrored(&whole).filter(|_| is_patch)?;
                    claims.foreign.take_tag(scalar);
                    Some(found)
                };
                let Some((part, found)) = named.or_else(mirrored) else { continue };
                let called = text(container.scalar(&["name"]));
                let around = Around {
                    container: called.as_deref(),
                    annotation: &|key| text(object.annotation(key)),
                    label: &|key| text(object.label(key)),
                };
                let giving = giving(over, found);
                if let Some(first) = giving.first() {
                    let chooses_controllers = chooses_controllers(&giving, found);
                    let spec = Spec::platform(PinKind::Image, Expects::Edge);
                    let run_by = first.run_by;
                    let spec = Spec { ended: found.ended, chooses_controllers, run_by, ..spec };
                    let mut spec = first.ours.fill(spec.staying(found.stays));
                    if over.iter().any(|other| other.ours.chart != first.ours.chart) {
                        spec.chart = None;
                    }
                    claims.take(&scalar.cut(part), &spec.under(&under(&giving)));
                    continue;
                }
                let name = Reference::parse(&whole).map(|image| image.name).unwrap_or_default();
                let run_by =
                    image::run_by(&around, name, &object.name().map(Scalar::text).unwrap_or_default());
                let spec =
                    Spec { run_by, ..image::spec(image::standing(found.stays_today(), &around, name)) };
                claims.take(&scalar.cut(part), &spec);
            }
        }
    }
}

//! Step 5, pins: shapes `chart-dependency` and `chart-lock`.
//!
//! In: `Chart.yaml` and `Chart.lock` (or Helm 2's `requirements`). Out: pins. A lock's version moves also under a range;
//! its digest moves if one of its versions does.

use std::collections::HashMap;

use super::{
    Form, PinKind, Reason,
    context::Context,
    found::{Found, Spec},
    index::repository_origin,
    origin::Ours,
    place::Place,
    version_text::{Expects, VersionText},
};
use crate::{repo::RepoPath, yaml::Node};

/// Takes the dependencies of a `Chart.yaml`, and reports the chart's own `appVersion`.
pub(super) fn dependencies(context: &Context<'_>, place: Place<'_>, root: Node<'_>, found: &mut Found) {
    for (item, ours) in ours(context, root) {
        if let Some(version) = item.get("version") {
            found.scalar(
                place,
                version,
                &ours.fill(Spec::platform(PinKind::ChartDependency, Expects::Chart)),
            );
        }
    }
    if let Some(version) = root.get("appVersion") {
        let spec = Spec::platform(PinKind::Other, Expects::Either).staying(Some(Reason::NotDeployed));
        found.scalar(place, version, &spec);
    }
}

/// Takes the versions and the digest of a lock.
pub(super) fn lock(context: &Context<'_>, place: Place<'_>, root: Node<'_>, found: &mut Found) {
    let kept = kept_dependencies(context, place);
    let mut versions = Found::default();
    for (item, ours) in ours(context, root) {
        if let Some(version) = item.get("version") {
            // A lock follows its Chart.yaml: what is held there is held here.
            let stays = kept.get(&ours.chart).copied().flatten();
            let spec = ours.fill(Spec::platform(PinKind::ChartLock, Expects::Chart)).staying(stays);
            versions.scalar(place, version, &spec);
        }
    }
    let stays = match versions.pins.iter().map(|p| p.stays).collect::<Vec<_>>().as_slice() {
        [] => return,
        all if all.contains(&None) => None,
        [first, ..] => *first,
    };
    found.append(versions);
    if let Some(digest) = root.get("digest").filter(|d| d.as_str().is_some()) {
        let length = digest.as_str().map_or(0, str::len);
        let text = VersionText { span: 0..length, form: Form::LockDigest, version: None, stays };
        found.version(place, digest, &Spec::platform(PinKind::ChartLock, Expects::Chart), text);
    }
}

/// Returns the folder of the chart that a file belongs to: the nearest one above it that has a `Chart.yaml`.
pub(super) fn folder_around<'p>(context: &Context<'_>, path: &'p RepoPath) -> Option<&'p str> {
    if !context.holds.charts {
        return None;
    }
    let folder = path.folder();
    let above = folder.rmatch_indices('/').filter_map(|(at, _)| folder.get(..at));
    std::iter::once(folder).chain(above).chain(std::iter::once("")).find(|folder| {
        let chart = RepoPath::resolve(folder, "Chart.yaml");
        chart.is_some_and(|chart| context.corpus.entry(chart.as_str()).is_some())
    })
}

fn ours<'a>(context: &Context<'_>, root: Node<'a>) -> Vec<(Node<'a>, Ours)> {
    let judge = |item: Node<'a>| {
        let (name, version) = (item.text(&["name"])?, item.text(&["version"])?);
        let origin = repository_origin(item.text(&["repository"]));
        Ours::judge(name, &origin, version, &context.options.mirrors).map(|ours| (item, ours))
    };
    root.get("dependencies").into_iter().flat_map(Node::items).filter_map(judge).collect()
}

/// Says why dependencies of the chart beside a lock stay, by chart; a range does not keep the lock.
fn kept_dependencies(context: &Context<'_>, place: Place<'_>) -> HashMap<String, Option<Reason>> {
    let name = if place.file.path.name() == "Chart.lock" { "Chart.yaml" } else { "requirements.yaml" };
    let beside = place.file.path.join_from_folder(name).and_then(|p| context.corpus.file(p.as_str()));
    let Some(file) = beside else { return HashMap::new() };
    let mut found = Found::default();
    for root in file.stream.roots() {
        dependencies(context, Place::of(&file), root, &mut found);
    }
    let stays = |reason: Option<Reason>| reason.filter(|r| *r != Reason::Range);
    found.pins.into_iter().filter_map(|p| Some((p.chart?, stays(p.stays)))).collect()
}

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
    other,
    place::Place,
    version_text::{Expects, VersionText},
};
use crate::{linkerd::EdgeVersion, repo::RepoPath, yaml::Node};

/// A dependency that is a chart of Linkerd's.
struct Dependency<'a> {
    item: Node<'a>,
    ours: Ours,
    /// How many of its name come before it.
    nth: usize,
}

// === impl Dependency ===

impl Dependency<'_> {
    /// Takes its version.
    fn take(&self, place: Place<'_>, found: &mut Found) {
        if let Some(version) = self.item.get("version") {
            let spec = Spec::platform(PinKind::ChartDependency, Expects::Chart);
            found.scalar(place, version, &self.ours.fill(spec));
        }
    }
}

/// Takes the dependencies of a `Chart.yaml`, and reports the chart's own `appVersion`.
pub(super) fn dependencies(context: &Context<'_>, place: Place<'_>, root: Node<'_>, found: &mut Found) {
    ours(context, root).iter().for_each(|dependency| dependency.take(place, found));
    // Without its channel it is how others count too.
    let is_meant = |version: &Node<'_>| {
        version.as_str().is_some_and(|text| text.parse::<EdgeVersion>().is_ok()) || other::speaks(place.text)
    };
    if let Some(version) = root.get("appVersion").filter(is_meant) {
        let spec = Spec::platform(PinKind::Other, Expects::Either).staying(Some(Reason::NotDeployed));
        found.scalar(place, version, &spec);
    }
}

/// Takes the versions and the digest of a lock.
pub(super) fn lock(context: &Context<'_>, place: Place<'_>, root: Node<'_>, found: &mut Found) {
    let kept = kept_dependencies(context, place);
    let mut versions = Found::default();
    for Dependency { item, ours, nth } in ours(context, root) {
        if let Some(version) = item.get("version") {
            // A lock follows its Chart.yaml: what is held there is held here.
            let stays = kept.get(&(ours.chart.clone(), nth)).copied();
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

fn ours<'a>(context: &Context<'_>, root: Node<'a>) -> Vec<Dependency<'a>> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let judge = |item: Node<'a>| {
        let (name, version) = (item.text(&["name"])?, item.text(&["version"])?);
        let count = seen.entry(name).or_default();
        let nth = *count;
        *count += 1;
        let origin = repository_origin(item.text(&["repository"]));
        let ours = Ours::judge(name, &origin, version, &context.options.mirrors)?;
        Some(Dependency { item, ours, nth })
    };
    root.get("dependencies").into_iter().flat_map(Node::items).filter_map(judge).collect()
}

/// Says why dependencies of the chart beside a lock stay, by chart and count: Helm locks them in their order (`Resolve` of
/// `internal/resolver`). A range does not keep the lock.
fn kept_dependencies(context: &Context<'_>, place: Place<'_>) -> HashMap<(String, usize), Reason> {
    let name = if place.file.path.name() == "Chart.lock" { "Chart.yaml" } else { "requirements.yaml" };
    let beside = place.file.path.join_from_folder(name).and_then(|p| context.corpus.file(p.as_str()));
    let Some(file) = beside else { return HashMap::new() };
    let stays = |dependency: Dependency<'_>| {
        let mut found = Found::default();
        dependency.take(Place::of(&file), &mut found);
        let reason = found.pins.iter().find_map(|pin| pin.stays).filter(|reason| *reason != Reason::Range)?;
        Some(((dependency.ours.chart, dependency.nth), reason))
    };
    file.stream.roots().flat_map(|root| ours(context, root)).filter_map(stays).collect()
}

#[cfg(test)]
mod tests {
    use crate::{
        deploy::testing::MemoryTree,
        pins::{ScanOptions, scan},
    };

    #[test]
    fn what_a_chart_says_it_brings_is_told_by_its_channel_or_where_linkerd_is_named() {
        let told = |chart: &str| {
            let app = "kind: Pod\nmetadata:\n  annotations: {linkerd.io/inject: enabled}\n";
            let tree = MemoryTree::of(&[("app.yaml", app), ("charts/store/Chart.yaml", chart)]);
            scan(&tree, &ScanOptions::default()).unwrap().pins.len()
        };
        assert_eq!(told("name: store\nversion: 1.2.3\nappVersion: 2026.8.2\n"), 0, "a calendar");
        assert_eq!(told("name: store\nversion: 1.2.3\nappVersion: edge-26.8.2\n"), 1);
        assert_eq!(told("name: store\ndescription: Linkerd\nversion: 1.2.3\nappVersion: 2026.8.2\n"), 1);
    }
}

//! Objects that releases and roots look up, and what of an object says that it looks others up.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Mark,
    top::{self, Away, Id},
};
use crate::{
    deploy::{argo, cluster::Cluster, files::Files, flux, k3s, kinds, object::Object, openshift, suspended},
    repo::{RepoPath, parallel},
};

/// Tells whether an object has Flux render a chart, or is one of k3s's that has it leave a chart as it is.
pub(super) fn is_release(object: &Object, files: &dyn Files) -> bool {
    let is_told = || object.is(k3s::GROUP, "HelmChart") && suspended::is_told(object);
    object.is(flux::RELEASES, "HelmRelease") || is_told() || k3s::is_skipped(object, files)
}

/// Tells whether a release says itself to which other cluster it goes.
pub(super) fn is_remote(object: &Object) -> bool {
    object.value.path(&["spec", "kubeConfig"]).is_some()
}

/// Tells whether texts of the object's build are filled in from objects of the cluster.
pub(super) fn fills(object: &Object) -> bool {
    let from = object.value.path(&["spec", "postBuild"]).map(|build| build.list_at("substituteFrom"));
    from.is_some_and(|from| !from.is_empty()) || object.kind() == "ResourceSet"
}

/// Tells whether an object is a source that leaves files out.
pub(super) fn leaves_out(object: &Object) -> bool {
    object.group() == flux::SOURCES && object.value.path(&["spec", "ignore"]).is_some()
}

/// Tells whether an object is looked up wherever it lies: a release, a source that says more than where it is, the Secret of a
/// cluster.
fn is_loose(object: &Object, files: &dyn Files) -> bool {
    is_release(object, files) || leaves_out(object) || suspended::is_told(object) || argo::is_cluster(object)
}

/// Tells whether other objects of the cluster ask for this one by name, or it asks for others.
pub(super) fn is_looked_up(object: &Object) -> bool {
    matches!(
        &*object.kind(),
        "ConfigMap"
            | "Secret"
            | "HelmRepository"
            | "OCIRepository"
            | "GitRepository"
            | "Bucket"
            | "HelmChart"
            | "HelmChartConfig"
            | "HelmRelease"
            | "ResourceSetInputProvider"
    )
}

/// Lists the objects with places that roots look up and that no root need deploy: who applies a cluster's entry may not be
/// in the tree. Of the other entries the releases are among them, whose places may all be written elsewhere, the sources
/// that leave files out, and the Secrets of clusters.
pub(super) fn loose(files: &dyn Files, entries: &[RepoPath], marks: &[Mark]) -> Vec<Object> {
    let marked: BTreeSet<&RepoPath> = marks.iter().map(|mark| &mark.path).collect();
    let paths: BTreeSet<&RepoPath> = marked.iter().copied().chain(entries).collect();
    let paths: Vec<&RepoPath> = paths.into_iter().collect();
    let is_loose = |object: &Object| is_loose(object, files) || marked.contains(&object.file);
    let found = parallel::fold(&paths, |found: &mut Vec<Object>, path| {
        let objects = Object::of_file(files, path).into_iter().flat_map(openshift::processed);
        found.extend(objects.filter(|object| is_looked_up(object) && is_loose(object)));
    });
    found.into_iter().flatten().collect()
}

/// Returns, of what several clusters have by one name and a release reads, its own cluster's; `None` where the tree does not
/// tell which that is.
pub(super) fn own_sources<'c>(release: &Object, cluster: &Cluster<'c>) -> Option<Vec<&'c Object>> {
    let sources = kinds::sources(release, cluster);
    let has_rivals =
        |source: &&Object| !cluster.has_itself(source) && cluster.namesakes(source).next().is_some();
    if !sources.iter().any(has_rivals) {
        return Some(Vec::new());
    }
    let [own] = cluster.variants(&sources, &release.files()).try_into().ok()?;
    Some(own)
}

/// Says of objects of a cluster, each beside where it goes, to which clusters they belong: what releases ask for, which may be for
/// other clusters, to those of the releases; all else to its own.
pub(super) fn seats(
    objects: &[(&Object, &Option<Away>)],
    cluster: &Cluster<'_>,
) -> Vec<BTreeSet<Option<Away>>> {
    let mut asked: BTreeMap<(Id, &Option<Away>), BTreeSet<Option<Away>>> = BTreeMap::new();
    for (asks, own) in objects {
        for source in kinds::sources(asks, cluster) {
            let seat = top::away(asks).or_else(|| (*own).clone());
            asked.entry((top::id(source), *own)).or_default().insert(seat);
        }
    }
    let of = |(object, own): &(&Object, &Option<Away>)| {
        let asked = asked.get(&(top::id(object), *own)).cloned();
        asked.unwrap_or_else(|| BTreeSet::from([(*own).clone()]))
    };
    objects.iter().map(of).collect()
}

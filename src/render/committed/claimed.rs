//! Step 7, render: objects that the marks of one set claim and the chart of another gives.
//!
//! In: what is made again, what stays beside it. Out: both rendered, each such object with the set whose chart gives it.
//! What stays is rendered only where an object is in doubt that it may give. A set of which nothing is left was none.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    Committed, Left, Regenerate,
    placed::Reach,
    recognise::{marks, own},
    work::{Work, Works, complete, rendered},
};
use crate::{
    pins::{Marks, is_image},
    render::{Cause, Manifest, Object, ObjectKey, Renderer},
    repo::RepoPath,
};

/// An object of the tree.
type TreeObject = (RepoPath, ObjectKey);
type Spot<'a> = (&'a RepoPath, &'a ObjectKey);

/// What was rendered, each object with one set.
#[derive(Default)]
pub(super) struct Settled<'a> {
    /// What is made again or proven.
    pub(super) works: Works<'a>,
    /// What stays; nothing where none of its objects was in doubt.
    pub(super) beside: Vec<(&'a Committed, Option<Work<'a>>)>,
    /// The files of sets of which nothing is left.
    pub(super) none: Vec<Left>,
    /// Files with a label of a chart, each with the chart that gives an object with it.
    givers: BTreeMap<(&'a RepoPath, &'a str), &'a str>,
}

/// Renders the sets of a request, and gives each object to the set whose chart gives it.
pub(super) fn settled<'a>(request: &Regenerate<'a>, renderer: &dyn Renderer, new: bool) -> Settled<'a> {
    let works = rendered(request, renderer, request.committed, new);
    let doubtful = doubtful(&works, request.beside);
    let may_give = |set: &&Committed| doubtful.iter().any(|path| Reach::of(set).has(path.folder()));
    let (asked, silent): (Vec<_>, Vec<_>) = request.beside.iter().partition(may_give);
    let beside = rendered(request, renderer, asked, false);
    let mut settled = Settled::default();
    settled.settle(works, &beside);
    settled.beside = beside.into_iter().map(|(set, work)| (set, work.ok())).collect();
    settled.beside.extend(silent.into_iter().map(|set| (set, None)));
    complete(request, renderer, &mut settled.works);
    settled
}

/// Lists the files with an object that names no chart, that no set beside has marks of, and that no proven rendering gives.
fn doubtful<'a>(works: &Works<'a>, beside: &'a [Committed]) -> BTreeSet<&'a RepoPath> {
    let proven = works.iter().filter_map(|(_, work)| work.as_ref().ok().filter(|work| work.is_proven()));
    let given: BTreeSet<TreeObject> = proven.flat_map(given).collect();
    let claimed: BTreeSet<Spot<'_>> = beside.iter().flat_map(|set| claims(set, |_| true)).collect();
    let objects = works.iter().flat_map(|(set, _)| &set.files).flat_map(|file| {
        let manifest = &*file.manifest;
        let unnamed = |object: &&Object| marks(manifest, object).is_none_or(|marks| !marks.named);
        manifest.objects.iter().filter(unnamed).map(|object| (&file.path, &object.key))
    });
    let is_known = |(path, key): &Spot<'_>| {
        claimed.contains(&(path, key)) || given.contains(&((*path).clone(), (*key).clone()))
    };
    objects.filter(|spot| !is_known(spot)).map(|(path, _)| path).collect()
}

/// Lists the objects that the chart of a set gives.
fn given(work: &Work<'_>) -> BTreeSet<TreeObject> {
    let placed = work.best.iter().flat_map(|best| best.placed.all());
    placed.map(|(file, object)| (file.path.clone(), object.key.clone())).collect()
}

/// Lists the objects that have such marks of a set.
fn claims(set: &Committed, are_such: impl Fn(&Marks<'_>) -> bool) -> impl Iterator<Item = Spot<'_>> {
    let has_such =
        move |manifest: &Manifest, object: &Object| marks(manifest, object).is_some_and(|m| are_such(&m));
    let objects =
        set.files.iter().flat_map(|file| own(file).map(move |(manifest, object)| (file, manifest, object)));
    objects
        .filter(move |(_, manifest, object)| has_such(manifest, object))
        .map(|(file, _, object)| (&file.path, &object.key))
}

/// Tells whether a container in an object has an image of Linkerd.
fn runs_linkerd(value: &Value) -> bool {
    let image = |container: &Value| container.get("image").and_then(Value::as_str).is_some_and(is_image);
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| match (key.as_str(), value) {
            ("containers" | "initContainers", Value::Array(containers)) => containers.iter().any(image),
            (_, value) => runs_linkerd(value),
        }),
        Value::Array(items) => items.iter().any(runs_linkerd),
        _ => false,
    }
}

// === impl Settled ===

impl<'a> Settled<'a> {
    /// Says of a file that has marks of a set and nothing of it whose it is.
    pub(super) fn left(&self, set: &Committed, path: &RepoPath) -> Left {
        let given_by = self.givers.get(&(path, &*set.chart)).map(|chart| (*chart).to_owned());
        let made = || set.files.iter().filter(|file| file.path == *path).flat_map(own);
        let by_cli = made().any(|(manifest, object)| marks(manifest, object).is_some_and(|marks| marks.cli));
        let runs = made().any(|(_, object)| runs_linkerd(&object.value));
        Left { path: path.clone(), chart: set.chart.clone(), given_by, by_cli, runs }
    }

    fn settle(&mut self, works: Works<'a>, beside: &Works<'a>) {
        let gives = |(set, work): &(&'a Committed, Result<Work<'a>, Cause>)| {
            (&*set.chart, work.as_ref().map(given).unwrap_or_default())
        };
        let all: Vec<(&str, BTreeSet<TreeObject>)> = works.iter().chain(beside).map(gives).collect();
        for (n, (set, mut work)) in works.into_iter().enumerate() {
            let count = claims(set, |_| true).count();
            let gives = |place: &TreeObject| all.get(n).is_some_and(|(_, own)| own.contains(place));
            // What both give is of the one that gives more than the other has: it is none that has that by labels alone.
            let giver = |place: &TreeObject| {
                let others = all.iter().enumerate().filter(|(m, _)| *m != n).map(|(_, other)| other);
                let mut others = others.filter(|(_, given)| given.contains(place));
                others.find(|(_, given)| !gives(place) || given.len() > count).map(|(chart, _)| *chart)
            };
            let mut others = BTreeSet::new();
            let mut taken = 0;
            for (path, key) in claims(set, |marks| !marks.named) {
                let place = (path.clone(), key.clone());
                let Some(chart) = giver(&place) else { continue };
                taken += 1;
                self.givers.insert((path, &set.chart), chart);
                others.extend((!gives(&place)).then_some(place));
            }
            if count > 0 && taken == count {
                self.none.extend(set.files.iter().map(|file| self.left(set, &file.path)).collect::<Vec<_>>());
                continue;
            }
            if let Some(best) = work.as_mut().ok().and_then(|work| work.best.as_mut()) {
                best.without(|path, key| others.contains(&(path.clone(), key.clone())));
            }
            let unknown = beside.iter().filter(|(other, _)| {
                claims(set, |marks| !marks.named).any(|(path, _)| Reach::of(other).has(path.folder()))
            });
            let mut unknown = unknown.filter_map(|(_, other)| other.as_ref().err());
            // Whose the objects are that differ cannot be told without it.
            if let Some(failure) =
                unknown.next().filter(|_| work.as_ref().is_ok_and(|work| !work.is_proven()))
            {
                work = Err(failure.clone());
            }
            self.works.push((set, work));
        }
    }
}

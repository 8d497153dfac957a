//! What is kept of a build once it is dropped, sorted by what others want of it.

use std::collections::HashSet;

use crate::{
    deploy::{argo, flux, handed, k3s, kinds, kyverno, object::Object, openshift, value::Scalar},
    repo::RepoPath,
};

/// How far something is deployed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Standing {
    #[default]
    Deployed,
    /// Files say so, whatever is made of it.
    Written,
    /// It would be, with more of a chart switched on, or with the chart's own values alone.
    Off,
    /// It would be, without the variables that are laid over others.
    Shadowed,
}

/// What is kept of a build, or of a file.
#[derive(Default)]
pub(super) struct Kept {
    /// Objects that others refer to.
    pub references: Vec<Object>,
    /// Objects that ask for a chart.
    pub releases: Vec<Object>,
    /// Objects that lead to others.
    pub roots: Vec<Object>,
    /// How far it is deployed.
    pub standing: Standing,
    /// Other objects of interest: whether pods are injected is said by their namespace, which another build may bring.
    pub objects: Vec<Object>,
}

/// Tells whether a chart that an object asks for may lead to others: it is one of the tree, or is given objects, also by what
/// else says more of it.
pub(super) fn leads(object: &Object, sources: &[&Object]) -> bool {
    let values = |own: &Object| {
        let places = [&["spec", "values"][..], &["spec", "valuesContent"], &["data"]];
        places.into_iter().filter_map(|place| own.value.path(place)).any(handed::has)
    };
    flux::is_of_tree(object) || values(object) || sources.iter().copied().any(values)
}

// === impl Kept ===

impl Kept {
    /// Keeps what a cluster has for what is built there.
    pub fn of(objects: &[&Object]) -> Self {
        Self { references: objects.iter().map(|object| (*object).clone()).collect(), ..Self::default() }
    }

    /// Adds to what files have the Secrets of clusters that others than those here deploy. What stands in one of these files is
    /// there.
    pub fn with_clusters(mut files: Vec<Self>, objects: &[Object]) -> Vec<Self> {
        let read: HashSet<&RepoPath> =
            files.iter().flat_map(|kept| &kept.references).map(|object| &object.file).collect();
        let is_read = |secret: &Object| {
            let mut origins = secret.name().into_iter().flat_map(Scalar::origins);
            origins.any(|at| read.contains(&at.source.path))
        };
        let secrets = objects.iter().filter(|object| argo::is_cluster(object) && !is_read(object));
        let references = secrets.cloned().collect();
        files.push(Self { references, ..Self::default() });
        files
    }

    /// Sorts an object in, of a template those that it has.
    pub fn take(&mut self, object: Object, mentions: &dyn Fn(&Object) -> bool) {
        let all = openshift::processed(object).into_iter().map(kyverno::patched);
        all.for_each(|object| self.sort(object, mentions));
    }

    fn sort(&mut self, object: Object, mentions: &dyn Fn(&Object) -> bool) {
        let (group, kind) = (object.group().into_owned(), object.kind().into_owned());
        if kinds::leads(&group, &kind) {
            self.references.extend(kinds::is_referred(&group, &kind).then(|| object.clone()));
            return self.roots.push(object);
        }
        let asks = kinds::asks(&group, &kind);
        // What others give it is known once these are.
        let is_given = || object.value.get("spec").is_some_and(|spec| !spec.list_at("valuesFrom").is_empty());
        let may_lead = || group == k3s::GROUP || is_given() || leads(&object, &[]);
        if asks && may_lead() {
            self.roots.push(object.clone());
        }
        // The version of a source is what it fetches, whoever asks for it. Of HelmReleases there are thousands.
        if asks && (group != flux::RELEASES || mentions(&object)) {
            self.releases.push(object.clone());
        }
        if !asks && mentions(&object) {
            self.objects.push(object.clone());
        }
        if kinds::is_referred(&group, &kind) {
            self.references.push(object);
        }
    }
}

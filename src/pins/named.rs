//! Step 5, pins: objects by name, as other objects refer to them.
//!
//! In: objects of one sort, and the [`Layout`]. Out: those of a kind and name that may be in given namespaces, without
//! asking every other object.

use std::collections::{BTreeSet, HashMap};

use super::{
    index::{Map, Release, Source},
    layout::Layout,
};
use crate::{deploy::cluster::nearest, repo::RepoPath};

/// Objects of one sort, by kind and name.
pub(super) struct Named<'c, T> {
    /// Ordered by path.
    by_name: HashMap<&'c str, Vec<Tied<'c, T>>>,
}

/// An object and the namespaces in which it may be; none where that is not known.
struct Tied<'c, T> {
    namespaces: Vec<String>,
    object: &'c T,
}

/// What others refer to.
pub(super) trait Identity {
    /// Returns kind and name; no kind where a reference does not say it.
    fn name(&self) -> (&str, &str);
    /// Returns the file, and the namespace that is written there.
    fn home(&self) -> (&RepoPath, Option<&str>);
}

// === impl Named ===

impl<'c, T: Identity> Named<'c, T> {
    /// Takes stock of objects that are ordered by path.
    pub fn new(layout: &Layout<'_>, objects: &'c [T]) -> Self {
        let mut by_name: HashMap<_, Vec<_>> = HashMap::new();
        for object in objects {
            let (path, namespace) = object.home();
            let namespaces = layout.namespaces(path, namespace).into_iter().collect();
            by_name.entry(object.name().1).or_default().push(Tied { namespaces, object });
        }
        Self { by_name }
    }

    /// Returns the objects of that name that may be in one of the namespaces, in the order of the index; where one of
    /// the two is not known, they may.
    pub fn all(&self, kind: &str, name: &str, wanted: &BTreeSet<String>) -> impl Iterator<Item = &'c T> {
        let of_name = self.by_name.get(name).into_iter().flatten();
        of_name.filter(move |tied| tied.fits(kind, wanted)).map(|tied| tied.object)
    }

    /// Returns the one of these that is nearest to a file.
    pub fn nearest(&self, kind: &str, name: &str, wanted: &BTreeSet<String>, to: &RepoPath) -> Option<&'c T> {
        let of_name = self.by_name.get(name)?;
        let found = nearest(of_name, to, Tied::path, |tied| tied.fits(kind, wanted));
        found.map(|tied| tied.object)
    }
}

// === impl Tied ===

impl<T: Identity> Tied<'_, T> {
    fn path(&self) -> &RepoPath {
        self.object.home().0
    }

    fn fits(&self, kind: &str, wanted: &BTreeSet<String>) -> bool {
        let unknown = wanted.is_empty() || self.namespaces.is_empty();
        self.object.name().0 == kind && (unknown || self.namespaces.iter().any(|n| wanted.contains(n)))
    }
}

impl Identity for Source {
    fn name(&self) -> (&str, &str) {
        (&self.kind, &self.name)
    }

    fn home(&self) -> (&RepoPath, Option<&str>) {
        (&self.path, self.namespace.as_deref())
    }
}

impl Identity for Release {
    fn name(&self) -> (&str, &str) {
        (self.kind, &self.name)
    }

    fn home(&self) -> (&RepoPath, Option<&str>) {
        (&self.path, self.namespace.as_deref())
    }
}

impl Identity for Map {
    fn name(&self) -> (&str, &str) {
        ("", &self.name)
    }

    fn home(&self) -> (&RepoPath, Option<&str>) {
        (&self.path, self.namespace.as_deref())
    }
}

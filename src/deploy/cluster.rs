//! The objects that one cluster gets, found by what other objects call them.

use std::collections::HashMap;

use super::object::Object;
use crate::repo::RepoPath;

/// Objects by kind and name.
#[derive(Default)]
pub struct Cluster<'a> {
    objects: HashMap<(String, String), Vec<&'a Object>>,
}

/// What an object calls another one.
#[derive(Clone, Copy, Debug)]
pub struct Reference<'r> {
    /// The API group.
    pub group: &'r str,
    /// The kind.
    pub kind: &'r str,
    /// The name.
    pub name: &'r str,
    /// The namespace, where it is known.
    pub namespace: Option<&'r str>,
    /// The file of the object that asks: of several that are meant alike, the nearest is taken.
    pub from: &'r RepoPath,
}

// === impl Cluster ===

impl<'a> Cluster<'a> {
    /// Takes in objects; those without a name are nobody's.
    pub fn new(objects: impl IntoIterator<Item = &'a Object>) -> Self {
        let mut cluster = Self::default();
        for object in objects {
            let Some(name) = object.name() else { continue };
            let key = (object.kind().into_owned(), name.text().into_owned());
            cluster.objects.entry(key).or_default().push(object);
        }
        cluster
    }

    /// Finds an object: of the namespace, then one whose namespace is not said, then the nearest file.
    pub fn find(&self, wanted: Reference<'_>) -> Option<&'a Object> {
        let named = self.objects.get(&(wanted.kind.to_owned(), wanted.name.to_owned()))?;
        let rank = |object: &&'a Object| {
            let said = object.namespace().filter(|n| n.unknown_to().is_none()).map(|n| n.text());
            let place = match (said, wanted.namespace) {
                (Some(a), Some(b)) if a == b => 0,
                (Some(_), Some(_)) => return None,
                _ => 1,
            };
            Some((place, usize::MAX - shared(&object.file, wanted.from)))
        };
        let fits = named.iter().filter(|o| o.group() == wanted.group);
        fits.filter_map(|o| Some((rank(o)?, *o))).min_by_key(|(rank, _)| *rank).map(|(_, o)| o)
    }

    /// Returns all objects of a kind, ordered by file.
    pub fn all(&self, group: &str, kind: &str) -> Vec<&'a Object> {
        let of_kind = self.objects.iter().filter(|((k, _), _)| k == kind).flat_map(|(_, objects)| objects);
        let mut found: Vec<&Object> = of_kind.copied().filter(|o| o.group() == group).collect();
        found.sort_by(|a, b| {
            let key = |o: &Object| (o.file.clone(), o.name().map(|n| n.text().into_owned()));
            key(a).cmp(&key(b))
        });
        found
    }
}

/// Counts the folders that two files share from the root on.
fn shared(a: &RepoPath, b: &RepoPath) -> usize {
    let folders = |path: &RepoPath| path.folder().split('/').map(str::to_owned).collect::<Vec<_>>();
    folders(a).iter().zip(&folders(b)).take_while(|(a, b)| a == b).count()
}

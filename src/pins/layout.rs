//! Step 5, pins: how folders are put together.
//!
//! In: the [`Index`]. Out: which kustomizations and roots take a file in. Nothing is built: only what kustomizations list
//! is followed, and each question is answered once, since kustomizations that list each other would otherwise be followed
//! anew from every file.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    Applier,
    index::{Index, Root},
};
use crate::repo::RepoPath;

/// Kustomizations above one file that are followed; a cycle ends there too.
const CLIMB: usize = 64;

/// The folders of a repository as deployers see them.
pub(super) struct Layout<'i> {
    index: &'i Index,
    /// The folders whose kustomization takes in this file or folder.
    takers: HashMap<String, Vec<&'i str>>,
    roots: HashMap<&'i str, Vec<&'i Root>>,
    /// What is above, by the folders from which the climb begins.
    above: Known<Vec<&'i str>, BTreeSet<&'i str>>,
}

/// Answers that were worked out once.
struct Known<K, V>(Mutex<HashMap<K, Arc<V>>>);

// === impl Known ===

impl<K: Eq + Hash + Clone, V> Known<K, V> {
    fn new() -> Self {
        Self(Mutex::default())
    }

    /// Two threads may work out the same answer; the first one stays.
    fn get(&self, key: &K, work: impl FnOnce() -> V) -> Arc<V> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known().get(key) {
            return known.clone();
        }
        let new = Arc::new(work());
        known().entry(key.clone()).or_insert(new).clone()
    }
}

// === impl Layout ===

impl<'i> Layout<'i> {
    /// Turns what kustomizations take in around.
    pub fn new(index: &'i Index) -> Self {
        let mut takers: HashMap<String, Vec<&'i str>> = HashMap::new();
        for (folder, kustomization) in &index.kustomizations {
            let taken: HashSet<&String> = kustomization.takes.iter().collect();
            for taken in taken {
                let path = RepoPath::resolve(folder, taken);
                let path = path.map(|p| p.as_str().to_owned());
                // `..` may lead to the root, which is no path of a file.
                let path = path.or_else(|| (taken.trim_end_matches('/') == "..").then(String::new));
                let takers = takers.entry(path.unwrap_or_default()).or_default();
                if takers.last().is_none_or(|last| last != folder) {
                    takers.push(folder);
                }
            }
        }
        let mut roots: HashMap<&str, Vec<&Root>> = HashMap::new();
        for root in &index.roots {
            roots.entry(&root.folder).or_default().push(root);
        }
        Self { index, takers, roots, above: Known::new() }
    }

    /// Returns the folders whose kustomization takes the file in, directly or through others.
    pub fn folders_above(&self, path: &RepoPath) -> BTreeSet<&'i str> {
        BTreeSet::clone(&self.above(path))
    }

    /// Returns the Flux Kustomizations and Argo CD applications that apply the file.
    pub fn roots_above(&self, path: &RepoPath) -> Vec<&'i Root> {
        let above = self.above(path);
        let mut found: Vec<&Root> =
            applied(&above, path).filter_map(|f| self.roots.get(f)).flatten().copied().collect();
        found.sort_by(|a, b| (&a.path, &a.name).cmp(&(&b.path, &b.name)));
        found
    }

    /// Returns the files of all roots and kustomizations that files lead to, from the inside out, with the files
    /// themselves.
    pub fn outwards(&self, files: impl IntoIterator<Item = RepoPath>) -> BTreeSet<RepoPath> {
        let mut todo: Vec<RepoPath> = files.into_iter().collect();
        let mut found = BTreeSet::new();
        while let Some(path) = todo.pop() {
            if found.contains(&path) {
                continue;
            }
            let above = self.above(&path);
            let folders = above.iter().filter_map(|folder| self.index.kustomizations.get(*folder));
            todo.extend(folders.map(|kustomization| kustomization.path.clone()));
            todo.extend(
                applied(&above, &path).filter_map(|f| self.roots.get(f)).flatten().map(|r| r.path.clone()),
            );
            found.insert(path);
        }
        found
    }

    /// Returns the same as a check sees them.
    pub fn appliers(&self, path: &RepoPath) -> Vec<Applier> {
        let patched = self.folders_above(path).into_iter().any(|folder| {
            self.index.kustomizations.get(folder).is_some_and(|kustomization| kustomization.replaces)
        });
        let one = |root: &Root| Applier {
            name: root.name.clone().unwrap_or_default(),
            namespace: root.namespace.clone(),
            path: root.path.clone(),
            line: root.line,
            flux: root.flux,
            prunes: root.prunes,
            replaces: root.flux && (root.replaces || patched),
            waits: root.waits,
            revision: root.revision.clone(),
        };
        self.roots_above(path).into_iter().map(one).collect()
    }

    /// Climbs from a file, or from a kustomization's own folder, which is then the first of those above.
    fn above(&self, path: &RepoPath) -> Arc<BTreeSet<&'i str>> {
        let own = super::is_kustomization(path.name())
            .then(|| self.index.kustomizations.get_key_value(path.folder()));
        let start: Vec<&str> = match own {
            Some(own) => own.map(|(folder, _)| folder.as_str()).into_iter().collect(),
            None => self.takers.get(path.as_str()).into_iter().flatten().take(CLIMB).copied().collect(),
        };
        match start.is_empty() {
            true => Arc::default(),
            false => self.above.get(&start, || self.climb(&start)),
        }
    }

    fn climb(&self, start: &[&'i str]) -> BTreeSet<&'i str> {
        let mut folders: BTreeSet<&str> = start.iter().copied().collect();
        let mut todo = start.to_vec();
        while let Some(at) = todo.pop() {
            for taker in self.takers.get(at).into_iter().flatten() {
                if folders.len() >= CLIMB {
                    break;
                }
                if folders.insert(taker) {
                    todo.push(taker);
                }
            }
        }
        folders
    }
}

/// Lists the folders whose roots apply a file: those that take it in, and those that it lies in.
fn applied<'a>(above: &'a BTreeSet<&'a str>, path: &'a RepoPath) -> impl Iterator<Item = &'a str> {
    let text = path.as_str();
    let around = text.match_indices('/').filter_map(|(at, _)| text.get(..at)).chain([""]);
    above.iter().copied().chain(around.filter(|folder| !above.contains(folder)))
}

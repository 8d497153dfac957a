//! Step 3, scan: how folders are put together, and so in which namespace an object ends.
//!
//! In: the [`Index`]. Out: which kustomizations and roots take a file in, its namespaces, and whether they are opted
//! out. Nothing is built: only what kustomizations list is followed.

use std::collections::{BTreeSet, HashMap};

use super::{
    RepoPath,
    corpus::Corpus,
    index::{Index, Root, nearest},
    object::Object,
    place::Place,
};

/// Kustomizations above one file that are followed; a cycle ends there too.
const CLIMB: usize = 64;

/// The folders of a repository as deployers see them.
pub(super) struct Layout<'i> {
    index: &'i Index,
    /// The folders whose kustomization takes in this file or folder.
    takers: HashMap<String, Vec<&'i str>>,
}

// === impl Layout ===

impl<'i> Layout<'i> {
    /// Turns what kustomizations take in around.
    pub fn new(index: &'i Index) -> Self {
        let mut takers: HashMap<String, Vec<&'i str>> = HashMap::new();
        for (folder, kustomization) in &index.kustomizations {
            for taken in &kustomization.takes {
                let path = RepoPath::resolve(folder, taken);
                let path = path.map(|p| p.as_str().to_owned());
                // `..` may lead to the root, which is no path of a file.
                let path = path.or_else(|| (taken.trim_end_matches('/') == "..").then(String::new));
                takers.entry(path.unwrap_or_default()).or_default().push(folder);
            }
        }
        Self { index, takers }
    }

    /// Returns the folders whose kustomization takes the file in, directly or through others.
    pub fn folders_above(&self, path: &RepoPath) -> BTreeSet<&'i str> {
        let mut found = BTreeSet::new();
        let mut todo: Vec<&str> = vec![path.as_str()];
        if super::screen::is_kustomization(path.name()) {
            let own = self.index.kustomizations.get_key_value(path.folder());
            todo = own.map(|(folder, _)| folder.as_str()).into_iter().collect();
            found.extend(&todo_as(&todo, self.index));
        }
        while let Some(at) = todo.pop() {
            for taker in self.takers.get(at).into_iter().flatten() {
                if found.len() < CLIMB && found.insert(*taker) {
                    todo.push(taker);
                }
            }
        }
        found
    }

    /// Returns the Flux Kustomizations and Argo CD applications that apply the file.
    pub fn roots_above(&self, path: &RepoPath) -> Vec<&'i Root> {
        let folders = self.folders_above(path);
        let applies =
            |root: &&Root| is_under(path.as_str(), &root.folder) || folders.contains(root.folder.as_str());
        self.index.roots.iter().filter(applies).collect()
    }

    /// Returns the namespaces in which an object of the file may end.
    pub fn namespaces(&self, path: &RepoPath, declared: Option<&str>) -> BTreeSet<String> {
        let folders = self.folders_above(path);
        let mut found: BTreeSet<String> = BTreeSet::new();
        let inner =
            |folder: &&&str| self.index.kustomizations.get(**folder).is_some_and(|k| k.namespace.is_some());
        // The outermost transformer wins: one that no other transformer takes in.
        let with_namespace: Vec<&str> = folders.iter().filter(inner).copied().collect();
        for folder in &with_namespace {
            let outer = self.index.kustomizations.get(*folder).map(|k| self.folders_above(&k.path));
            let covered = outer.is_some_and(|o| o.iter().any(|f| f != folder && with_namespace.contains(f)));
            let kustomization = self.index.kustomizations.get(*folder).filter(|_| !covered);
            found.extend(kustomization.and_then(|k| k.namespace.clone()));
        }
        let roots = self.roots_above(path);
        let forced: BTreeSet<String> =
            roots.iter().filter(|r| r.forces).filter_map(|r| r.target.clone()).collect();
        if !forced.is_empty() {
            return forced;
        }
        if found.is_empty() {
            found.extend(declared.map(str::to_owned));
        }
        if found.is_empty() {
            found.extend(roots.iter().filter_map(|r| r.target.clone()));
        }
        found
    }

    /// Tells whether every namespace that the object may end in is opted out of injection.
    pub fn opted_out(&self, path: &RepoPath, namespaces: &BTreeSet<String>) -> bool {
        !namespaces.is_empty()
            && namespaces.iter().all(|name| {
                let same = self.index.namespaces.iter().filter(|n| n.name == *name);
                let namespace = nearest(same.filter(|n| n.inject.is_some()), path, |n| &n.path);
                namespace.is_some_and(|n| n.inject.as_deref() == Some("disabled"))
            })
    }

    /// Returns the files that a kustomization's folder takes in, directly or through others.
    pub fn taken_by(&self, folder: &str) -> Vec<RepoPath> {
        let (mut files, mut seen, mut todo) = (Vec::new(), BTreeSet::new(), vec![folder.to_owned()]);
        while let Some(at) = todo.pop() {
            if seen.len() >= CLIMB || !seen.insert(at.clone()) {
                continue;
            }
            let Some(kustomization) = self.index.kustomizations.get(&at) else { continue };
            for taken in kustomization.takes.iter().filter_map(|t| RepoPath::resolve(&at, t)) {
                match self.index.kustomizations.contains_key(taken.as_str()) {
                    true => todo.push(taken.as_str().to_owned()),
                    false => files.push(taken),
                }
            }
        }
        files
    }

    /// Returns the namespaces of the objects that a kustomization's folder takes in: those of one name and kind, or
    /// all workloads and namespaces.
    pub fn namespaces_within(
        &self,
        corpus: &Corpus<'_>,
        folder: &str,
        wanted: Option<(&str, &str)>,
    ) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for path in self.taken_by(folder) {
            let Some(file) = corpus.file(path.as_str()) else { continue };
            for object in Object::all(Place::of(&file)) {
                let of_that_name = wanted.is_none_or(|(kind, name)| {
                    object.kind == kind && (name.is_empty() || object.name == Some(name))
                });
                let namespaced = if object.kind == "Namespace" { object.name } else { object.namespace };
                if of_that_name {
                    found.extend(namespaced.map(str::to_owned));
                }
            }
        }
        found
    }
}

fn todo_as<'i>(folders: &[&str], index: &'i Index) -> Vec<&'i str> {
    folders.iter().filter_map(|f| index.kustomizations.get_key_value(*f)).map(|(k, _)| k.as_str()).collect()
}

/// Tells whether a path lies in a folder; everything lies in the root.
pub(super) fn is_under(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

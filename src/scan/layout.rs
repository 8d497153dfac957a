//! Step 3, scan: how folders are put together, and so in which namespace an object ends.
//!
//! In: the [`Index`]. Out: which kustomizations and roots take a file in, its namespaces, and whether they are opted
//! out. Nothing is built: only what kustomizations list is followed.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    RepoPath,
    corpus::Corpus,
    index::{Index, Namespace, Root, nearest},
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
    roots: HashMap<&'i str, Vec<&'i Root>>,
    namespaces: HashMap<&'i str, Vec<&'i Namespace>>,
    /// The objects that a kustomization's folder takes in, listed when first asked for.
    taken: Mutex<HashMap<String, Arc<Vec<Taken>>>>,
}

/// An object that a kustomization takes in.
struct Taken {
    kind: String,
    name: Option<String>,
    namespace: Option<String>,
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
        let mut roots: HashMap<&str, Vec<&Root>> = HashMap::new();
        index.roots.iter().for_each(|r| roots.entry(&r.folder).or_default().push(r));
        let mut namespaces: HashMap<&str, Vec<&Namespace>> = HashMap::new();
        index.namespaces.iter().for_each(|n| namespaces.entry(&n.name).or_default().push(n));
        Self { index, takers, roots, namespaces, taken: Mutex::default() }
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
        let mut folders: BTreeSet<&str> = self.folders_above(path).into_iter().collect();
        let text = path.as_str();
        folders.extend(text.match_indices('/').filter_map(|(at, _)| text.get(..at)));
        folders.insert("");
        let mut found: Vec<&Root> =
            folders.iter().filter_map(|folder| self.roots.get(folder)).flatten().copied().collect();
        found.sort_by(|a, b| (&a.path, &a.name).cmp(&(&b.path, &b.name)));
        found
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
                let same = self.namespaces.get(name.as_str()).into_iter().flatten().copied();
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
        let of_that_name = |taken: &&Taken| {
            wanted.is_none_or(|(kind, name)| {
                taken.kind == kind && (name.is_empty() || taken.name.as_deref() == Some(name))
            })
        };
        let objects = self.objects_within(corpus, folder);
        objects.iter().filter(of_that_name).filter_map(|taken| taken.namespace.clone()).collect()
    }

    fn objects_within(&self, corpus: &Corpus<'_>, folder: &str) -> Arc<Vec<Taken>> {
        let known = self.taken.lock().unwrap_or_else(PoisonError::into_inner).get(folder).cloned();
        if let Some(known) = known {
            return known;
        }
        let mut objects = Vec::new();
        for file in self.taken_by(folder).iter().filter_map(|path| corpus.file(path.as_str())) {
            for object in Object::all(Place::of(&file)) {
                let namespace = if object.kind == "Namespace" { object.name } else { object.namespace };
                let (kind, name) = (object.kind.to_owned(), object.name.map(str::to_owned));
                objects.push(Taken { kind, name, namespace: namespace.map(str::to_owned) });
            }
        }
        let objects = Arc::new(objects);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.insert(folder.to_owned(), objects.clone());
        objects
    }
}

fn todo_as<'i>(folders: &[&str], index: &'i Index) -> Vec<&'i str> {
    folders.iter().filter_map(|f| index.kustomizations.get_key_value(*f)).map(|(k, _)| k.as_str()).collect()
}

//! Step 5, pins: how folders are put together, and so in which namespace an object ends.
//!
//! In: the [`Index`]. Out: which kustomizations and roots take a file in, its namespaces, and whether they are opted
//! out. Nothing is built: only what kustomizations list is followed, and each question is answered once, since
//! kustomizations that list each other would otherwise be followed anew from every file.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    hash::Hash,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use super::{
    Applier,
    corpus::Corpus,
    index::{Index, Namespace, Root},
    object::Object,
    place::Place,
};
use crate::{deploy::cluster::nearest, repo::RepoPath};

/// Kustomizations above one file, or below one folder, that are followed; a cycle ends there too. More namespaces than
/// this are not told apart either.
const CLIMB: usize = 64;

/// The folders of a repository as deployers see them.
pub(super) struct Layout<'i> {
    index: &'i Index,
    /// The folders whose kustomization takes in this file or folder.
    takers: HashMap<String, Vec<&'i str>>,
    roots: HashMap<&'i str, Vec<&'i Root>>,
    /// The namespaces that the roots of a folder force on objects, and those that they give to objects without one.
    targets: HashMap<&'i str, [BTreeSet<&'i str>; 2]>,
    namespaces: HashMap<&'i str, Vec<&'i Namespace>>,
    /// What is above, by the folders from which the climb begins.
    above: Known<Vec<&'i str>, Above<'i>>,
    /// What each kustomization takes in itself.
    below: Known<&'i str, Below<'i>>,
    /// The objects of a file, and those that a kustomization's folder takes in.
    homes_of_file: Known<RepoPath, Homes>,
    homes_within: Known<String, Homes>,
}

/// Answers that were worked out once.
struct Known<K, V>(Mutex<HashMap<K, Arc<V>>>);

/// The kustomizations that take something in, directly or through others.
#[derive(Default)]
struct Above<'i> {
    folders: BTreeSet<&'i str>,
    /// What their namespace transformers set.
    namespaces: OnceLock<BTreeSet<&'i str>>,
}

/// What one kustomization takes in.
struct Below<'i> {
    folders: BTreeSet<&'i str>,
    files: Vec<RepoPath>,
}

/// The namespaces that objects declare, by kind and name.
type Homes = BTreeMap<(String, String), BTreeSet<String>>;

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
        let mut targets: HashMap<&str, [BTreeSet<&str>; 2]> = HashMap::new();
        for root in &index.roots {
            roots.entry(&root.folder).or_default().push(root);
            let [forced, given] = targets.entry(&root.folder).or_default();
            let target = root.target.as_deref();
            if root.forces { forced.extend(target) } else { given.extend(target) }
        }
        let mut namespaces: HashMap<&str, Vec<&Namespace>> = HashMap::new();
        index.namespaces.iter().for_each(|n| namespaces.entry(&n.name).or_default().push(n));
        let (above, below) = (Known::new(), Known::new());
        let (homes_of_file, homes_within) = (Known::new(), Known::new());
        Self { index, takers, roots, targets, namespaces, above, below, homes_of_file, homes_within }
    }

    /// Returns the folders whose kustomization takes the file in, directly or through others.
    pub fn folders_above(&self, path: &RepoPath) -> BTreeSet<&'i str> {
        self.above(path).folders.clone()
    }

    /// Returns the Flux Kustomizations and Argo CD applications that apply the file.
    pub fn roots_above(&self, path: &RepoPath) -> Vec<&'i Root> {
        let above = self.above(path);
        let mut found: Vec<&Root> =
            applied(&above.folders, path).filter_map(|f| self.roots.get(f)).flatten().copied().collect();
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
            let folders = above.folders.iter().filter_map(|folder| self.index.kustomizations.get(*folder));
            todo.extend(folders.map(|kustomization| kustomization.path.clone()));
            todo.extend(
                applied(&above.folders, &path)
                    .filter_map(|f| self.roots.get(f))
                    .flatten()
                    .map(|r| r.path.clone()),
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
            path: root.path.clone(),
            line: root.line,
            flux: root.flux,
            prunes: root.prunes,
            replaces: root.flux && (root.replaces || patched),
        };
        self.roots_above(path).into_iter().map(one).collect()
    }

    /// Returns the namespaces in which an object of the file may end.
    pub fn namespaces(&self, path: &RepoPath, declared: Option<&str>) -> BTreeSet<String> {
        let above = self.above(path);
        let of_roots = |which: usize| -> BTreeSet<&str> {
            let targets =
                applied(&above.folders, path).filter_map(|folder| self.targets.get(folder)?.get(which));
            targets.flatten().copied().collect()
        };
        let owned = |found: &BTreeSet<&str>| found.iter().take(CLIMB).map(|n| (*n).to_owned()).collect();
        let (forced, set) = (of_roots(0), || above.namespaces.get_or_init(|| self.transformed(&above)));
        if !forced.is_empty() {
            return owned(&forced);
        }
        match (set(), declared) {
            (set, None) if set.is_empty() => owned(&of_roots(1)),
            (set, Some(declared)) if set.is_empty() => BTreeSet::from([declared.to_owned()]),
            (set, _) => owned(set),
        }
    }

    /// Climbs from a file, or from a kustomization's own folder, which is then the first of those above.
    fn above(&self, path: &RepoPath) -> Arc<Above<'i>> {
        let own = super::screen::is_kustomization(path.name())
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

    fn climb(&self, start: &[&'i str]) -> Above<'i> {
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
        Above { folders, namespaces: OnceLock::new() }
    }

    /// Returns what namespace transformers set. The outermost wins: one that no other transformer takes in.
    fn transformed(&self, above: &Above<'i>) -> BTreeSet<&'i str> {
        let setting = |folder: &&'i str| {
            let kustomization = self.index.kustomizations.get(*folder)?;
            Some((*folder, &kustomization.path, kustomization.namespace.as_deref()?))
        };
        let setting: Vec<_> = above.folders.iter().filter_map(setting).collect();
        let covered = |folder: &str, path: &RepoPath| {
            let outer = self.above(path);
            setting.iter().any(|(other, ..)| *other != folder && outer.folders.contains(other))
        };
        let outermost = setting.iter().filter(|(folder, path, _)| !covered(folder, path));
        outermost.map(|(_, _, namespace)| *namespace).collect()
    }

    /// Tells whether every namespace that the object may end in is opted out of injection.
    pub fn opted_out(&self, path: &RepoPath, namespaces: &BTreeSet<String>) -> bool {
        !namespaces.is_empty()
            && namespaces.iter().all(|name| {
                let same = self.namespaces.get(name.as_str()).map_or(&[][..], Vec::as_slice);
                let namespace = nearest(same, path, |n| &n.path, |n| n.inject.is_some());
                namespace.is_some_and(|n| n.inject.as_deref() == Some("disabled"))
            })
    }

    /// Returns the files that a kustomization's folder takes in, directly or through others.
    pub fn taken_by(&self, folder: &str) -> Vec<RepoPath> {
        let start = self.index.kustomizations.get_key_value(folder);
        let mut todo: Vec<&str> = start.into_iter().map(|(folder, _)| folder.as_str()).collect();
        let mut seen: BTreeSet<&str> = todo.iter().copied().collect();
        let mut files = Vec::new();
        while let Some(at) = todo.pop() {
            let below = self.below.get(&at, || self.taken_directly(at));
            files.extend(below.files.iter().cloned());
            for folder in &below.folders {
                if seen.len() >= CLIMB {
                    break;
                }
                if seen.insert(folder) {
                    todo.push(folder);
                }
            }
        }
        files
    }

    fn taken_directly(&self, folder: &'i str) -> Below<'i> {
        let mut below = Below { folders: BTreeSet::new(), files: Vec::new() };
        let takes = self.index.kustomizations.get(folder).into_iter().flat_map(|k| &k.takes);
        for taken in takes.filter_map(|taken| RepoPath::resolve(folder, taken)) {
            match self.index.kustomizations.get_key_value(taken.as_str()) {
                Some((folder, _)) => drop(below.folders.insert(folder)),
                None => below.files.push(taken),
            }
        }
        below
    }

    /// Returns the namespaces of the objects that a kustomization's folder takes in: those of one kind and name (any
    /// name where it is empty), or all workloads and namespaces.
    pub fn namespaces_within(
        &self,
        corpus: &Corpus<'_>,
        folder: &str,
        wanted: Option<(&str, &str)>,
    ) -> BTreeSet<String> {
        let homes = self.homes_within.get(&folder.to_owned(), || self.gather(corpus, folder));
        match wanted {
            Some((kind, name)) if !name.is_empty() => {
                homes.get(&(kind.to_owned(), name.to_owned())).cloned().unwrap_or_default()
            }
            _ => {
                let of_kind =
                    |(key, _): &(&(String, String), _)| wanted.is_none_or(|(kind, _)| key.0 == kind);
                homes.iter().filter(of_kind).flat_map(|(_, found)| found).cloned().collect()
            }
        }
    }

    fn gather(&self, corpus: &Corpus<'_>, folder: &str) -> Homes {
        let mut homes = Homes::new();
        for path in self.taken_by(folder) {
            let of_file = self.homes_of_file.get(&path, || {
                corpus.file(path.as_str()).map(|file| declared(Place::of(&file))).unwrap_or_default()
            });
            for (key, found) in of_file.iter() {
                homes.entry(key.clone()).or_default().extend(found.iter().cloned());
            }
        }
        homes
    }
}

/// Lists the folders whose roots apply a file: those that take it in, and those that it lies in.
fn applied<'a>(above: &'a BTreeSet<&'a str>, path: &'a RepoPath) -> impl Iterator<Item = &'a str> {
    let text = path.as_str();
    let around = text.match_indices('/').filter_map(|(at, _)| text.get(..at)).chain([""]);
    above.iter().copied().chain(around.filter(|folder| !above.contains(folder)))
}

/// Returns the namespaces that the objects of a file declare; a Namespace's is its name.
fn declared(place: Place<'_>) -> Homes {
    let mut homes = Homes::new();
    for object in Object::all(place) {
        let namespace = if object.kind == "Namespace" { object.name } else { object.namespace };
        let key = || (object.kind.to_owned(), object.name.unwrap_or_default().to_owned());
        if let Some(namespace) = namespace {
            homes.entry(key()).or_default().insert(namespace.to_owned());
        }
    }
    homes
}

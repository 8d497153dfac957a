//! Step 7, render: which committed object is which of the rendering.
//!
//! In: a set of files, the old version rendered. Out: the place of each object that the chart gives, and the objects with
//! its marks that it does not give: those are somebody's own. Objects without any mark belong to the set where the chart
//! gives an object of that name and it stands in the same files or folders.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Committed, CommittedFile, recognise::marks};
use crate::{
    render::{Manifest, Object, ObjectKey},
    repo::{Entry, Mode, RepoPath, Tree, common_folder},
};

/// The files of a set and what of them is the chart's.
pub(super) struct Placed {
    /// The set's files, and those beside them with an unmarked object of it.
    pub(super) files: Vec<CommittedFile>,
    /// For each object that the chart gives: its file and its place there.
    places: BTreeMap<ObjectKey, (usize, usize)>,
    /// The objects with marks of the chart that it does not give.
    others: Vec<(usize, usize)>,
}

// === impl Placed ===

impl Placed {
    /// Finds the objects of a rendering in a set and around it.
    pub(super) fn of(tree: &dyn Tree, set: &Committed, rendered: &Manifest) -> Self {
        let mut placed = Self { files: set.files.clone(), places: BTreeMap::new(), others: Vec::new() };
        let wanted: BTreeSet<&ObjectKey> = rendered.objects.iter().map(|o| &o.key).collect();
        for (n, file) in set.files.iter().enumerate() {
            for own in &file.own {
                let Some(object) = file.manifest.objects.get(*own).filter(|o| !is_encrypted(o)) else {
                    continue;
                };
                match wanted.contains(&object.key) {
                    true => drop(placed.places.entry(object.key.clone()).or_insert((n, *own))),
                    false => placed.others.push((n, *own)),
                }
            }
        }
        for (n, file) in set.files.iter().enumerate() {
            placed.take(n, &file.manifest, set, &wanted);
        }
        let reach = Reach::of(set);
        let is_missing = |placed: &Self| wanted.iter().any(|key| !placed.places.contains_key(key));
        if is_missing(&placed) {
            placed.search(tree, set, &wanted, |folder| reach.folders.contains(folder));
        }
        if is_missing(&placed) && reach.home.is_some() {
            placed.search(tree, set, &wanted, |folder| reach.has(folder) && !reach.folders.contains(folder));
        }
        placed
    }

    /// Returns a committed object and its file.
    pub(super) fn get(&self, key: &ObjectKey) -> Option<(&CommittedFile, &Object)> {
        self.at(*self.places.get(key)?)
    }

    /// Returns all objects of the set with their files, in the order of the files.
    pub(super) fn all(&self) -> impl Iterator<Item = (&CommittedFile, &Object)> {
        let mut places: Vec<(usize, usize)> = self.places.values().copied().collect();
        places.sort_unstable();
        places.into_iter().filter_map(|place| self.at(place))
    }

    /// Returns the objects with the chart's marks that it does not give.
    pub(super) fn others(&self) -> impl Iterator<Item = (&CommittedFile, &Object)> {
        self.others.iter().filter_map(|place| self.at(*place))
    }

    /// Leaves out of those objects what belongs to others.
    pub(super) fn without_others(&mut self, is_anothers: impl Fn(&RepoPath, &ObjectKey) -> bool) {
        let others = std::mem::take(&mut self.others);
        let stays = |place: &(usize, usize)| {
            self.at(*place).is_none_or(|(file, object)| !is_anothers(&file.path, &object.key))
        };
        self.others = others.into_iter().filter(stays).collect();
    }

    fn at(&self, (file, object): (usize, usize)) -> Option<(&CommittedFile, &Object)> {
        let file = self.files.get(file)?;
        Some((file, file.manifest.objects.get(object)?))
    }

    /// Takes the unmarked objects of a file that the chart gives.
    fn take(
        &mut self,
        file: usize,
        manifest: &Manifest,
        set: &Committed,
        wanted: &BTreeSet<&ObjectKey>,
    ) -> bool {
        let mut taken = false;
        for (n, object) in manifest.objects.iter().enumerate() {
            let others = || marks(manifest, object).is_some_and(|m| m.named && m.chart != set.chart);
            if is_encrypted(object) {
                continue;
            }
            if wanted.contains(&object.key) && !self.places.contains_key(&object.key) && !others() {
                self.places.insert(object.key.clone(), (file, n));
                taken = true;
            }
        }
        taken
    }

    fn search(
        &mut self,
        tree: &dyn Tree,
        set: &Committed,
        wanted: &BTreeSet<&ObjectKey>,
        is_meant: impl Fn(&str) -> bool,
    ) {
        let known: BTreeSet<_> = self.files.iter().map(|f| f.path.clone()).collect();
        let yaml = |e: &&Entry| [".yaml", ".yml", ".json"].iter().any(|end| e.path.as_str().ends_with(end));
        let regular = |e: &&Entry| matches!(e.mode, Mode::File | Mode::Executable);
        let beside = tree.entries().iter().filter(|e| is_meant(e.path.folder()) && !known.contains(&e.path));
        for entry in beside.filter(yaml).filter(regular) {
            let Some(manifest) = read(tree, entry) else { continue };
            if self.take(self.files.len(), &manifest, set, wanted) {
                let (path, mode, blob) = (entry.path.clone(), entry.mode, entry.id);
                self.files.push(CommittedFile {
                    path,
                    mode,
                    blob,
                    manifest: Arc::new(manifest),
                    own: Vec::new(),
                });
            }
        }
    }
}

/// The folders in which objects of a set may be without marks of it.
pub(super) struct Reach<'s> {
    /// Those with files of it.
    folders: BTreeSet<&'s str>,
    /// The one in which these lie, where they are several: a chart may be split into a folder for each kind, and of some kinds
    /// no object has a mark.
    home: Option<&'s str>,
}

// === impl Reach ===

impl<'s> Reach<'s> {
    /// Lists them.
    pub fn of(set: &'s Committed) -> Self {
        let folders: BTreeSet<&str> = set.files.iter().map(|file| file.path.folder()).collect();
        let home = folders.iter().copied().reduce(|one, other| common_folder(one, other));
        Self { home: home.filter(|home| folders.len() > 1 && !home.is_empty()), folders }
    }

    /// Tells whether a folder is one of them.
    pub fn has(&self, folder: &str) -> bool {
        let is_inside = |home: &str| {
            folder.strip_prefix(home).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.folders.contains(folder) || self.home.is_some_and(is_inside)
    }
}

/// Tells whether SOPS has encrypted an object: no text of it may change, or it can never be read again.
pub(super) fn is_encrypted(object: &Object) -> bool {
    object.at(&["sops", "mac"]).is_some()
}

/// Reads a file that may be of any kind.
fn read(tree: &dyn Tree, entry: &Entry) -> Option<Manifest> {
    /// A single unmarked object is never larger.
    const CEILING: u64 = 1 << 20;
    let small = tree.size(entry.id).ok()? <= CEILING;
    let text = String::from_utf8(tree.read(entry.id).ok().filter(|_| small)?).ok()?;
    Manifest::parse(text).ok()
}

//! Files that remember what was read of them, so that a build says which files it rests on.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    files::{FileError, Files},
    value::{Source, Value},
};
use crate::{repo::Entry, yaml::Ceilings};

/// Files under watch.
pub(super) struct Watch<'f> {
    files: &'f dyn Files,
    read: Mutex<BTreeSet<String>>,
    /// Files of which it was only asked whether they are there, and that are.
    seen: Mutex<BTreeSet<String>>,
}

// === impl Watch ===

impl<'f> Watch<'f> {
    /// Begins to watch.
    pub fn new(files: &'f dyn Files) -> Self {
        Self { files, read: Mutex::default(), seen: Mutex::default() }
    }

    /// Returns the paths that were read.
    pub fn into_read(self) -> BTreeSet<String> {
        self.read.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the paths of all files that were found, whether anything was read of them or not.
    pub fn into_found(self) -> BTreeSet<String> {
        let mut found = self.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        let read = self.read.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.extend(read.into_iter().filter(|path| self.files.has(path)));
        found
    }

    fn note(&self, path: &str) {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
    }
}

impl Files for Watch<'_> {
    fn file(&self, path: &str) -> Result<Arc<Source>, FileError> {
        self.note(path);
        self.files.file(path)
    }

    fn documents(&self, path: &str) -> Result<Arc<[Value]>, FileError> {
        self.note(path);
        self.files.documents(path)
    }

    fn below(&self, folder: &str) -> &[Entry] {
        self.files.below(folder)
    }

    fn matching(&self, glob: &str) -> Vec<&Entry> {
        self.files.matching(glob)
    }

    fn ceilings(&self) -> &Ceilings {
        self.files.ceilings()
    }

    fn has(&self, path: &str) -> bool {
        let has = self.files.has(path);
        if has {
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        }
        has
    }

    fn has_root_of(&self, repository: &str) -> bool {
        self.files.has_root_of(repository)
    }
}

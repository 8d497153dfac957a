//! Step 3, scan: the [`Tree`] over one commit of a Git object database.
//!
//! In: a repository on disk and a commit. Out: its entries and blobs. Nothing is checked out, symbolic links are
//! not followed and submodules not entered. Reads may run on several threads: each takes a handle from a pool.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use git2::{ObjectType, Oid, Repository};

use super::{BlobId, Entry, Mode, RepoPath, Tree, TreeError};

/// Folders nested deeper than this are not listed; Git itself refuses to make them.
const DEPTH: usize = 200;

/// The content of one commit.
pub struct GitTree {
    folder: PathBuf,
    handles: Mutex<Vec<Repository>>,
    entries: Vec<Entry>,
}

// === impl GitTree ===

impl GitTree {
    /// Reads the list of entries of a commit, or of any object that stands for a tree.
    pub fn open(repository: &Path, commit: BlobId) -> Result<Self, TreeError> {
        let failed = |e: git2::Error| TreeError { id: commit, reason: e.message().to_owned() };
        let handle = Repository::open(repository).map_err(failed)?;
        let folder = handle.path().to_owned();
        let mut entries = Vec::new();
        {
            let object = handle.find_object(Oid::from_bytes(&commit.0).map_err(failed)?, None);
            let tree = object.and_then(|o| o.peel_to_tree()).map_err(failed)?;
            list(&handle, &tree, "", 0, &mut entries)?;
        }
        Ok(Self { folder, handles: Mutex::new(vec![handle]), entries })
    }

    fn with_handle<T>(
        &self,
        id: BlobId,
        read: impl FnOnce(&Repository, Oid) -> Result<T, git2::Error>,
    ) -> Result<T, TreeError> {
        let failed = |e: git2::Error| TreeError { id, reason: e.message().to_owned() };
        let pooled = self.handles.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let handle = match pooled {
            Some(handle) => handle,
            None => Repository::open(&self.folder).map_err(failed)?,
        };
        let result = Oid::from_bytes(&id.0).and_then(|oid| read(&handle, oid)).map_err(failed);
        self.handles.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
        result
    }
}

impl Tree for GitTree {
    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.with_handle(id, |handle, oid| Ok(handle.odb()?.read(oid)?.data().to_vec()))
    }

    fn size(&self, id: BlobId) -> Result<u64, TreeError> {
        self.with_handle(id, |handle, oid| Ok(handle.odb()?.read_header(oid)?.0 as u64))
    }
}

fn list(
    repository: &Repository,
    tree: &git2::Tree<'_>,
    folder: &str,
    depth: usize,
    entries: &mut Vec<Entry>,
) -> Result<(), TreeError> {
    for entry in tree.iter() {
        let id = blob_id(entry.id());
        // A name that is not UTF-8, or that would leave the tree, cannot be edited by us and is left out.
        let Ok(name) = std::str::from_utf8(entry.name_bytes()) else { continue };
        let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        if entry.kind() == Some(ObjectType::Tree) {
            if depth < DEPTH {
                let failed = |e: git2::Error| TreeError { id, reason: e.message().to_owned() };
                let inner = repository.find_tree(entry.id()).map_err(failed)?;
                list(repository, &inner, &path, depth + 1, entries)?;
            }
            continue;
        }
        let mode = match entry.filemode() {
            0o120_000 => Mode::Symlink,
            0o160_000 => Mode::Submodule,
            0o100_755 => Mode::Executable,
            _ => Mode::File,
        };
        entries.extend(RepoPath::new(path).map(|path| Entry { path, id, mode }));
    }
    Ok(())
}

fn blob_id(oid: Oid) -> BlobId {
    let mut id = [0; 20];
    id.iter_mut().zip(oid.as_bytes()).for_each(|(to, from)| *to = *from);
    BlobId(id)
}

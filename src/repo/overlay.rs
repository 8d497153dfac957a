//! A tree as it will be: the base tree with a change set on top, so that the checks read both alike.

use std::collections::HashMap;

use crate::repo::{BlobId, ChangeSet, Entry, Tree, TreeError};

/// The base tree seen through a change set.
pub struct Overlay<'a> {
    base: &'a dyn Tree,
    entries: Vec<Entry>,
    contents: HashMap<BlobId, Vec<u8>>,
}

// === impl Overlay ===

impl<'a> Overlay<'a> {
    /// Lays a change set over a tree.
    pub fn new(base: &'a dyn Tree, changes: &ChangeSet) -> Self {
        let mut contents = HashMap::new();
        let mut entries = base.entries().to_vec();
        for change in &changes.files {
            let at = entries.binary_search_by(|e| e.path.cmp(&change.path));
            match (&change.after, at) {
                (None, Ok(at)) => drop(entries.remove(at)),
                (None, Err(_)) => {}
                (Some(content), at) => {
                    let id = blob_id(content);
                    let entry = Entry { path: change.path.clone(), id, mode: change.mode };
                    contents.insert(id, content.clone());
                    match at {
                        Ok(at) => entries[at] = entry,
                        Err(at) => entries.insert(at, entry),
                    }
                }
            }
        }
        Self { base, entries, contents }
    }
}

impl Tree for Overlay<'_> {
    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.contents.get(&id).map_or_else(|| self.base.read(id), |content| Ok(content.clone()))
    }

    fn size(&self, id: BlobId) -> Result<u64, TreeError> {
        self.contents.get(&id).map_or_else(|| self.base.size(id), |content| Ok(content.len() as u64))
    }

    fn odd_names(&self) -> &[String] {
        self.base.odd_names()
    }

    fn sweep(&self, ids: &[BlobId], ceiling: u64, see: &(dyn Fn(usize, &[u8]) + Sync)) {
        self.base.sweep(ids, ceiling, see);
    }
}

/// Computes the id that Git gives a content.
pub fn blob_id(content: &[u8]) -> BlobId {
    // Hashing cannot fail for a blob; libgit2 returns an error only for an unknown object type.
    let oid = git2::Oid::hash_object(git2::ObjectType::Blob, content);
    let mut id = [0; 20];
    if let Ok(oid) = oid {
        id.copy_from_slice(oid.as_bytes());
    }
    BlobId(id)
}

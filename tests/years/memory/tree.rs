//! Trees of files, by their content.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use uplinker::repo::{BlobId, Entry, Mode, RepoPath, Tree, TreeError, TreeId, blob_id, git};

/// A tree of files, with its listing.
pub struct Snapshot {
    pub files: Texts,
    entries: Vec<Entry>,
    blobs: HashMap<BlobId, Arc<Vec<u8>>>,
}

pub type Texts = BTreeMap<String, Arc<Vec<u8>>>;

pub struct TreeOf(pub Arc<Snapshot>);

// === impl Snapshot, TreeOf ===

impl Snapshot {
    pub fn of(files: Texts) -> (TreeId, Self) {
        let entry = |(path, text): (&String, &Arc<Vec<u8>>)| Entry {
            path: RepoPath::new(path.clone()).expect("a path"),
            id: blob_id(text),
            mode: Mode::File,
        };
        let entries: Vec<Entry> = files.iter().map(entry).collect();
        let blobs = entries.iter().map(|entry| entry.id).zip(files.values().cloned()).collect();
        let listing: String = entries.iter().map(|entry| format!("{} {}\n", entry.id, entry.path)).collect();
        (TreeId(blob_id(listing.as_bytes()).0), Self { files, entries, blobs })
    }
}

impl Tree for TreeOf {
    fn entries(&self) -> &[Entry] {
        &self.0.entries
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        let text = self.0.blobs.get(&id);
        text.map(|text| text.to_vec()).ok_or_else(|| TreeError::new(id, "there is no such blob"))
    }
}

/// Merges file by file; `None` where both changed the same lines.
pub fn three_way(base: &Texts, ours: &Texts, theirs: &Texts) -> Option<Texts> {
    let paths: BTreeSet<&String> = base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
    let mut merged = Texts::new();
    for path in paths {
        let (base, ours, theirs) = (base.get(path), ours.get(path), theirs.get(path));
        let text = match (base, ours, theirs) {
            _ if ours == theirs || base == theirs => ours.cloned(),
            _ if base == ours => theirs.cloned(),
            (Some(base), Some(ours), Some(theirs)) => Some(Arc::new(git::merge(base, ours, theirs).ok()??)),
            _ => return None,
        };
        merged.extend(text.map(|text| (path.clone(), text)));
    }
    Some(merged)
}

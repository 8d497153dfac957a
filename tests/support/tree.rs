//! A repository in memory: files by path, as a tree that steps read.

use std::{collections::BTreeMap, fs, path::Path};

use uplinker::{
    pins::{Inventory, Reason, ScanOptions, scan},
    repo::{BlobId, Entry, FileChange, Mode, RepoPath, Tree, TreeError, blob_id},
};

/// A tree in memory with Git's own object ids.
#[derive(Clone, Default)]
pub struct MemoryTree {
    pub entries: Vec<Entry>,
    pub blobs: BTreeMap<BlobId, Vec<u8>>,
}

// === impl MemoryTree ===

impl MemoryTree {
    /// Makes a tree of files.
    pub fn new<P: AsRef<str>, T: AsRef<[u8]>>(files: impl IntoIterator<Item = (P, T)>) -> Self {
        let mut tree = Self::default();
        for (path, content) in files {
            tree.put(path.as_ref(), Some(content.as_ref()));
        }
        tree
    }

    /// Reads a folder of the machine.
    pub fn read(folder: &Path) -> Self {
        let mut tree = Self::default();
        tree.add(folder, "");
        tree
    }

    fn add(&mut self, folder: &Path, prefix: &str) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let path = format!("{prefix}{}", entry.file_name().to_str().expect("a plain name"));
            match entry.path().is_dir() {
                true => self.add(&entry.path(), &format!("{path}/")),
                false => self.put(&path, Some(&fs::read(entry.path()).expect("a file"))),
            }
        }
    }

    /// Writes a file, or removes it.
    pub fn put(&mut self, path: &str, content: Option<&[u8]>) {
        self.put_as(path, content, Mode::File);
    }

    /// Writes an entry of this mode, or removes it.
    pub fn put_as(&mut self, path: &str, content: Option<&[u8]>, mode: Mode) {
        let path = RepoPath::new(path).expect("a sound path");
        let place = self.entries.binary_search_by(|e| e.path.cmp(&path));
        if let Ok(at) = place {
            self.entries.remove(at);
        }
        if let Some(content) = content {
            let id = blob_id(content);
            self.blobs.insert(id, content.to_vec());
            let (Ok(at) | Err(at)) = place;
            self.entries.insert(at, Entry { path, id, mode });
        }
    }

    /// Returns the tree with changes made.
    pub fn changed(&self, changes: &[FileChange]) -> Self {
        let mut tree = self.clone();
        for change in changes {
            assert_eq!(tree.get(change.path.as_str()).unwrap_or_default(), change.before, "{}", change.path);
            tree.put(change.path.as_str(), change.after.as_deref());
        }
        tree
    }

    /// Returns a file.
    pub fn get(&self, path: &str) -> Option<Vec<u8>> {
        let entry = self.entries.iter().find(|e| e.path.as_str() == path)?;
        self.blobs.get(&entry.id).cloned()
    }

    /// Returns a file's text, empty where there is none.
    pub fn text(&self, path: &str) -> String {
        String::from_utf8(self.get(path).unwrap_or_default()).expect("text")
    }

    /// Returns all files.
    pub fn files(&self) -> BTreeMap<String, String> {
        self.entries.iter().map(|e| (e.path.to_string(), self.text(e.path.as_str()))).collect()
    }
}

impl Tree for MemoryTree {
    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.blobs.get(&id).cloned().ok_or_else(|| TreeError::new(id, "no such blob"))
    }
}

/// Finds the pins of files.
pub fn scanned(files: &[(&str, &str)]) -> Inventory {
    scan(&MemoryTree::new(files.iter().copied()), &ScanOptions::default()).unwrap()
}

/// What is said of each place: path and line, the text, and the reason or that it moves.
pub fn told(inventory: &Inventory) -> Vec<String> {
    let fate = |reason: Option<Reason>| reason.map_or("moves".to_owned(), |reason| format!("{reason:?}"));
    let pins = inventory.pins();
    pins.map(|p| format!("{}:{} {} {}", p.path, p.site.line, p.value, fate(p.stays))).collect()
}

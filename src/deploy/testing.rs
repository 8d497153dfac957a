//! A tree in memory, for tests.

use super::{files::TreeFiles, object::Object};
use crate::repo::{BlobId, Entry, Mode, RepoPath, Tree, TreeError};
use crate::yaml::Ceilings;

/// A tree of texts.
pub struct MemoryTree {
    entries: Vec<Entry>,
    texts: Vec<String>,
}

impl MemoryTree {
    /// Makes a tree of paths and texts.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let mut files: Vec<_> = files.to_vec();
        files.sort_by_key(|(path, _)| *path);
        let entry = |(at, (path, _)): (usize, &(&str, &str))| {
            let mut id = [0; 20];
            id[..8].copy_from_slice(&at.to_be_bytes());
            Entry { path: RepoPath::new(*path).unwrap(), id: BlobId(id), mode: Mode::File }
        };
        let entries = files.iter().enumerate().map(entry).collect();
        Self { entries, texts: files.iter().map(|(_, text)| (*text).to_owned()).collect() }
    }
}

impl MemoryTree {
    /// Makes the file at a path a symbolic link.
    pub fn with_link(mut self, path: &str) -> Self {
        self.entries.iter_mut().filter(|e| e.path.as_str() == path).for_each(|e| e.mode = Mode::Symlink);
        self
    }
}

impl Tree for MemoryTree {
    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        let at = self.entries.iter().position(|e| e.id == id).unwrap();
        Ok(self.texts[at].clone().into_bytes())
    }
}

/// Makes files of paths and texts, which live as long as the tests.
pub fn files(files: &[(&str, &str)]) -> TreeFiles<'static> {
    TreeFiles::new(Box::leak(Box::new(MemoryTree::of(files))), Ceilings::default())
}

/// Makes the objects of a text.
pub fn objects(text: &str) -> Vec<Object> {
    Object::of_file(&files(&[("a.yaml", text)]), &RepoPath::new("a.yaml").unwrap())
}

//! The files of a tree as the deployers read them.
//!
//! In: a [`Tree`]. Out: texts and parsed documents by path, folder or glob, kept while they fit a budget, so that a
//! tree of any size is read in the same memory.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use globset::GlobBuilder;

use super::{
    read::{self, ReadError},
    repositories::Repositories,
    value::{Scalar, Source, Value},
};
use crate::{
    repo::{Entry, Mode, Tree, TreeError},
    yaml::Ceilings,
};

/// Bytes of text that are kept with their documents, which take some ten times as much.
const KEPT_BYTES: usize = 2 << 20;
/// What a file counts beside its text.
const KEPT_EACH: usize = 256;

/// A file that is not read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FileError {
    /// The author's: nothing has this path.
    #[error("there is no such file")]
    Absent,
    /// The author's: a symbolic link or a submodule, which is never followed.
    #[error("it is a symbolic link or a submodule, which is not followed")]
    Link,
    /// The author's: over the ceiling of one file.
    #[error("it has {bytes} bytes, more than is read of one file")]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// The author's: no text.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// The author's: no YAML, or too much of it.
    #[error(transparent)]
    Document(#[from] ReadError),
    /// The object database's.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

/// The files of one tree.
pub trait Files: Sync {
    /// Returns the text of the regular file at a path.
    ///
    /// # Errors
    /// Where there is none, or it is no text.
    fn file(&self, path: &str) -> Result<Arc<Source>, FileError>;

    /// Returns the documents of the file at a path; those without content are left out.
    ///
    /// # Errors
    /// Where there is no file, or it is no YAML.
    fn documents(&self, path: &str) -> Result<Arc<[Value]>, FileError>;

    /// Returns everything below a folder (`""` is the root) that is no folder, ordered by path: none where there is no such
    /// folder.
    fn below(&self, folder: &str) -> &[Entry];

    /// Returns the regular files that a glob names, `*` not crossing folders, ordered by path.
    fn matching(&self, glob: &str) -> Vec<&Entry>;

    /// Returns the ceilings under which a text of a file is parsed.
    fn ceilings(&self) -> &Ceilings;

    /// Tells whether a regular file has this path.
    fn has(&self, path: &str) -> bool;

    /// Tells whether the root of a repository, as deployers call it, may be the root of the tree.
    fn has_root_of(&self, repository: &str) -> bool;

    /// Tells whether a folder has this path (`""` is the root).
    fn has_folder(&self, folder: &str) -> bool {
        !self.below(folder).is_empty()
    }
}

/// [`Files`] over a [`Tree`].
pub struct TreeFiles<'t> {
    tree: &'t dyn Tree,
    ceilings: Ceilings,
    repositories: Repositories,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    files: HashMap<String, KeptFile>,
    bytes: usize,
}

#[derive(Clone)]
struct KeptFile {
    source: Result<Arc<Source>, FileError>,
    documents: Option<Result<Arc<[Value]>, FileError>>,
}

// === impl TreeFiles ===

impl<'t> TreeFiles<'t> {
    /// Reads a tree; a file over the ceilings is not read.
    pub fn new(tree: &'t dyn Tree, ceilings: Ceilings) -> Self {
        Self { tree, ceilings, repositories: Repositories::default(), kept: Mutex::default() }
    }

    /// Takes in which repositories the tree has folders of.
    pub fn of(self, repositories: Repositories) -> Self {
        Self { repositories, ..self }
    }

    /// Lets go of what is kept, where what is read next is something else.
    pub fn forget(&self) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Kept::default();
    }

    fn kept(&self, path: &str) -> Option<KeptFile> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).files.get(path).cloned()
    }

    fn keep(&self, path: &str, file: KeptFile) {
        let bytes = KEPT_EACH + file.source.as_ref().map_or(0, |source| source.text.len());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.files.insert(path.to_owned(), file).is_some() {
            return;
        }
        kept.bytes += bytes;
        // What is read next is near what was read last: beginning anew is as good as looking for the oldest.
        if kept.bytes > KEPT_BYTES {
            *kept = Kept::default();
        }
    }

    fn load(&self, path: &str) -> Result<Arc<Source>, FileError> {
        let entry = self.tree.entry(path).ok_or(FileError::Absent)?;
        if !is_regular(entry) {
            return Err(FileError::Link);
        }
        let bytes = self.tree.size(entry.id)?;
        if usize::try_from(bytes).map_or(true, |bytes| bytes > self.ceilings.bytes) {
            return Err(FileError::TooLarge { bytes });
        }
        let text = String::from_utf8(self.tree.read(entry.id)?).map_err(|_| FileError::NotUtf8)?;
        Ok(Arc::new(Source { path: entry.path.clone(), blob: entry.id, text: text.into() }))
    }
}

impl Files for TreeFiles<'_> {
    fn file(&self, path: &str) -> Result<Arc<Source>, FileError> {
        if let Some(kept) = self.kept(path) {
            return kept.source;
        }
        let source = self.load(path);
        self.keep(path, KeptFile { source: source.clone(), documents: None });
        source
    }

    fn documents(&self, path: &str) -> Result<Arc<[Value]>, FileError> {
        if let Some(documents) = self.kept(path).and_then(|kept| kept.documents) {
            return documents;
        }
        let source = self.file(path);
        let documents = source
            .clone()
            .and_then(|source| Ok(Arc::from(read::documents(&Scalar::file(&source), &self.ceilings)?)));
        self.keep(path, KeptFile { source, documents: Some(documents.clone()) });
        documents
    }

    fn below(&self, folder: &str) -> &[Entry] {
        let entries = self.tree.entries();
        if folder.is_empty() {
            return entries;
        }
        // Entries are ordered by path: what is below a folder stands together, from `folder/` on.
        let prefix = format!("{folder}/");
        let first = entries.partition_point(|e| *e.path.as_str() < *prefix);
        let near = entries.get(first..).unwrap_or_default();
        near.get(..near.partition_point(|e| e.path.as_str().starts_with(&prefix))).unwrap_or_default()
    }

    fn matching(&self, glob: &str) -> Vec<&Entry> {
        let literal = glob.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default();
        let Ok(glob) = GlobBuilder::new(glob).literal_separator(true).build() else { return Vec::new() };
        let matcher = glob.compile_matcher();
        let entries = self.tree.entries();
        let first = entries.partition_point(|e| e.path.as_str() < literal);
        let near = entries.iter().skip(first).take_while(|e| e.path.as_str().starts_with(literal));
        near.filter(|e| is_regular(e)).filter(|e| matcher.is_match(e.path.as_str())).collect()
    }

    fn ceilings(&self) -> &Ceilings {
        &self.ceilings
    }

    fn has(&self, path: &str) -> bool {
        self.tree.entry(path).is_some_and(is_regular)
    }

    fn has_root_of(&self, repository: &str) -> bool {
        self.repositories.has_root_of(repository)
    }
}

fn is_regular(entry: &Entry) -> bool {
    matches!(entry.mode, Mode::File | Mode::Executable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::testing::MemoryTree;

    #[test]
    fn files_are_found_by_path_folder_and_glob() {
        let tree = MemoryTree::of(&[
            ("a-b/x.yaml", "a: 1"),
            ("a.yaml", "b: 2"),
            ("a/c/y.yaml", "c: 3"),
            ("a/z.txt", ""),
        ]);
        let files = TreeFiles::new(&tree, Ceilings::default());
        let names = |entries: &[Entry]| entries.iter().map(|e| e.path.to_string()).collect::<Vec<_>>();
        assert_eq!(names(files.below("a")), ["a/c/y.yaml", "a/z.txt"]);
        assert_eq!(names(files.below("a/c")), ["a/c/y.yaml"]);
        assert_eq!(files.below("").len(), 4);
        assert!(files.has_folder("a/c") && !files.has_folder("a.yaml") && !files.has_folder("b"));
        assert!(files.has("a.yaml") && !files.has("a"));
        let found: Vec<_> = files.matching("a/*/*.yaml").iter().map(|e| e.path.to_string()).collect();
        assert_eq!(found, ["a/c/y.yaml"]);
        assert_eq!(files.documents("a.yaml").unwrap()[0].text(&["b"]).unwrap(), "2");
    }

    #[test]
    fn what_is_read_twice_is_one_and_the_same_until_the_budget_ends() {
        let tree = MemoryTree::of(&[("a.yaml", "a: 1"), ("b.yaml", &"b: 2\n---\n".repeat(KEPT_BYTES / 9))]);
        let files = TreeFiles::new(&tree, Ceilings::default());
        let first = files.documents("a.yaml").unwrap();
        assert!(Arc::ptr_eq(&first, &files.documents("a.yaml").unwrap()));
        assert!(files.documents("b.yaml").is_err());
        assert_eq!(*first, *files.documents("a.yaml").unwrap());
    }

    #[test]
    fn a_link_is_no_file() {
        let tree = MemoryTree::of(&[("a.yaml", "a: 1"), ("l.yaml", "/etc/hostname")]).with_link("l.yaml");
        let files = TreeFiles::new(&tree, Ceilings::default());
        assert!(matches!(files.file("l.yaml"), Err(FileError::Link)));
        assert!(matches!(files.documents("l.yaml"), Err(FileError::Link)));
        assert!(!files.has("l.yaml") && files.matching("*.yaml").len() == 1);
    }

    #[test]
    fn an_unread_file_says_why() {
        let tree = MemoryTree::of(&[("a.yaml", "a: ["), ("big.yaml", "a: 1234567890")]);
        let files = TreeFiles::new(&tree, Ceilings { bytes: 10, ..Ceilings::default() });
        assert!(matches!(files.documents("a.yaml"), Err(FileError::Document(_))));
        assert!(matches!(files.documents("big.yaml"), Err(FileError::TooLarge { bytes: 13 })));
        assert!(matches!(files.file("none.yaml"), Err(FileError::Absent)));
    }
}

//! The files of a tree as the deployers read them.
//!
//! In: a [`Tree`]. Out: texts and parsed documents by path, folder or glob, kept while they fit a budget, so that a
//! tree of any size is read in the same memory.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use globset::GlobBuilder;

use super::{
    read::{self, ReadError},
    repositories::Repositories,
    value::{Scalar, Source, Value},
};
use crate::{
    repo::{Entry, Mode, RepoPath, Tree, TreeError},
    yaml::Ceilings,
};

/// Bytes of text that are kept with their documents, which take some ten times as much.
const KEPT_BYTES: usize = 2 << 20;
/// Links that are followed one out of the other, and the bytes of one.
const LINKS: usize = 8;
const LINK_BYTES: u64 = 4096;
/// What a file counts beside its text.
const KEPT_EACH: usize = 256;

/// A file that is not read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FileError {
    /// The author's: nothing has this path.
    #[error("there is no such file")]
    Absent,
    /// The author's: a submodule, or a symbolic link that leads to no file of the tree.
    #[error("it is a submodule, or a symbolic link that leads to no file of this repository")]
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
    /// Returns the text of the regular file at a path, or at that to which symbolic links of the tree lead from there.
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

    /// Tells whether a regular file has this path, or symbolic links of the tree lead to one.
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
    /// Whether there is a symbolic link.
    has_links: OnceLock<bool>,
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
        let (repositories, has_links, kept) = Default::default();
        Self { tree, ceilings, repositories, has_links, kept }
    }

    /// Takes in which repositories the tree has folders of.
    pub fn of(self, repositories: Repositories) -> Self {
        Self { repositories, ..self }
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

    /// Finds the regular file at a path, following links as whoever checks the tree out does; none leads out of it.
    fn entry(&self, path: &str) -> Result<&Entry, FileError> {
        match self.tree.entry(path) {
            Some(entry) if is_regular(entry) => return Ok(entry),
            found => {
                let is_link = |entry: &Entry| entry.mode == Mode::Symlink;
                if !self.has_links.get_or_init(|| self.tree.entries().iter().any(is_link)) {
                    return Err(found.map_or(FileError::Absent, |_| FileError::Link));
                }
            }
        }
        self.followed(path, LINKS)
    }

    fn followed(&self, path: &str, links: usize) -> Result<&Entry, FileError> {
        let folders = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        let mut on_the_way = folders.chain([path]).filter_map(|part| self.tree.entry(part));
        let entry = on_the_way.next().ok_or(FileError::Absent)?;
        if is_regular(entry) && entry.path.as_str() == path {
            return Ok(entry);
        }
        let left = links.checked_sub(1).filter(|_| entry.mode == Mode::Symlink).ok_or(FileError::Link)?;
        if self.tree.size(entry.id)? > LINK_BYTES {
            return Err(FileError::Link);
        }
        let target = String::from_utf8(self.tree.read(entry.id)?).map_err(|_| FileError::Link)?;
        let rest = path.get(entry.path.as_str().len()..).unwrap_or_default();
        let next =
            RepoPath::resolve(entry.path.folder(), &format!("{target}{rest}")).ok_or(FileError::Link)?;
        self.followed(next.as_str(), left)
    }

    fn load(&self, path: &str) -> Result<Arc<Source>, FileError> {
        let entry = self.entry(path)?;
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
        self.entry(path).is_ok()
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
    fn links_lead_to_files_of_the_tree_and_nowhere_else() {
        let links = [
            ("envs/prod", "../base"),
            ("out.yaml", "../../etc/hostname"),
            ("rooted.yaml", "/base/a.yaml"),
            ("round.yaml", "./round.yaml"),
            ("to/file.yaml", "../envs/prod/./a.yaml"),
            ("to/folder.yaml", "../base"),
            ("to/nothing.yaml", "gone.yaml"),
        ];
        let tree = MemoryTree::of(&[&[("base/a.yaml", "a: 1")], &links[..]].concat());
        let tree = links.iter().fold(tree, |tree, (path, _)| tree.with_link(path));
        let files = TreeFiles::new(&tree, Ceilings::default());
        for path in ["base/a.yaml", "envs/prod/a.yaml", "to/file.yaml"] {
            assert_eq!(files.file(path).unwrap().path.as_str(), "base/a.yaml", "{path}");
            assert!(files.has(path));
        }
        for path in
            ["out.yaml", "rooted.yaml", "round.yaml", "to/folder.yaml", "to/nothing.yaml", "envs/prod"]
        {
            assert!(files.file(path).is_err() && !files.has(path), "{path}");
        }
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

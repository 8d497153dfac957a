//! Step 3, repo: one commit of a repository, read without a working tree.
//!
//! In: a Git object database. Out: paths, entries and blobs as a [`Tree`]. Nothing is checked out, no link is followed; a
//! [`RepoPath`] cannot leave the tree.

mod change_set;
pub mod git;
mod id;
mod mention;
mod overlay;
pub mod parallel;
mod path;
mod refusal;
mod remote;

pub use change_set::{ChangeSet, FileChange};
pub use git::tree::{GitTree, Listing};
pub use id::{BlobId, CommitId, ObjectId, TreeId};
pub use overlay::{Overlay, blob_id};
pub use path::{RepoPath, common_folder, folders_up};
pub use refusal::{Barrier, Refusals, Rule};
pub use remote::{
    CommitInfo, GitError, NewCommit, RefUpdate, Refs, Remote, Signature, SignedCommit, Stretch, Upstream,
};

/// The content of one commit, read without a working tree.
pub trait Tree: Sync {
    /// Returns every entry that is not a folder, ordered by path.
    fn entries(&self) -> &[Entry];
    /// Returns what has a path.
    fn entry(&self, path: &str) -> Option<&Entry> {
        let entries = self.entries();
        entries.get(entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).ok()?)
    }
    /// Returns the content of a blob.
    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError>;
    /// Returns how many bytes a blob has; a Git tree reads nothing of it for that.
    fn size(&self, id: BlobId) -> Result<u64, TreeError> {
        Ok(self.read(id)?.len() as u64)
    }
    /// Returns names that no [`RepoPath`] can hold (not UTF-8, `..`, twice in one folder), made printable: they are
    /// not among the entries and can only be reported.
    fn odd_names(&self) -> &[String] {
        &[]
    }
    /// Shows many blobs at once, from several threads: a call with the position among `ids` and the content. A blob that
    /// is larger than the ceiling, or that this way does not reach, gets no call and is to be read by itself.
    fn sweep(&self, _ids: &[BlobId], _ceiling: u64, _see: &(dyn Fn(usize, &[u8]) + Sync)) {}
    /// Finds the YAML and JSON files up to a size that have one of some words in them, with their texts, in the tree's
    /// order. Every small file is read for it, so it is asked for only where there is something to find out.
    fn mentioning(&self, words: &[&str], ceiling: u64) -> Vec<(&Entry, String)> {
        mention::find(self, words, ceiling)
    }
}

/// A file, symlink or submodule of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Where it is.
    pub path: RepoPath,
    /// Its content's object id.
    pub id: BlobId,
    /// What it is.
    pub mode: Mode,
}

/// The mode of a tree entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// A regular file.
    File,
    /// A regular file that may be run.
    Executable,
    /// A symbolic link: never followed.
    Symlink,
    /// A submodule: never entered.
    Submodule,
}

/// A tree that could not be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot read {}object {id} of the repository: {reason}", path.as_ref().map(|p| format!("{p}, ")).unwrap_or_default())]
pub struct TreeError {
    /// The file or folder that the object is, where that is known.
    pub path: Option<RepoPath>,
    /// The object.
    pub id: ObjectId,
    /// Git's words.
    pub reason: String,
}

// === impl TreeError ===

impl TreeError {
    /// An object that could not be read.
    pub fn new(id: impl Into<ObjectId>, reason: impl Into<String>) -> Self {
        Self { path: None, id: id.into(), reason: reason.into() }
    }

    /// Names the file that the object is in a tree.
    pub fn named_in(mut self, tree: &dyn Tree) -> Self {
        let entry = tree.entries().iter().find(|entry| ObjectId::from(entry.id) == self.id);
        self.path = self.path.or_else(|| entry.map(|entry| entry.path.clone()));
        self
    }
}

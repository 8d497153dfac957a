//! All file changes of one target's stage: what becomes a commit.

use super::{BlobId, Mode, RepoPath};

/// All file changes of one target's stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// The changes, ordered by path.
    pub files: Vec<FileChange>,
}

/// One changed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub path: RepoPath,
    /// Its mode, which stays.
    pub mode: Mode,
    /// The blob that is replaced; `None` for a new file.
    pub before_id: Option<BlobId>,
    /// The content that is replaced; empty for a new file.
    pub before: Vec<u8>,
    /// The new content; `None` removes the file.
    pub after: Option<Vec<u8>>,
    /// Whether it was rendered again as a whole, rather than edited at its pins.
    pub rendered: bool,
}

// === impl ChangeSet ===

impl ChangeSet {
    /// Adds a change that was made on top of the others; of a file that is among them, what is replaced stays what the
    /// base has.
    pub fn lay_over(&mut self, change: FileChange) {
        match self.files.binary_search_by(|file| file.path.cmp(&change.path)) {
            Ok(at) => {
                if let Some(file) = self.files.get_mut(at) {
                    (file.after, file.rendered) = (change.after, change.rendered);
                }
            }
            Err(at) => self.files.insert(at, change),
        }
    }
}

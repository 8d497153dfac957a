//! Step 5, edit: new text for the files of a plan, every byte outside the pins untouched.
//!
//! In: texts and routes. Out: texts, and the [`ChangeSet`] of a plan. After each edit the text is parsed again
//! and must be equal except at the target. Pure.

mod overlay;

pub use overlay::{Overlay, blob_id};

use crate::scan::{BlobId, Mode, RepoPath};

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
}

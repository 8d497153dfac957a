//! Step 5, edit: new text for the files of a plan, every byte outside the pins untouched.
//!
//! In: texts and routes. Out: texts, and the [`ChangeSet`] of a plan. After each edit the text is parsed again
//! and must be equal except at the target. Pure.

mod apply;
mod chart_lock;
mod entry;
mod error;
mod insert;
mod locate;
mod overlay;
mod proof;
mod replace;
mod scalar;
mod splice;

use crate::pins::Site;
use crate::repo::{BlobId, Mode, RepoPath};

pub use apply::apply;
pub use chart_lock::digest;
pub use entry::written_end;
pub use error::{EditError, Refusal};
pub use insert::insert;
pub use overlay::{Overlay, blob_id};
pub use replace::{replace, replace_all};
pub use splice::{Splice, spliced};

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

/// One edit of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// Where.
    pub site: Site,
    /// What must stand there.
    pub old: String,
    /// What comes in its place.
    pub new: String,
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

//! Step 7, edit: new text for the files of a plan, every byte outside the pins untouched.
//!
//! In: texts and routes. Out: texts, and the [change set](crate::repo::ChangeSet) of a plan. After each edit the text is parsed again
//! and must be equal except at the target. Pure.

mod apply;
mod chart_lock;
mod entry;
mod error;
mod insert;
mod locate;
mod proof;
mod replace;
mod restore;
mod scalar;
mod splice;

use crate::pins::Site;

pub use apply::apply;
pub use chart_lock::digest;
pub use entry::written_end;
pub use error::{EditError, Refusal};
pub use insert::{NewEntry, insert, insert_all};
pub use replace::{replace, replace_all};
pub use restore::{Restoring, restore};
pub use splice::{Splice, spliced};

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

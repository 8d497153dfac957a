//! Step 9, explain: the reviewer's text.
//!
//! In: plan, change set, renderings, findings. Out: the [`Content`] of a pull request as data, its text within the
//! forge's limits with the boxes and the marker that are read back from it, and the commit's message. Pure.

mod basis;
pub mod body;
mod boxes;
pub mod content;
mod dialect;
pub mod markdown;
pub mod marker;
mod message;
mod waits;

pub use basis::{Basis, FoundOut, Search};
pub use boxes::{CheckBox, Ticks};
pub use content::Content;
pub(crate) use content::word_of;
pub use dialect::Dialect;
pub use marker::Marker;
pub use message::{Message, commit_message};
pub use waits::waits;

//! Step 10, propose: one issue that is kept up to date.
//!
//! In: its text. Out: what the forge has of it. A forge without issues gives no [`Issues`].

use super::ForgeError;

/// The label by which the issue is found again.
pub const LABEL: &str = "linkerd: overview";

/// An issue as a forge reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Its number.
    pub number: u64,
    /// Whether it is open.
    pub open: bool,
    /// Its text.
    pub body: String,
}

/// Where issues live.
pub trait Issues {
    /// Lists the issues with our label, oldest first, open or not.
    fn labelled(&self) -> Result<Vec<Issue>, ForgeError>;
    /// Opens one with our label.
    fn open_issue(&self, title: &str, body: &str) -> Result<Issue, ForgeError>;
    /// Changes one.
    fn update_issue(&self, issue: &Issue) -> Result<(), ForgeError>;
}

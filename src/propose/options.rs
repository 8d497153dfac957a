//! Step 8, propose: how our branches grow, as the configuration says.
//!
//! In: nothing. Out: the words that the configuration is read into and that [`super::reconcile`] decides by. Pure.

/// How the branch grows (`branch.history`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum History {
    /// A commit on top; never a forced push over an open pull request.
    #[default]
    Append,
    /// One fresh commit.
    Replace,
}

/// When the branch follows the base branch (`branch.update`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Update {
    /// When a file of the change set changed there.
    #[default]
    Conflict,
    /// Whenever it moved.
    Behind,
}

/// What the configuration says of branches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `branch.history`.
    pub history: History,
    /// `branch.update`.
    pub update: Update,
}

//! Step 10, propose: where one target's stage is proposed, and what can go wrong there.

use super::forge::{Forge, ForgeError, PullRequest};
use crate::{
    explain::body::BodyError,
    pins::Stage,
    repo::{GitError, Remote},
};

/// Where one target's stage is proposed.
pub struct ProposalContext<'a> {
    /// The forge.
    pub forge: &'a dyn Forge,
    /// The remote.
    pub remote: &'a dyn Remote,
    /// Our branch.
    pub branch: String,
    /// Whether that is under another prefix than ours, and so not ours to write.
    pub is_elsewhere: bool,
    /// The branch to be merged into.
    pub base: String,
    /// The target.
    pub target: String,
    /// The stage.
    pub stage: Stage,
    /// What the configuration says of branches.
    pub options: Options,
    /// The branch's pull requests, where they were listed a moment ago: the first look needs no request.
    pub known: Option<Vec<PullRequest>>,
}

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

/// Why an intent could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum ProposeError {
    /// The Git side.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The forge's side.
    #[error(transparent)]
    Forge(#[from] ForgeError),
    /// Our own texts: a defect.
    #[error(transparent)]
    Body(#[from] BodyError),
}

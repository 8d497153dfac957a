//! Step 10, propose: where pull requests live.
//!
//! In: what is to become of a pull request. Out: what the forge made of it. The trait at the edge is here; one adapter a
//! forge is named after it.

mod address;
pub mod directory;
pub mod gitea;
pub mod github;
pub mod gitlab;
pub mod issues;
pub mod kind;
pub mod kinds;
pub mod listing;
pub mod preflight;
mod rest;
pub mod webhook;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    explain::Dialect,
    policy::StatusCheck,
    repo::{Barrier, ChangeSet, CommitId, CommitInfo, Refs, SignedCommit, TreeId},
};
use preflight::{Needed, Seen, Subject};

/// The context of our status.
pub const STATUS: &str = "uplinker/verify";

/// A pull request as a forge reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequest {
    /// Its number.
    pub number: u64,
    /// Its page.
    pub url: String,
    /// Open, closed or merged.
    pub state: PullState,
    /// Title.
    pub title: String,
    /// Body; contains our marker when it is ours.
    pub body: String,
    /// The head commit that the forge knows.
    pub head: String,
    /// The branch that it is to be merged into.
    pub base: String,
    /// When it was closed or merged.
    pub closed_at: Option<Timestamp>,
    /// The labels that it has.
    pub labels: Vec<String>,
    /// Whether it is a draft.
    pub draft: bool,
}

/// Whether a pull request waits, was refused, or was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PullState {
    /// Open.
    Open,
    /// Closed without merging.
    Closed,
    /// Merged.
    Merged,
}

/// Who closed a pull request, as far as the forge tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closer {
    /// A person: a no.
    Person(String),
    /// Another bot: not a no.
    Bot(String),
    /// The forge, because the base branch was renamed or deleted: not a no.
    BaseGone,
    /// Not told: treated as a person, since asking again would be louder than waiting.
    Unknown,
}

/// A pull request to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPull {
    /// Title.
    pub title: String,
    /// Body with its marker.
    pub body: String,
    /// Our branch.
    pub head: String,
    /// The branch to be merged into.
    pub base: String,
    /// Whether to open it as a draft.
    pub draft: bool,
}

/// What to change on a pull request; `None` leaves as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullPatch {
    /// New title.
    pub title: Option<String>,
    /// New body.
    pub body: Option<String>,
    /// Close or reopen.
    pub state: Option<PullState>,
}

/// Labels and people to be asked, from the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// Labels.
    pub labels: Vec<String>,
    /// Users, or teams as `org/team`.
    pub reviewers: Vec<String>,
    /// Users.
    pub assignees: Vec<String>,
}

/// A commit status under `uplinker/verify`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Whether nothing blocks.
    pub success: bool,
    /// One line, at most 140 characters.
    pub description: String,
}

/// A commit that was made here, and that the forge may make again and sign.
#[derive(Clone, Copy, Debug)]
pub struct Unsigned<'a> {
    /// The tree that it changes.
    pub base: TreeId,
    /// How.
    pub changes: &'a ChangeSet,
    /// The commit.
    pub commit: &'a CommitInfo,
}

/// Where a repository's owner lets GitHub Actions open pull requests.
pub const ALLOW_ACTIONS: &str = "turn on Settings > Actions > General > \"Allow GitHub Actions to create and approve \
                                 pull requests\", or use another token";

/// Where pull requests live.
pub trait Forge {
    /// Returns what the forge takes of a text, what in it would do something there, and what it calls things.
    fn dialect(&self) -> &'static Dialect {
        &Dialect::COMMON
    }
    /// Looks at what a run will want, without writing; a forge that can tell nothing has nothing to say.
    fn preflight(&self, _needed: &Needed) -> Vec<(Subject, Seen)> {
        Vec::new()
    }
    /// Returns where issues live; `None` for a forge without them.
    fn issues(&self) -> Option<&dyn issues::Issues> {
        None
    }
    /// Lists the pull requests whose head is exactly this branch of this repository, newest first, all states.
    fn pulls(&self, branch: &str) -> Result<Vec<PullRequest>, ForgeError>;
    /// Lists what is open of many branches in one request; `None` where that takes more, and for a forge that has no
    /// such request.
    fn open_pulls(&self, _branches: &[String]) -> Result<Option<OpenPulls>, ForgeError> {
        Ok(None)
    }
    /// Lists what was touched last of many branches in one request, in whatever state; `None` for a forge that has no such
    /// request.
    fn recent_pulls(&self, _branches: &[String]) -> Result<Option<Recent>, ForgeError> {
        Ok(None)
    }
    /// Reads one pull request again.
    fn pull(&self, number: u64) -> Result<PullRequest, ForgeError>;
    /// Tells who closed a pull request.
    fn closer(&self, number: u64) -> Result<Closer, ForgeError>;
    /// Tells from the branches of the remote whether a pull request is in a merge queue.
    fn is_queued(&self, _pull: &PullRequest, _refs: &Refs) -> bool {
        false
    }
    /// Opens a pull request. A 502 may hide a success: the caller lists before it tries again.
    fn open(&self, pull: &NewPull) -> Result<PullRequest, ForgeError>;
    /// Changes a pull request.
    fn update(&self, number: u64, patch: &PullPatch) -> Result<(), ForgeError>;
    /// Adds labels and people; returns one line for each that was refused.
    fn add_labels_and_reviewers(
        &self,
        pull: &PullRequest,
        extras: &Extras,
    ) -> Result<Vec<String>, ForgeError>;
    /// Takes a label off again; fine where it is not there. A forge without labels has nothing to do.
    fn unlabel(&self, _number: u64, _label: &str) -> Result<(), ForgeError> {
        Ok(())
    }
    /// Sets `uplinker/verify` on a commit, with the page that tells more.
    fn status(&self, commit: CommitId, status: &Status, page: Option<&str>) -> Result<(), ForgeError>;
    /// Returns the status checks of commits of the base branch, but for our own; `None` for a forge that has none.
    fn status_checks(&self, _commits: &[CommitId]) -> Result<Option<Vec<StatusCheck>>, ForgeError> {
        Ok(None)
    }
    /// Tells since when `uplinker/verify` has said success of a commit, by the forge's clock; `None` where it has not.
    fn verified_at(&self, _commit: CommitId) -> Result<Option<Timestamp>, ForgeError> {
        Ok(None)
    }
    /// Merges a pull request with this head and no other.
    fn merge(&self, number: u64, _head: CommitId) -> Result<(), ForgeError> {
        let what = format!("cannot merge {}", self.dialect().reference(number));
        Err(ForgeError::Rejected { what, reason: "this forge merges nothing".to_owned() })
    }
    /// Tells whether the forge is to sign commits; the reason where it is not.
    fn signs(&self) -> Result<(), &'static str> {
        Err("it signs none by its API")
    }
    /// Returns how the forge is made to sign commits, where it can.
    fn signing_hint(&self) -> Option<&'static str> {
        None
    }
    /// Makes a commit anew and signs it, moving no branch; `None` where it does not sign it.
    fn sign(&self, _unsigned: &Unsigned<'_>) -> Result<Option<SignedCommit>, ForgeError> {
        Ok(None)
    }
    /// Returns the identity to commit as; `None` where the forge has none.
    fn identity(&self) -> Result<Option<crate::repo::Signature>, ForgeError>;
    /// Returns what a person should know of a pull request that was just opened, one line each.
    fn remarks(&self, _opened: &PullRequest) -> Vec<String> {
        Vec::new()
    }
    /// Returns the page where a person can open the pull request by hand.
    fn compare_url(&self, base: &str, branch: &str) -> Option<String>;
    /// Lays the changes beside a pull request as a patch, which is made only where it is asked for; a forge that shows
    /// the branch itself has nothing to do.
    fn attach(&self, _number: u64, _patch: MakePatch<'_>) -> Result<(), ForgeError> {
        Ok(())
    }
    /// Tells whether what was laid beside a pull request is there, and is what was laid there.
    fn is_attached(&self, _number: u64) -> Result<bool, ForgeError> {
        Ok(true)
    }
}

/// The open pull requests by branch.
pub type OpenPulls = BTreeMap<String, Vec<PullRequest>>;

/// The pull requests that were touched last.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    /// By branch, newest first.
    pub pulls: BTreeMap<String, Vec<PullRequest>>,
    /// Since when every touch is among them; `None` where there are no others.
    pub since: Option<Timestamp>,
}

/// Makes the patch of a pull request's changes.
pub type MakePatch<'a> = &'a dyn Fn() -> Result<String, ForgeError>;

/// What a token or its user is given, in the forge's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// A permission, such as `pull-requests: write`.
    Permission(String),
    /// A scope, such as `api`.
    Scope(String),
    /// A role, such as Developer.
    Role(&'static str),
    /// One of the two: the forge does not tell which.
    ScopeOrRole(&'static str, &'static str),
}

/// What can go wrong between us and a forge.
#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    /// The token is missing, wrong or expired.
    #[error("{host}: the token was refused: {reason}")]
    Auth {
        /// The host.
        host: String,
        /// The forge's words.
        reason: String,
    },
    /// The token may not do this.
    #[error("{host}: the token lacks {grant}")]
    Permission {
        /// The host.
        host: String,
        /// What it lacks.
        grant: Grant,
    },
    /// The token is good, and a setting of the host's owner keeps it out.
    #[error("{host}: {barrier}")]
    Barred {
        /// The host.
        host: String,
        /// The setting.
        barrier: Barrier,
    },
    /// The token is good, and the forge refuses the request for a reason that only its words tell.
    #[error("{host}: {what}: {reason}")]
    Forbidden {
        /// The host.
        host: String,
        /// What was asked.
        what: String,
        /// The forge's words.
        reason: String,
    },
    /// The repository's or organisation's setting forbids Actions to open pull requests: its owner's.
    #[error(
        "GitHub Actions is not permitted to open pull requests in this repository; turn on \"Allow GitHub Actions to \
         create and approve pull requests\" in its settings under Actions, General{}",
        .compare.as_ref().map(|page| format!(", or open it by hand: {page}")).unwrap_or_default()
    )]
    PullsForbidden {
        /// Where a person can open it.
        compare: Option<String>,
    },
    /// The repository has another name now.
    #[error("{from} was renamed or moved{}", .to.as_ref().map(|name| format!(" to {name}")).unwrap_or_default())]
    Renamed {
        /// The name that was asked for.
        from: String,
        /// The name that it has, where the forge tells.
        to: Option<String>,
    },
    /// No such repository, or the token may not see it.
    #[error("{0}: not found, or the token may not see it")]
    NotFound(String),
    /// The repository's setting: its owner's.
    #[error("{repository}: {request}s are turned off in this repository")]
    PullsOff {
        /// The repository.
        repository: String,
        /// What the forge calls a pull request.
        request: &'static str,
    },
    /// The repository is archived.
    #[error("{0}: the repository is archived, so it is read-only")]
    Archived(String),
    /// The forge did not accept a request; its words.
    #[error("{what}: {reason}")]
    Rejected {
        /// What was asked.
        what: String,
        /// The forge's words.
        reason: String,
    },
    /// A rate limit; when it ends.
    #[error("{host}: rate limit reached{}", .until.map(|t| format!(", until {t}")).unwrap_or_default())]
    RateLimited {
        /// The host.
        host: String,
        /// When to come back.
        until: Option<Timestamp>,
    },
    /// The network, a 5xx or a time limit, after all tries.
    #[error("{host}: {reason}")]
    Temporary {
        /// The host.
        host: String,
        /// What happened.
        reason: String,
    },
    /// The `directory:` forge's own files.
    #[error("{path}: {reason}")]
    Directory {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
}

// === impl Grant ===

impl std::fmt::Display for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Permission(permission) => write!(f, "the permission `{permission}`"),
            Self::Scope(scope) => write!(f, "the scope `{scope}`"),
            Self::Role(role) => write!(f, "the role {role}"),
            Self::ScopeOrRole(scope, role) => write!(f, "the scope `{scope}` or the role {role}"),
        }
    }
}

// === impl Closer ===

impl Closer {
    /// The user who closed it, where the forge tells, and whether that is a bot.
    fn of(user: Option<(&str, bool)>) -> Self {
        match user {
            Some((login, true)) => Self::Bot(login.to_owned()),
            Some((login, false)) => Self::Person(login.to_owned()),
            None => Self::Unknown,
        }
    }

    /// Reads a forge's events from its JSON.
    #[cfg(test)]
    fn told<E: serde::de::DeserializeOwned>(json: &str, closer: fn(&[E]) -> Self) -> Self {
        closer(&serde_json::from_str::<Vec<E>>(json).expect("events"))
    }
}

// === impl ForgeError ===

impl ForgeError {
    /// Tells whether the forge heard the request and said no to it alone: what is not needed may go without it.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Permission { .. }
                | Self::Barred { .. }
                | Self::Forbidden { .. }
                | Self::NotFound(_)
                | Self::Rejected { .. }
        )
    }
}

//! Step 3, repo: a change set as a commit on our branch.
//!
//! In: a change set and the observed refs. Out: a commit, pushed by compare-and-swap. The types and the trait at
//! the edge are here; `git` is the adapter over git2. Commits are reproducible: same inputs, same object id.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::repo::{Barrier, ChangeSet, CommitId, RepoPath, Rule, Tree, TreeId};

/// What a remote advertises: one request, no object transferred.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refs {
    /// The branch that HEAD points to, without `refs/heads/`; `None` in an empty repository.
    pub default_branch: Option<String>,
    /// The branches, without `refs/heads/`.
    pub branches: BTreeMap<String, CommitId>,
}

/// A commit as fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    /// Its own id.
    pub id: CommitId,
    /// Its tree.
    pub tree: TreeId,
    /// Its parents.
    pub parents: Vec<CommitId>,
    /// Its whole message.
    pub message: String,
    /// When it was committed.
    pub time: Timestamp,
}

/// A commit to be made.
#[derive(Clone, Debug)]
pub struct NewCommit<'a> {
    /// The commit whose tree the changes are applied to.
    pub onto: CommitId,
    /// The parents, first ours.
    pub parents: Vec<CommitId>,
    /// The changes.
    pub changes: &'a ChangeSet,
    /// Subject, body and trailers but for `Uplinker-Tree`, which is added when the tree is known.
    pub message: String,
    /// Author and committer.
    pub author: Signature,
    /// Author and committer date: the later of the base commit's and the release's.
    pub date: Timestamp,
}

/// A commit that a forge made, and signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedCommit {
    /// Its id, in hexadecimal.
    pub id: String,
    /// What was signed: the commit but for its signature.
    pub payload: String,
    /// The signature.
    pub signature: String,
}

/// A name and an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
}

/// A move of one branch from the value that was observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefUpdate {
    /// The branch, without `refs/heads/`; always under the prefix.
    pub branch: String,
    /// What it was when it was observed; `None` when it was not there. This is the lease: a commit that does not
    /// descend from it replaces it (`branch.history: replace`), and any other value on the remote stops the push.
    pub old: Option<CommitId>,
    /// What it becomes; `None` deletes it.
    pub new: Option<CommitId>,
}

/// A Git remote, and the bare cache beside it.
pub trait Remote {
    /// Lists the remote's branches in one request.
    fn refs(&self) -> Result<Refs, GitError>;
    /// Makes commits available (depth 1 each); no request for those that are.
    fn fetch(&self, branches: &[(&str, CommitId)]) -> Result<(), GitError>;
    /// Reads a commit that was fetched or made.
    fn commit(&self, id: CommitId) -> Result<CommitInfo, GitError>;
    /// Opens the tree of a commit.
    fn tree(&self, id: CommitId) -> Result<Box<dyn Tree>, GitError>;
    /// Tells whether `ancestor` is reachable from `descendant`, deepening `branch` as far as needed. After a yes,
    /// `ancestor` can be read as well.
    fn is_ancestor(&self, ancestor: CommitId, branch: &str, descendant: CommitId) -> Result<bool, GitError>;
    /// Writes a commit into the cache; nothing leaves this machine.
    fn write(&self, commit: &NewCommit<'_>) -> Result<CommitId, GitError>;
    /// Takes a commit over that a forge made in place of one of ours; `None` where it differs from that in more than who made
    /// it and when, or does not have the id that the forge says.
    fn adopt(&self, _signed: &SignedCommit, _ours: CommitId) -> Result<Option<CommitId>, GitError> {
        Ok(None)
    }
    /// Moves a branch, only from the value that was observed. A branch that is where it was to go is a success: two
    /// runs make the same commit, and an answer can be lost after the write.
    fn push(&self, update: &RefUpdate) -> Result<(), GitError>;
}

/// Commits, one after another, with something in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// All of them, newest first; it came with the last one.
    pub commits: Vec<CommitId>,
    /// When it came.
    pub since: Timestamp,
    /// When the commit before it came, where there is one.
    pub older: Option<Timestamp>,
    /// The newest date of what it was made on: of that commit, and of what was merged with it.
    pub made_on: Option<Timestamp>,
    /// The commit before it; `None` where history begins, or is cut on the remote too.
    pub before: Option<CommitId>,
}

// === impl Stretch ===

impl Stretch {
    /// Returns a time at which it came, or that of what it was made on where that is later: of two clocks that disagree one
    /// is slow. What is dated ahead of now tells nothing.
    pub fn not_before_its_parents(&self, came: Timestamp, now: Timestamp) -> Timestamp {
        self.made_on.filter(|made_on| *made_on <= now).map_or(came, |made_on| made_on.max(came))
    }
}

/// What a whole run asks of a remote, beside what one pull request needs.
pub trait Upstream: Remote {
    /// Returns the address as it may be printed.
    fn url(&self) -> String;
    /// Sets the prefix that all branches written here must have (`branch.prefix`).
    fn write_under(&self, prefix: &str) -> Result<(), GitError>;
    /// Returns what changes do to a commit's tree, as `git apply` reads it.
    fn patch(&self, onto: CommitId, changes: &ChangeSet) -> Result<String, GitError>;
    /// Returns the commits of `branch`, whose tip was fetched, since `file` has held `text`; `None` where it does not now.
    fn landed(
        &self,
        branch: &str,
        tip: CommitId,
        file: &RepoPath,
        text: &str,
    ) -> Result<Option<Stretch>, GitError>;
    /// Returns the commits of `branch`, the last of them `last`, in which `files` have been as they are in that one;
    /// `None` where that commit is not to be had.
    fn stretch(&self, branch: &str, last: CommitId, files: &[RepoPath]) -> Result<Option<Stretch>, GitError>;
    /// Throws the cache away for a reader that met a broken object. `false` where nothing is gained by that: there
    /// is no cache, or it was thrown away before.
    fn forget(&self) -> bool {
        false
    }
}

/// What can go wrong between us and a Git remote.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The branch is not where it was observed: start over.
    #[error("branch `{branch}` moved while this run was working")]
    Moved {
        /// The branch.
        branch: String,
    },
    /// The remote refused the branch: a ruleset, a protected branch, a hook. Its words.
    #[error("the remote refused branch `{branch}`: {reason}")]
    Refused {
        /// The branch.
        branch: String,
        /// The remote's words, untrusted text.
        reason: String,
        /// The rules that they tell of.
        rules: Vec<Rule>,
    },
    /// The token is good, and a setting of the host's owner keeps it out.
    #[error("{url}: {barrier}")]
    Barred {
        /// The remote, without credentials.
        url: String,
        /// The setting.
        barrier: Barrier,
    },
    /// The token is wrong, expired, or may not do this.
    #[error("{url}: authentication failed: {reason}")]
    Auth {
        /// The remote, without credentials.
        url: String,
        /// What was refused.
        reason: String,
    },
    /// There is no such repository, or the token may not see it.
    #[error("{url}: no such repository, or the token may not see it")]
    NotFound {
        /// The remote, without credentials.
        url: String,
    },
    /// The network, the server or a time limit: trying again later may help.
    #[error("{url}: {reason}")]
    Temporary {
        /// The remote, without credentials.
        url: String,
        /// What happened.
        reason: String,
    },
    /// The address cannot be used as it was given; the operator fixes it.
    #[error("{url}: {reason}")]
    Address {
        /// The address, without credentials.
        url: String,
        /// What is wrong, and the hint.
        reason: String,
    },
    /// The repository is archived; its owner can unarchive it.
    #[error("{url}: the repository is archived, so it is read-only")]
    Archived {
        /// The remote, without credentials.
        url: String,
    },
    /// The repository has no commit yet.
    #[error("{url}: the repository is empty: it has no commit to read")]
    Empty {
        /// The repository.
        url: String,
    },
    /// The remote is a shallow clone: libgit2 neither reads one from a server nor writes to one. Its owner fetches the rest.
    #[error("{url}: it is a shallow clone, whose history is cut")]
    Shallow {
        /// The remote, without credentials.
        url: String,
    },
    /// Anything else: the local repository, the disk, a defect.
    #[error("git: {0}")]
    Other(String),
}

// === impl Signature ===

impl Signature {
    /// A user as an author. A profile may have what a commit's author may not.
    pub fn of_profile(name: &str, login: &str, email: &str) -> Self {
        let fits = |c: &char| !c.is_control() && !matches!(c, '<' | '>');
        let name: String = name.chars().filter(fits).collect();
        let named = name.contains(char::is_alphanumeric);
        let name = if named { name.trim() } else { login };
        let email = email.chars().filter(fits).filter(|c| !c.is_whitespace()).collect();
        Self { name: name.to_owned(), email }
    }
}

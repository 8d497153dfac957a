//! Step 10, propose: merging on GitHub.
//!
//! In: a pull request and the head that was looked at. Out: it is merged, or why not. GitHub refuses another head, and what its
//! own rules do not allow yet. Its auto-merge is never asked for: it would stay on when the head or the labels change.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::GitHub;
use crate::{
    propose::forge::{
        ForgeError, STATUS,
        rest::{Method, success_since},
    },
    repo::CommitId,
};

/// A commit status, in a list with the newest first.
#[derive(Debug, Deserialize)]
struct Said {
    context: String,
    state: String,
    created_at: Timestamp,
}

/// A pull request, as far as its merging is asked.
#[derive(Debug, Deserialize)]
struct Mergeable {
    base: Base,
}

#[derive(Debug, Deserialize)]
struct Base {
    repo: Settings,
}

/// The settings of a repository; a token that may not see one is not told.
#[derive(Debug, Deserialize)]
struct Settings {
    allow_merge_commit: Option<bool>,
    allow_squash_merge: Option<bool>,
}

// === impl Settings ===

impl Settings {
    /// The first that is allowed of what GitHub's own button offers first.
    fn method(&self) -> &'static str {
        match (self.allow_merge_commit, self.allow_squash_merge) {
            (None | Some(true), _) => "merge",
            (Some(false), None | Some(true)) => "squash",
            (Some(false), Some(false)) => "rebase",
        }
    }
}

// === impl GitHub ===

impl GitHub<'_> {
    /// Reads since when our status of a commit has been a success: a commit's own time is that of its release.
    pub(super) fn read_verified_at(&self, id: CommitId) -> Result<Option<Timestamp>, ForgeError> {
        let asked = self.asked("cannot read the status of the commit", "statuses: read");
        let said: Vec<Said> = self.list(&self.repo(&format!("/commits/{id}/statuses")), &asked)?;
        let ours = said.iter().filter(|said| said.context == STATUS);
        Ok(success_since(ours.map(|said| (said.state.as_str(), said.created_at))))
    }

    /// Merges a pull request. Sent once: whether a lost answer was a success, the next run sees.
    pub(super) fn merge_pull(&self, number: u64, head: CommitId) -> Result<(), ForgeError> {
        let asked = self.asked("cannot merge the pull request", "contents: write, pull-requests: write");
        let path = self.repo(&format!("/pulls/{number}"));
        let pull: Mergeable = self.get(&path, &asked)?.json(&asked)?;
        let body = json!({"sha": head.to_string(), "merge_method": pull.base.repo.method()});
        self.rest.once(Method::Put(&body), &format!("{path}/merge"), &asked)?;
        Ok(())
    }
}

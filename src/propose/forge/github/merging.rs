//! Step 10, propose: merging on GitHub.
//!
//! In: a pull request and the head that was looked at. Out: whether it is merged. GitHub refuses another head, and what its
//! own rules do not allow yet; where the repository has auto-merge, it is asked to merge once they do.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CONTEXT, GitHub, Method};
use crate::{
    propose::forge::{ForgeError, Merged},
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
    node_id: String,
    /// What was asked for already.
    #[serde(default)]
    auto_merge: Option<Value>,
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
    allow_auto_merge: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Asked {
    errors: Vec<Problem>,
}

#[derive(Debug, Deserialize)]
struct Problem {
    message: String,
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
        let ours = said.iter().filter(|said| said.context == CONTEXT);
        Ok(ours.take_while(|said| said.state == "success").last().map(|said| said.created_at))
    }

    /// Merges a pull request. Sent once: whether a lost answer was a success, the next run sees.
    pub(super) fn merge_pull(&self, number: u64, head: CommitId) -> Result<Merged, ForgeError> {
        let asked = self.asked("cannot merge the pull request", "contents: write, pull-requests: write");
        let path = self.repo(&format!("/pulls/{number}"));
        let pull: Mergeable = self.get(&path, &asked)?.json(&asked)?;
        if pull.auto_merge.is_some() {
            return Ok(Merged::Later);
        }
        let settings = pull.base.repo;
        let method = settings.method();
        let body = json!({"sha": head.to_string(), "merge_method": method});
        let merged = self.accept(self.send(&Method::Put(&body), &format!("{path}/merge"), &asked)?, &asked);
        match merged {
            Ok(_) => Ok(Merged::Now),
            Err(refused) if refused.error.is_refusal() && settings.allow_auto_merge == Some(true) => {
                self.merge_later(&pull.node_id, head, method, refused.error)
            }
            Err(refused) => Err(refused.error),
        }
    }

    /// Asks GitHub to merge once its rules are met; where it will not, the first refusal says more.
    fn merge_later(
        &self,
        pull: &str,
        head: CommitId,
        method: &str,
        refusal: ForgeError,
    ) -> Result<Merged, ForgeError> {
        let asked = self.asked("cannot ask for auto-merge", "contents: write, pull-requests: write");
        let query = "mutation($pull: ID!, $head: GitObjectID!, $method: PullRequestMergeMethod!) { \
                     enablePullRequestAutoMerge(input: {pullRequestId: $pull, expectedHeadOid: $head, mergeMethod: \
                     $method}) { clientMutationId } }";
        let variables = json!({"pull": pull, "head": head.to_string(), "method": method.to_uppercase()});
        let body = json!({"query": query, "variables": variables});
        let answer: Asked =
            self.accept(self.send(&Method::Ask(&body), "/graphql", &asked)?, &asked)?.json(&asked)?;
        match answer.errors.into_iter().next() {
            None => Ok(Merged::Later),
            Some(problem) => {
                tracing::debug!(problem.message, "auto-merge was refused");
                Err(refusal)
            }
        }
    }
}

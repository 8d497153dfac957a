//! Step 10, propose: the parts of GitLab's JSON that are read, and no more.
//!
//! In: JSON. Out: the types of this step. Pure.

use jiff::Timestamp;
use serde::Deserialize;

use super::DRAFTS;
use crate::{
    policy::{CheckState, StatusCheck},
    propose::forge::{Closer, PullRequest, PullState, rest::draft_prefix},
    repo::Signature,
};

/// A merge request.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct MergeRequest {
    iid: u64,
    web_url: String,
    state: String,
    pub(super) title: String,
    #[serde(default)]
    description: Option<String>,
    /// None until its changes are worked out.
    #[serde(default)]
    pub(super) sha: Option<String>,
    source_branch: String,
    target_branch: String,
    /// Gone where a fork was deleted.
    #[serde(default)]
    source_project_id: Option<u64>,
    target_project_id: u64,
    #[serde(default)]
    closed_at: Option<Timestamp>,
    #[serde(default)]
    merged_at: Option<Timestamp>,
    #[serde(default)]
    updated_at: Option<Timestamp>,
    #[serde(default)]
    pub(super) labels: Vec<String>,
    #[serde(default)]
    pub(super) reviewers: Vec<User>,
    #[serde(default)]
    pub(super) assignees: Vec<User>,
    #[serde(default)]
    pub(super) detailed_merge_status: String,
}

/// A project.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Project {
    pub(super) path_with_namespace: String,
    #[serde(default)]
    pub(super) archived: bool,
    /// `disabled`, `private` or `enabled`.
    #[serde(default)]
    merge_requests_access_level: Option<String>,
    #[serde(default)]
    permissions: Option<Permissions>,
}

/// What the token's user may do in a project, by the project itself and by its groups.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Permissions {
    #[serde(default)]
    project_access: Option<Access>,
    #[serde(default)]
    group_access: Option<Access>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Access {
    access_level: u32,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Label {
    pub(super) name: String,
}

/// A user.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct User {
    pub(super) id: u64,
    pub(super) username: String,
    #[serde(default)]
    name: String,
    /// The addresses, which are told of the token's own user alone; the first is for commits.
    #[serde(default)]
    commit_email: Option<String>,
    #[serde(default)]
    email: Option<String>,
}

/// A change of a merge request's state.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct StateEvent {
    state: String,
    #[serde(default)]
    user: Option<User>,
}

/// What is said of a commit: an external status, or a job.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Status {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) status: String,
    #[serde(default)]
    allow_failure: bool,
    pub(super) created_at: Timestamp,
    #[serde(default)]
    finished_at: Option<Timestamp>,
}

/// A pipeline.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Pipeline {
    status: String,
    #[serde(default)]
    pub(super) source: Option<String>,
    created_at: Timestamp,
    #[serde(default)]
    updated_at: Option<Timestamp>,
}

/// The token itself.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Token {
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    #[serde(default)]
    pub(super) expires_at: Option<jiff::civil::Date>,
}

/// A protected branch, or a pattern of them.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Protected {
    pub(super) name: String,
    #[serde(default)]
    pub(super) allow_force_push: bool,
    #[serde(default)]
    push_access_levels: Vec<Push>,
}

/// Who may push: from a role on, or one user, group or key.
#[derive(Clone, Debug, Deserialize)]
struct Push {
    #[serde(default)]
    access_level: Option<u32>,
}

/// The project's push rules.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct PushRules {
    #[serde(default)]
    pub(super) reject_unsigned_commits: Option<bool>,
    #[serde(default)]
    branch_name_regex: Option<String>,
    #[serde(default)]
    commit_message_regex: Option<String>,
    #[serde(default)]
    commit_message_negative_regex: Option<String>,
    #[serde(default)]
    author_email_regex: Option<String>,
}

/// The role from which on a token can write, as a number.
pub(super) const DEVELOPER: u32 = 30;

// === impl MergeRequest ===

impl MergeRequest {
    /// Tells whether its head is this branch of the project itself, not of a fork.
    pub(super) fn is_from(&self, branch: &str) -> bool {
        self.source_branch == branch && self.source_project_id == Some(self.target_project_id)
    }

    /// Returns when it was last touched.
    pub(super) fn touched(&self) -> Option<Timestamp> {
        self.updated_at
    }
}

impl From<MergeRequest> for PullRequest {
    fn from(one: MergeRequest) -> Self {
        let state = match one.state.as_str() {
            "merged" => PullState::Merged,
            "closed" => PullState::Closed,
            // `locked` is one that is being merged.
            _ => PullState::Open,
        };
        let prefix = draft_prefix(&one.title, &DRAFTS).len();
        Self {
            number: one.iid,
            url: one.web_url,
            state,
            title: one.title.get(prefix..).unwrap_or_default().to_owned(),
            body: one.description.unwrap_or_default(),
            head: one.sha.unwrap_or_default(),
            base: one.target_branch,
            closed_at: one.merged_at.or(one.closed_at),
            labels: one.labels,
            draft: prefix > 0,
        }
    }
}

// === impl Project ===

impl Project {
    /// Tells whether merge requests are turned off.
    pub(super) fn has_no_merge_requests(&self) -> bool {
        self.merge_requests_access_level.as_deref() == Some("disabled")
    }

    /// The role of the token's user; none where GitLab does not tell, as of an administrator.
    pub(super) fn role(&self) -> Option<u32> {
        let Permissions { project_access, group_access } = self.permissions?;
        [project_access, group_access].into_iter().flatten().map(|access| access.access_level).max()
    }
}

// === impl Protected ===

impl Protected {
    /// Tells whether it covers a branch; a star stands for anything.
    pub(super) fn covers(&self, branch: &str) -> bool {
        let parts: Vec<String> = self.name.split('*').map(globset::escape).collect();
        globset::Glob::new(&parts.join("*")).is_ok_and(|glob| glob.compile_matcher().is_match(branch))
    }

    /// Tells whether somebody of a role may push; a rule that names people may name the token's user.
    pub(super) fn lets_push(&self, role: u32) -> bool {
        let lets = |push: &Push| push.access_level.is_none_or(|least| least > 0 && role >= least);
        self.push_access_levels.iter().any(lets)
    }
}

// === impl PushRules ===

impl PushRules {
    /// Tells whether names, messages or addresses have to match something.
    pub(super) fn has_patterns(&self) -> bool {
        let patterns = [
            &self.branch_name_regex,
            &self.commit_message_regex,
            &self.commit_message_negative_regex,
            &self.author_email_regex,
        ];
        patterns.into_iter().flatten().any(|pattern| !pattern.is_empty())
    }
}

// === impl User ===

impl User {
    /// The identity to commit as.
    pub(super) fn signature(self, host: &str) -> Signature {
        let hidden = format!("{}-{}@users.noreply.{host}", self.id, self.username);
        let told = [self.commit_email, self.email].into_iter().flatten().find(|email| email.contains('@'));
        Signature::of_profile(&self.name, &self.username, &told.unwrap_or(hidden))
    }

    /// Tells whether it is the user of a project's or a group's token, or a service account.
    fn is_bot(&self) -> bool {
        let of_token = |start: &str| self.username.starts_with(start) && self.username.contains("_bot");
        of_token("project_")
            || of_token("group_")
            || self.username.starts_with("service_account_")
            || self.username.ends_with("[bot]")
    }
}

// === impl Status, Pipeline ===

impl Status {
    pub(super) fn check(self) -> StatusCheck {
        let Self { name, status, allow_failure, created_at, finished_at, .. } = self;
        let state = match status.as_str() {
            FAILED if allow_failure => CheckState::Success,
            status => state(status),
        };
        StatusCheck { name, state, at: finished_at.unwrap_or(created_at) }
    }
}

impl Pipeline {
    pub(super) fn check(self, name: &str) -> StatusCheck {
        let at = self.updated_at.unwrap_or(self.created_at);
        StatusCheck { name: name.to_owned(), state: state(&self.status), at }
    }
}

const FAILED: &str = "failed";

/// What a state of GitLab's means; `created`, `manual`, `scheduled` and the like may still become anything.
fn state(status: &str) -> CheckState {
    match status {
        "success" | "skipped" => CheckState::Success,
        FAILED | "canceled" => CheckState::Failure,
        _ => CheckState::Pending,
    }
}

/// Who closed it the last time.
pub(super) fn closer(events: &[StateEvent]) -> Closer {
    let last = events.last().filter(|event| event.state == "closed");
    let user = last.and_then(|event| event.user.as_ref());
    Closer::of(user.map(|user| (user.username.as_str(), user.is_bot())))
}

#[cfg(test)]
mod tests;

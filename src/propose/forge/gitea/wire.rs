//! Step 10, propose: the parts of Gitea's JSON that are read, and no more.
//!
//! In: JSON. Out: the types of this step. The source is Gitea's `modules/structs`; Forgejo answers alike. Pure.

use jiff::Timestamp;
use serde::Deserialize;

use super::DRAFTS;
use crate::{
    policy::{CheckState, StatusCheck},
    propose::forge::{Closer, PullRequest, PullState, rest::draft_prefix},
};

/// A pull request.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Pull {
    number: u64,
    html_url: String,
    state: String,
    pub(super) title: String,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    merged: bool,
    #[serde(default)]
    closed_at: Option<Timestamp>,
    #[serde(default)]
    merged_at: Option<Timestamp>,
    #[serde(default)]
    updated_at: Option<Timestamp>,
    head: Side,
    pub(super) base: Side,
    #[serde(default)]
    labels: Option<Vec<Label>>,
    #[serde(default)]
    assignees: Option<Vec<User>>,
}

/// Head or base.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Side {
    /// The branch, whatever became of it; `ref` is another one where the branch is gone.
    #[serde(default)]
    label: String,
    #[serde(default)]
    sha: String,
    /// Below zero where the fork was deleted.
    repo_id: i64,
    #[serde(default)]
    pub(super) repo: Option<Repo>,
}

/// A repository.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Repo {
    pub(super) full_name: String,
    #[serde(default)]
    pub(super) archived: bool,
    /// The address to clone from.
    #[serde(default)]
    pub(super) clone_url: String,
    #[serde(default)]
    pub(super) has_pull_requests: Option<bool>,
    /// Whether nothing was pushed yet, as far as Gitea has looked.
    #[serde(default)]
    pub(super) empty: bool,
    #[serde(default)]
    pub(super) permissions: Option<Permissions>,
    #[serde(default)]
    allow_merge_commits: bool,
    #[serde(default)]
    allow_squash_merge: bool,
    #[serde(default)]
    allow_rebase: bool,
    #[serde(default)]
    default_merge_style: String,
}

/// What the token's user may do in a repository.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Permissions {
    pub(super) push: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Label {
    pub(super) id: u64,
    pub(super) name: String,
}

/// A user.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct User {
    pub(super) login: String,
    #[serde(default)]
    pub(super) full_name: String,
    #[serde(default)]
    pub(super) email: String,
}

/// The settings of the token's user, for the one that tells whether the address is to be hidden.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Settings {
    #[serde(default)]
    pub(super) hide_email: bool,
}

/// Something that happened to a pull request.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    user: Option<User>,
}

/// What is said of a commit.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Status {
    pub(super) id: u64,
    pub(super) context: String,
    pub(super) status: String,
    pub(super) created_at: Timestamp,
}

// === impl Pull ===

impl Pull {
    /// Tells whether its head is this branch of the repository itself, not of a fork.
    pub(super) fn is_from(&self, branch: &str) -> bool {
        self.head.label == branch && self.head.repo_id == self.base.repo_id
    }

    /// Returns when it was last touched.
    pub(super) fn touched(&self) -> Option<Timestamp> {
        self.updated_at
    }

    /// Who is assigned.
    pub(super) fn assigned(&self) -> Vec<String> {
        self.assignees.iter().flatten().map(|user| user.login.clone()).collect()
    }
}

impl From<Pull> for PullRequest {
    fn from(pull: Pull) -> Self {
        let state = match (pull.merged, pull.state.as_str()) {
            (true, _) => PullState::Merged,
            (false, "open") => PullState::Open,
            (false, _) => PullState::Closed,
        };
        let prefix = draft_prefix(&pull.title, &DRAFTS).len();
        Self {
            number: pull.number,
            state,
            title: pull.title.get(prefix..).unwrap_or_default().to_owned(),
            body: pull.body.unwrap_or_default(),
            head: pull.head.sha,
            base: pull.base.label,
            closed_at: pull.merged_at.or(pull.closed_at),
            labels: pull.labels.into_iter().flatten().map(|l| l.name).collect(),
            draft: prefix > 0,
            url: pull.html_url,
        }
    }
}

// === impl Repo ===

impl Repo {
    /// The way that its own button offers first, where that merges.
    pub(super) fn method(&self) -> &str {
        match self.default_merge_style.as_str() {
            style @ ("merge" | "squash" | "rebase" | "rebase-merge" | "fast-forward-only") => style,
            _ if self.allow_merge_commits => "merge",
            _ if self.allow_squash_merge => "squash",
            _ if self.allow_rebase => "rebase",
            _ => "merge",
        }
    }
}

// === impl Status ===

impl Status {
    /// The newest of each context.
    pub(super) fn newest(mut all: Vec<Self>) -> Vec<Self> {
        // Several may be of the same second.
        all.sort_by_key(|status| std::cmp::Reverse(status.id));
        let mut newest: Vec<Self> = Vec::new();
        for status in all {
            if !newest.iter().any(|known| known.context == status.context) {
                newest.push(status);
            }
        }
        newest
    }

    pub(super) fn check(self) -> StatusCheck {
        // As Gitea itself sums them up.
        let state = match self.status.as_str() {
            "success" | "warning" | "skipped" => CheckState::Success,
            "failure" | "error" => CheckState::Failure,
            _ => CheckState::Pending,
        };
        StatusCheck { name: self.context, state, at: self.created_at }
    }
}

/// Who closed it the last time. Gitea tells nothing of a user but the name.
pub(super) fn closer(events: &[Event]) -> Closer {
    let last = events.iter().rev().find(|e| matches!(e.kind.as_str(), "close" | "reopen" | "merge_pull"));
    let login = last.filter(|e| e.kind == "close").and_then(|e| e.user.as_ref()).map(|u| u.login.as_str());
    Closer::of(login.map(|login| (login, login.ends_with("[bot]") || BOTS.contains(&login))))
}

/// The users behind the tokens of workflows.
const BOTS: [&str; 2] = ["gitea-actions", "forgejo-actions"];

#[cfg(test)]
mod tests {
    use super::*;

    fn events(json: &str) -> Closer {
        Closer::told(json, closer)
    }

    #[test]
    fn the_last_close_counts() {
        let close = |who: &str| format!(r#"{{"type":"close","user":{{"login":"{who}"}}}}"#);
        let all = |list: &[String]| events(&format!("[{}]", list.join(",")));
        let reopened = r#"{"type":"reopen","user":{"login":"ada"}}"#.to_owned();
        assert_eq!(
            all(&[close("gitea-actions"), reopened.clone(), close("ada")]),
            Closer::Person("ada".into())
        );
        assert_eq!(all(&[close("ada"), r#"{"type":"delete_branch"}"#.into()]), Closer::Person("ada".into()));
        assert_eq!(all(&[close("renovate[bot]")]), Closer::Bot("renovate[bot]".into()));
        assert_eq!(all(&[close("ada"), reopened]), Closer::Unknown);
        assert_eq!(all(&[r#"{"type":"close","user":null}"#.into()]), Closer::Unknown);
        assert_eq!(all(&[]), Closer::Unknown);
    }

    #[test]
    fn a_draft_is_told_by_its_title_and_its_title_is_ours() {
        let pull = |title: &str| -> PullRequest {
            let side = r#"{"label":"x","sha":"1","repo_id":1}"#;
            let json = format!(
                r#"{{"number":1,"html_url":"h","state":"open","title":"{title}","head":{side},"base":{side}}}"#
            );
            serde_json::from_str::<Pull>(&json).expect("a pull request").into()
        };
        for (title, plain, draft) in [
            ("WIP: Linkerd", "Linkerd", true),
            ("wip:Linkerd", "Linkerd", true),
            ("[WIP] Linkerd", "Linkerd", true),
            ("Linkerd WIP: x", "Linkerd WIP: x", false),
            ("WI", "WI", false),
        ] {
            let pull = pull(title);
            assert_eq!((pull.title.as_str(), pull.draft), (plain, draft), "{title}");
        }
    }
}

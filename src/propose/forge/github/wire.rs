//! Step 10, propose: the parts of GitHub's JSON that are read, and no more.
//!
//! In: JSON. Out: the types of this step. Pure.

use jiff::Timestamp;
use serde::Deserialize;

use crate::{
    propose::forge::{Closer, PullRequest, PullState},
    repo::Signature,
};

/// A pull request.
#[derive(Debug, Deserialize)]
pub(super) struct Pull {
    number: u64,
    html_url: String,
    state: String,
    title: String,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    draft: Option<bool>,
    #[serde(default)]
    closed_at: Option<Timestamp>,
    #[serde(default)]
    merged_at: Option<Timestamp>,
    #[serde(default)]
    updated_at: Option<Timestamp>,
    head: Side,
    base: Side,
    #[serde(default)]
    labels: Vec<Label>,
    #[serde(default)]
    user: Option<User>,
}

/// Head or base.
#[derive(Debug, Deserialize)]
struct Side {
    #[serde(rename = "ref")]
    branch: String,
    sha: String,
    /// Gone where a fork was deleted.
    #[serde(default)]
    repo: Option<Repo>,
}

/// A repository.
#[derive(Debug, Deserialize)]
pub(super) struct Repo {
    pub(super) full_name: String,
    #[serde(default)]
    pub(super) archived: bool,
    /// The address to clone from, where GitHub says it.
    #[serde(default)]
    pub(super) clone_url: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Label {
    pub(super) name: String,
}

/// An issue, which a pull request is too.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Issue {
    #[serde(default)]
    pub(super) assignees: Vec<User>,
}

/// A user.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct User {
    pub(super) login: String,
    #[serde(default)]
    id: u64,
    #[serde(default)]
    name: Option<String>,
    #[serde(default, rename = "type")]
    kind: Option<String>,
}

/// Something that happened to a pull request.
#[derive(Debug, Deserialize)]
pub(super) struct Event {
    event: String,
    #[serde(default)]
    actor: Option<User>,
}

// === impl Pull ===

impl Pull {
    /// Tells whether its head is this branch of the repository itself, not of a fork.
    pub(super) fn is_from(&self, branch: &str) -> bool {
        let name = |side: &Side| side.repo.as_ref().map(|r| r.full_name.to_ascii_lowercase());
        // Compared with the base, not with our address: a renamed repository answers under its new name.
        self.head.branch == branch && name(&self.head).is_some() && name(&self.head) == name(&self.base)
    }

    /// Returns when it was last touched.
    pub(super) fn touched(&self) -> Option<Timestamp> {
        self.updated_at
    }

    /// Tells whether this login opened it.
    pub(super) fn is_by(&self, login: &str) -> bool {
        self.user.as_ref().is_some_and(|u| u.login == login)
    }
}

impl From<Pull> for PullRequest {
    fn from(pull: Pull) -> Self {
        let state = match (pull.merged_at, pull.state.as_str()) {
            (Some(_), _) => PullState::Merged,
            (None, "open") => PullState::Open,
            (None, _) => PullState::Closed,
        };
        Self {
            number: pull.number,
            url: pull.html_url,
            state,
            title: pull.title,
            body: pull.body.unwrap_or_default(),
            head: pull.head.sha,
            base: pull.base.branch,
            closed_at: pull.merged_at.or(pull.closed_at),
            labels: pull.labels.into_iter().map(|l| l.name).collect(),
            draft: pull.draft.unwrap_or_default(),
        }
    }
}

// === impl User ===

impl User {
    /// A user of whom only this is known.
    pub(super) fn named(login: String, id: u64) -> Self {
        Self { login, id, name: None, kind: None }
    }

    /// The identity to commit as, with the address that GitHub links to the user.
    pub(super) fn signature(self, noreply: &str) -> Signature {
        let email = format!("{}+{}@{noreply}", self.id, self.login);
        Signature::of_profile(&self.name.unwrap_or_default(), &self.login, &email)
    }

    fn is_bot(&self) -> bool {
        self.kind.as_deref() == Some("Bot") || self.login.ends_with("[bot]")
    }
}

/// Who closed it the last time.
pub(super) fn closer(events: &[Event]) -> Closer {
    let since = events.iter().rposition(|e| e.event == "reopened").map_or(0, |n| n + 1);
    let events = events.get(since..).unwrap_or_default();
    let base_gone =
        |e: &Event| matches!(e.event.as_str(), "base_ref_deleted" | "automatic_base_change_failed");
    if events.iter().any(base_gone) {
        return Closer::BaseGone;
    }
    let closed = events.iter().rev().find(|e| e.event == "closed");
    Closer::of(closed.and_then(|e| e.actor.as_ref()).map(|user| (user.login.as_str(), user.is_bot())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(json: &str) -> Closer {
        Closer::told(json, closer)
    }

    #[test]
    fn the_last_close_counts() {
        assert_eq!(
            events(
                r#"[{"event":"closed","actor":{"login":"dependabot[bot]","type":"Bot","id":1}},{"event":"reopened"},
                    {"event":"closed","actor":{"login":"ada","type":"User","id":2}}]"#
            ),
            Closer::Person("ada".into())
        );
        assert_eq!(
            events(r#"[{"event":"closed","actor":{"login":"stale","type":"Bot"}}]"#),
            Closer::Bot("stale".into())
        );
        assert_eq!(events(r#"[{"event":"closed","actor":null}]"#), Closer::Unknown);
        assert_eq!(events("[]"), Closer::Unknown);
    }

    #[test]
    fn any_profile_can_sign_a_commit() {
        for (profile, name) in [
            (r#""Ada Lovelace""#, "Ada Lovelace"),
            (r#"" Ada <3 Linkerd\nparent 0 ""#, "Ada 3 Linkerdparent 0"),
            (r#""<>.""#, "ada"),
            ("null", "ada"),
        ] {
            let user = format!(r#"{{"login":"ada","id":2,"name":{profile}}}"#);
            let signature = serde_json::from_str::<User>(&user).expect("a user").signature("noreply.example");
            assert_eq!((signature.name.as_str(), signature.email.as_str()), (name, "2+ada@noreply.example"));
            git2::Signature::now(&signature.name, &signature.email).expect("an author");
        }
    }

    #[test]
    fn a_base_that_went_is_nobodys_no() {
        let ada = r#"{"event":"closed","actor":{"login":"ada","type":"User"}}"#;
        assert_eq!(events(&format!(r#"[{{"event":"base_ref_deleted"}},{ada}]"#)), Closer::BaseGone);
        assert_eq!(
            events(&format!(r#"[{ada},{{"event":"automatic_base_change_failed"}}]"#)),
            Closer::BaseGone
        );
        assert_eq!(
            events(&format!(r#"[{{"event":"base_ref_deleted"}},{{"event":"reopened"}},{ada}]"#)),
            Closer::Person("ada".into())
        );
    }
}

//! Step 10, propose: issues on GitHub.
//!
//! In: the calls of [`Issues`]. Out: GitHub's answers. A pull request is an issue there too, and is left out.

use serde::Deserialize;
use serde_json::json;

use super::GitHub;
use crate::propose::forge::{
    ForgeError,
    issues::{Issue, Issues, LABEL},
    rest::Method,
};

/// What it takes.
const PERMISSION: &str = "issues: write";

/// An issue, or a pull request among them.
#[derive(Debug, Deserialize)]
struct Listed {
    number: u64,
    state: String,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    pull_request: Option<serde::de::IgnoredAny>,
}

// === impl GitHub ===

impl Issues for GitHub<'_> {
    fn labelled(&self) -> Result<Vec<Issue>, ForgeError> {
        let asked = self.asked("cannot list issues", "issues: read");
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("labels", LABEL)
            .append_pair("state", "all")
            .append_pair("sort", "created")
            .append_pair("direction", "asc")
            .finish();
        let all: Vec<Listed> = self.list(&format!("{}?{query}", self.repo("/issues")), &asked)?;
        Ok(all.into_iter().filter(|issue| issue.pull_request.is_none()).map(Issue::from).collect())
    }

    fn open_issue(&self, title: &str, body: &str) -> Result<Issue, ForgeError> {
        let asked = self.asked("cannot open an issue", PERMISSION);
        let new = json!({"title": title, "body": body, "labels": [LABEL]});
        let reply = self.put(Method::Post(&new), &self.repo("/issues"), &asked)?;
        Ok(reply.json::<Listed>(&asked)?.into())
    }

    fn update_issue(&self, issue: &Issue) -> Result<(), ForgeError> {
        let asked = self.asked("cannot change the issue", PERMISSION);
        let state = if issue.open { "open" } else { "closed" };
        let patch = json!({"body": issue.body, "state": state});
        self.put(Method::Patch(&patch), &self.repo(&format!("/issues/{}", issue.number)), &asked)?;
        Ok(())
    }
}

impl From<Listed> for Issue {
    fn from(listed: Listed) -> Self {
        let Listed { number, state, body, pull_request: _ } = listed;
        Self { number, open: state == "open", body: body.unwrap_or_default() }
    }
}

//! Step 10, propose: issues on GitLab.
//!
//! In: the calls of [`Issues`]. Out: GitLab's answers.

use serde::Deserialize;
use serde_json::json;

use super::{GitLab, encoded};
use crate::propose::forge::{
    ForgeError,
    issues::{Issue, Issues, LABEL},
    rest::{Method, fields},
};

#[derive(Debug, Deserialize)]
struct Listed {
    iid: u64,
    state: String,
    #[serde(default)]
    description: Option<String>,
}

// === impl GitLab ===

impl Issues for GitLab<'_> {
    fn labelled(&self) -> Result<Vec<Issue>, ForgeError> {
        let asked = self.asked("cannot list issues");
        let query = format!("labels={}&state=all&order_by=created_at&sort=asc", encoded(LABEL));
        let all: Vec<Listed> = self.list(&self.at(&format!("/issues?{query}")), &asked)?;
        Ok(all.into_iter().map(Issue::from).collect())
    }

    fn open_issue(&self, title: &str, body: &str) -> Result<Issue, ForgeError> {
        let asked = self.asked("cannot open an issue");
        let new = json!({"title": title, "description": body, "labels": [LABEL]});
        Ok(self.put(Method::Post(&new), &self.at("/issues"), &asked)?.json::<Listed>(&asked)?.into())
    }

    fn update_issue(&self, issue: &Issue) -> Result<(), ForgeError> {
        let asked = self.asked("cannot change the issue");
        let path = self.at(&format!("/issues/{}", issue.number));
        let event = if issue.open { "reopen" } else { "close" };
        let patch = fields([("description", Some(&issue.body)), ("state_event", Some(event))]);
        self.put(Method::Put(&patch), &path, &asked)?;
        Ok(())
    }
}

impl From<Listed> for Issue {
    fn from(listed: Listed) -> Self {
        let Listed { iid, state, description } = listed;
        Self { number: iid, open: state == "opened", body: description.unwrap_or_default() }
    }
}

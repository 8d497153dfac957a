//! Step 10, propose: issues on Gitea.
//!
//! In: the calls of [`Issues`]. Out: Gitea's answers. A label that the repository does not have narrows no list: then the
//! list is of every issue, and none of them is ours.

use percent_encoding::utf8_percent_encode;
use serde::Deserialize;
use serde_json::json;

use super::{Gitea, extras::same, wire};
use crate::propose::forge::{
    ForgeError,
    address::PATH,
    issues::{Issue, Issues, LABEL},
    rest::Method,
};

/// What it takes.
const SCOPE: &str = "write:issue";

#[derive(Debug, Deserialize)]
struct Listed {
    number: u64,
    state: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    labels: Vec<wire::Label>,
}

// === impl Gitea ===

impl Issues for Gitea<'_> {
    fn labelled(&self) -> Result<Vec<Issue>, ForgeError> {
        let asked = self.rest.asked("cannot list issues", "read:issue");
        let label = utf8_percent_encode(LABEL, PATH);
        let path = self.repo(&format!("/issues?type=issues&state=all&labels={label}"));
        let mut found: Vec<Listed> = Vec::new();
        let is_ours = |issue: &Listed| issue.labels.iter().any(|label| same(&label.name, LABEL));
        self.rest.each_page(&path, &asked, |page: Vec<Listed>| {
            let narrowed = page.iter().all(is_ours);
            found.extend(page.into_iter().filter(is_ours));
            narrowed
        })?;
        found.sort_by_key(|issue| issue.number);
        Ok(found.into_iter().map(Issue::from).collect())
    }

    fn open_issue(&self, title: &str, body: &str) -> Result<Issue, ForgeError> {
        let asked = self.rest.asked("cannot open an issue", SCOPE);
        // A label of the organisation narrows no list either.
        let there = self.labels_of_repository()?;
        let known = there.iter().find(|label| label.name == LABEL);
        let label = known.map_or_else(|| self.make_label(LABEL), |label| Ok(label.id))?;
        let new = json!({"title": title, "body": body, "labels": [label]});
        let reply = self.put(Method::Post(&new), &self.repo("/issues"), &asked)?;
        Ok(reply.json::<Listed>(&asked)?.into())
    }

    fn update_issue(&self, issue: &Issue) -> Result<(), ForgeError> {
        let asked = self.rest.asked("cannot change the issue", SCOPE);
        let state = if issue.open { "open" } else { "closed" };
        let patch = json!({"body": issue.body, "state": state});
        self.put(Method::Patch(&patch), &self.repo(&format!("/issues/{}", issue.number)), &asked)?;
        Ok(())
    }
}

impl From<Listed> for Issue {
    fn from(listed: Listed) -> Self {
        let Listed { number, state, body, .. } = listed;
        Self { number, open: state == "open", body }
    }
}

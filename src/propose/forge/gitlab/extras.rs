//! Step 10, propose: labels, reviewers and assignees on GitLab.
//!
//! In: what the configuration asks for. Out: one line for each thing that was refused; the rest is there. GitLab makes the
//! labels that are missing, where the token's user may, and leaves out without a word what it does not take: what it
//! answers is looked at.

use serde_json::json;

use super::{GitLab, wire};
use crate::propose::forge::{ForgeError, rest::why};

/// A list of people on a merge request.
pub(super) struct People {
    /// Its field in a change.
    field: &'static str,
    /// The same as it is told.
    of: fn(&wire::MergeRequest) -> &[wire::User],
    /// What was not done to somebody.
    done: &'static str,
}

/// Who is asked for a review.
pub(super) const REVIEWERS: People =
    People { field: "reviewer_ids", of: |one| &one.reviewers, done: "asked for a review" };
/// Who is assigned.
pub(super) const ASSIGNEES: People =
    People { field: "assignee_ids", of: |one| &one.assignees, done: "assigned" };

// === impl GitLab ===

impl GitLab<'_> {
    /// Adds labels, and makes those that are not there.
    pub(super) fn labels(&self, number: u64, labels: &[String]) -> Result<Vec<String>, ForgeError> {
        let asked = self.asked("cannot add labels");
        let line = |label: &String, why: &str| format!("the label `{label}` was not added: {why}");
        // GitLab cuts them there.
        let (parted, whole): (Vec<&String>, Vec<&String>) =
            labels.iter().partition(|label| label.contains(','));
        let mut lines: Vec<String> =
            parted.into_iter().map(|label| line(label, "no label on GitLab has a comma")).collect();
        if whole.is_empty() {
            return Ok(lines);
        }
        match self.change(number, &json!({"add_labels": whole}), &asked) {
            Ok(changed) => {
                let missing = whole.into_iter().filter(|label| !changed.labels.contains(*label));
                let why = "it is not in the project, and the token's user may not make it";
                lines.extend(missing.map(|label| line(label, why)));
            }
            Err(error) => {
                let why = why(error)?;
                lines.extend(whole.into_iter().map(|label| line(label, &why)));
            }
        }
        Ok(lines)
    }

    /// The labels of the project and of its groups.
    pub(super) fn known_labels(&self) -> Result<Vec<String>, ForgeError> {
        let asked = self.asked("cannot list labels");
        let labels: Vec<wire::Label> = self.list(&self.at("/labels"), &asked)?;
        Ok(labels.into_iter().map(|label| label.name).collect())
    }

    /// Adds people to those who are on a merge request.
    pub(super) fn people(
        &self,
        number: u64,
        names: &[String],
        people: &People,
    ) -> Result<Vec<String>, ForgeError> {
        let asked = self.asked("cannot ask people");
        let line = |name: &str, why: &str| format!("`{name}` was not {}: {why}", people.done);
        let mut lines = Vec::new();
        let mut found = Vec::new();
        for name in names {
            if name.contains('/') {
                lines.push(line(name, "on GitLab users are asked; a group approves by an approval rule"));
                continue;
            }
            match self.user(name) {
                Ok(Some(user)) => found.push(user),
                Ok(None) => lines.push(line(name, "no such user")),
                Err(error) => lines.push(line(name, &why(error)?)),
            }
        }
        if found.is_empty() {
            return Ok(lines);
        }
        let before = self.read(number)?;
        let ids: Vec<u64> = (people.of)(&before).iter().chain(&found).map(|user| user.id).collect();
        match self.change(number, &json!({people.field: ids}), &asked) {
            Ok(changed) => {
                let there = (people.of)(&changed);
                let missing = found.iter().filter(|user| !there.iter().any(|one| one.id == user.id));
                let why = "GitLab takes members of the project alone, and without Premium one of them";
                lines.extend(missing.map(|user| line(&user.username, why)));
            }
            Err(error) => {
                let why = why(error)?;
                lines.extend(found.iter().map(|user| line(&user.username, &why)));
            }
        }
        Ok(lines)
    }

    fn user(&self, name: &str) -> Result<Option<wire::User>, ForgeError> {
        let asked = self.asked("cannot find a user");
        let path = format!("/users?username={}", super::encoded(name));
        Ok(self.get(&path, &asked)?.json::<Vec<wire::User>>(&asked)?.into_iter().next())
    }
}

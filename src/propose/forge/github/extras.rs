//! Step 10, propose: labels, reviewers and assignees on GitHub.
//!
//! In: what the configuration asks for. Out: one line for each thing that was refused; the rest is there. GitHub takes
//! all of a list or none of it, so where it refuses, each is asked for alone.

use backon::BlockingRetryable;
use serde_json::{Value, json};

use super::{GitHub, wire};
use crate::propose::forge::{
    ForgeError,
    rest::{Method, Refused, each, until_it_shows, why},
};

// === impl GitHub ===

impl GitHub<'_> {
    /// Asks people and teams for a review.
    pub(super) fn reviewers(&self, number: u64, reviewers: &[String]) -> Result<Vec<String>, ForgeError> {
        let path = self.repo(&format!("/pulls/{number}/requested_reviewers"));
        let ask = |names: &[String]| {
            let team = |n: &String| n.split_once('/').map(|(_, slug)| slug.to_owned());
            let teams: Vec<String> = names.iter().filter_map(team).collect();
            let users: Vec<&String> = names.iter().filter(|n| !n.contains('/')).collect();
            let body = json!({"reviewers": users, "team_reviewers": teams});
            self.extra("cannot ask people", &path, &body).map(drop)
        };
        each(reviewers, ask, |name, why| format!("`{name}` was not asked for a review: {why}"))
    }

    /// Assigns people.
    pub(super) fn assignees(&self, number: u64, people: &[String]) -> Result<Vec<String>, ForgeError> {
        let path = self.repo(&format!("/issues/{number}/assignees"));
        let assigned = match self.extra("cannot assign people", &path, &json!({"assignees": people})) {
            Ok(issue) => issue.assignees,
            Err(error) => return Ok(vec![format!("nobody was assigned: {}", why(error)?)]),
        };
        // Who cannot be assigned is left out without a word.
        let has = |name: &&String| assigned.iter().any(|u| u.login.eq_ignore_ascii_case(name));
        let line =
            |name: &String| format!("`{name}` was not assigned: GitHub lets only collaborators be assigned");
        Ok(people.iter().filter(|n| !has(n)).map(line).collect())
    }

    /// Adds labels.
    pub(super) fn labels(&self, number: u64, labels: &[String]) -> Result<Vec<String>, ForgeError> {
        let path = self.repo(&format!("/issues/{number}/labels"));
        let add =
            |labels: &[String]| self.extra("cannot add labels", &path, &json!({"labels": labels})).map(drop);
        each(labels, add, |label, why| format!("the label `{label}` was not added: {why}"))
    }

    fn extra(&self, what: &'static str, path: &str, body: &Value) -> Result<wire::Issue, ForgeError> {
        let asked = self.asked(what, "pull-requests: write");
        // The pull request may have been opened a moment ago: where it is not found, it does not show yet.
        let ask = || self.put(Method::Post(body), path, &asked);
        let is_late = |refused: &Refused| matches!(refused.error, ForgeError::NotFound(_));
        let reply = ask.retry(until_it_shows()).when(is_late).call()?;
        // A list of labels has no people.
        Ok(reply.json(&asked).unwrap_or_default())
    }
}

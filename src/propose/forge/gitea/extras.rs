//! Step 10, propose: labels, reviewers and assignees on Gitea.
//!
//! In: what the configuration asks for. Out: one line for each thing that was refused; the rest is there. Gitea knows
//! labels by number, and leaves a name that it does not know out without a word; an assignee whom it does not know it
//! answers with a failure of its own. So both are looked up before.

use serde_json::json;

use super::{Gitea, wire};
use crate::propose::forge::{
    ForgeError,
    rest::{Method, each, why},
};

/// The colour of a label that is made, a neutral one.
const COLOUR: &str = "#5b6b7b";

// === impl Gitea ===

impl Gitea<'_> {
    /// Adds labels, and makes those that are not there.
    pub(super) fn labels(&self, number: u64, labels: &[String]) -> Result<Vec<String>, ForgeError> {
        let there = self.known_labels()?;
        let (mut ids, mut lines) = (Vec::new(), Vec::new());
        for label in labels {
            let known = there.iter().find(|known| same(&known.name, label));
            match known.map_or_else(|| self.make_label(label), |known| Ok(known.id)) {
                Ok(id) => ids.push(id),
                Err(error) => {
                    let why = why(error)?;
                    lines.push(format!(
                        "the label `{label}` was not added: it is not in the repository, and was not made: {why}"
                    ));
                }
            }
        }
        if !ids.is_empty() {
            let asked = self.rest.asked("cannot add labels", "write:issue");
            let path = self.repo(&format!("/issues/{number}/labels"));
            if let Err(refused) = self.put(Method::Post(&json!({"labels": ids})), &path, &asked) {
                let why = why(refused.error)?;
                lines.extend(labels.iter().map(|l| format!("the label `{l}` was not added: {why}")));
            }
        }
        Ok(lines)
    }

    /// The labels of the repository and of its organisation.
    pub(super) fn known_labels(&self) -> Result<Vec<wire::Label>, ForgeError> {
        let asked = self.rest.asked("cannot list labels", "read:issue");
        let mut labels = self.labels_of_repository()?;
        // A user has none, and a token may not see those of an organisation.
        let of_organisation = self.list::<wire::Label>(&format!("/orgs/{}/labels", self.owner), &asked);
        labels.extend(of_organisation.unwrap_or_default());
        Ok(labels)
    }

    pub(super) fn labels_of_repository(&self) -> Result<Vec<wire::Label>, ForgeError> {
        let asked = self.rest.asked("cannot list labels", "read:issue");
        self.list(&self.repo("/labels"), &asked)
    }

    pub(super) fn make_label(&self, name: &str) -> Result<u64, ForgeError> {
        let asked = self.rest.asked("cannot make a label", "write:issue");
        let body = json!({"name": name, "color": COLOUR});
        Ok(self.put(Method::Post(&body), &self.repo("/labels"), &asked)?.json::<wire::Label>(&asked)?.id)
    }

    /// Takes a label off; fine where it is not there.
    pub(super) fn take_off(&self, number: u64, label: &str) -> Result<(), ForgeError> {
        let asked = self.rest.asked("cannot remove a label", "write:issue");
        for known in self.known_labels()?.iter().filter(|known| same(&known.name, label)) {
            let path = self.repo(&format!("/issues/{number}/labels/{}", known.id));
            match self.put(Method::Delete, &path, &asked).map_err(ForgeError::from) {
                // Somebody removed it meanwhile.
                Err(ForgeError::NotFound(_) | ForgeError::Rejected { .. }) | Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Asks people and teams for a review.
    pub(super) fn reviewers(&self, number: u64, reviewers: &[String]) -> Result<Vec<String>, ForgeError> {
        let path = self.repo(&format!("/pulls/{number}/requested_reviewers"));
        let asked = self.rest.asked("cannot ask people", "write:repository");
        let ask = |names: &[String]| {
            let team = |n: &String| n.split_once('/').map(|(_, team)| team.to_owned());
            let teams: Vec<String> = names.iter().filter_map(team).collect();
            let users: Vec<&String> = names.iter().filter(|n| !n.contains('/')).collect();
            let body = json!({"reviewers": users, "team_reviewers": teams});
            match self.put(Method::Post(&body), &path, &asked) {
                Ok(_) => Ok(()),
                Err(refused) => match refused.error {
                    // What is not found is the user or the team.
                    ForgeError::NotFound(_) => Err(asked.rejected("no such user or team")),
                    error => Err(error),
                },
            }
        };
        each(reviewers, ask, |name, why| format!("`{name}` was not asked for a review: {why}"))
    }

    /// Assigns people, beside those who are.
    pub(super) fn assignees(&self, number: u64, people: &[String]) -> Result<Vec<String>, ForgeError> {
        let asked = self.rest.asked("cannot assign people", "write:issue");
        let assign = || -> Result<Vec<String>, ForgeError> {
            let may: Vec<wire::User> = self.get(&self.repo("/assignees"), &asked)?.json(&asked)?;
            let pull: wire::Pull = self.get(&self.repo(&format!("/pulls/{number}")), &asked)?.json(&asked)?;
            let mut all = pull.assigned();
            let mut lines = Vec::new();
            for name in people {
                match may.iter().find(|user| user.login.eq_ignore_ascii_case(name)) {
                    Some(user) if !all.contains(&user.login) => all.push(user.login.clone()),
                    Some(_) => {}
                    None => lines.push(format!(
                        "`{name}` was not assigned: only who may write to the repository can be assigned"
                    )),
                }
            }
            if all.len() > pull.assigned().len() {
                let path = self.repo(&format!("/issues/{number}"));
                self.put(Method::Patch(&json!({"assignees": all})), &path, &asked)?;
            }
            Ok(lines)
        };
        match assign() {
            Ok(lines) => Ok(lines),
            Err(error) => Ok(vec![format!("nobody was assigned: {}", why(error)?)]),
        }
    }
}

/// Two labels that differ in case alone are one to people.
pub(super) fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

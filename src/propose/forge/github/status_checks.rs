//! Step 10, propose: the status checks of commits on GitHub: commit statuses, check runs, deployments.
//!
//! In: commits. Out: [`StatusCheck`]s. By GraphQL, which tells of many commits in one request; by REST each takes three.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::GitHub;
use crate::{
    policy::{CheckState, StatusCheck},
    propose::forge::{ForgeError, STATUS, rest::PAGES},
    repo::CommitId,
};

/// What is asked of a commit.
const FIELDS: &str = "statusCheckRollup { contexts(first: 100, after: $after) { pageInfo { hasNextPage endCursor } nodes { \
                      ... on StatusContext { context state createdAt } ... on CheckRun { name status conclusion startedAt \
                      completedAt } } } } deployments(first: 100) { nodes { environment state updatedAt } }";
/// What it takes.
const PERMISSION: &str = "statuses: read, checks: read, deployments: read";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    data: Option<Data>,
    errors: Vec<Problem>,
}

#[derive(Debug, Deserialize)]
struct Problem {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    message: String,
}

#[derive(Debug, Deserialize)]
struct Data {
    repository: Option<BTreeMap<String, Option<Commit>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Commit {
    status_check_rollup: Option<Rollup>,
    deployments: Nodes<Deployment>,
}

#[derive(Debug, Deserialize)]
struct Rollup {
    contexts: Nodes<Context>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Nodes<T> {
    #[serde(default)]
    page_info: Option<PageInfo>,
    nodes: Vec<T>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

/// A commit status or a check run: their fields have other names.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Context {
    #[serde(rename_all = "camelCase")]
    Status { context: String, state: String, created_at: Timestamp },
    #[serde(rename_all = "camelCase")]
    Check {
        name: String,
        status: String,
        conclusion: Option<String>,
        started_at: Option<Timestamp>,
        completed_at: Option<Timestamp>,
    },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Deployment {
    environment: Option<String>,
    state: Option<String>,
    updated_at: Timestamp,
}

// === impl GitHub ===

impl GitHub<'_> {
    /// Reads the status checks of commits, of each up to a thousand.
    pub(super) fn read_status_checks(&self, commits: &[CommitId]) -> Result<Vec<StatusCheck>, ForgeError> {
        let mut checks = Vec::new();
        // Deployments are told with the first page.
        let mut open: Vec<(CommitId, Option<String>)> = commits.iter().map(|id| (*id, None)).collect();
        for page in 0..PAGES {
            if open.is_empty() {
                break;
            }
            let mut answer = self.ask_status_checks(&open)?;
            let mut next = Vec::new();
            for (n, (id, _)) in open.iter().enumerate() {
                let Some(commit) = answer.remove(&format!("c{n}")).flatten() else { continue };
                if page == 0 {
                    checks.extend(commit.deployments.nodes.into_iter().filter_map(Deployment::check));
                }
                let Some(Rollup { contexts }) = commit.status_check_rollup else { continue };
                checks.extend(contexts.nodes.into_iter().filter_map(Context::check));
                let more = contexts.page_info.filter(|page| page.has_next_page);
                next.extend(more.and_then(|page| page.end_cursor).map(|cursor| (*id, Some(cursor))));
            }
            open = next;
        }
        checks.retain(|one| one.name != STATUS);
        Ok(checks)
    }

    fn ask_status_checks(
        &self,
        commits: &[(CommitId, Option<String>)],
    ) -> Result<BTreeMap<String, Option<Commit>>, ForgeError> {
        let asked = self.asked("cannot read the status checks of commits", PERMISSION);
        let object = |(n, (id, after)): (usize, &(CommitId, Option<String>))| {
            let fields = FIELDS.replace("$after", &json!(after).to_string());
            format!("c{n}: object(oid: \"{id}\") {{ ... on Commit {{ {fields} }} }}")
        };
        let objects: Vec<String> = commits.iter().enumerate().map(object).collect();
        let query = format!(
            "query($owner: String!, $name: String!) {{ repository(owner: $owner, name: $name) {{ {} }} }}",
            objects.join(" ")
        );
        let variables = json!({"owner": self.address.owner(), "name": self.address.name()});
        let body = json!({"query": query, "variables": variables});
        let answer: Answer = self.ask(&body, &asked)?.json(&asked)?;
        if let Some(problem) = answer.errors.into_iter().next() {
            return Err(match problem.kind.as_deref() {
                Some("FORBIDDEN") => asked.lacks(),
                Some("NOT_FOUND") => ForgeError::NotFound(asked.repository.to_owned()),
                _ => ForgeError::Rejected { what: asked.what.to_owned(), reason: problem.message },
            });
        }
        Ok(answer.data.and_then(|data| data.repository).unwrap_or_default())
    }
}

impl<T> Default for Nodes<T> {
    fn default() -> Self {
        Self { page_info: None, nodes: Vec::new() }
    }
}

// === impl Context, Deployment ===

impl Context {
    fn check(self) -> Option<StatusCheck> {
        match self {
            Self::Status { context, state, created_at } => {
                let state = match state.as_str() {
                    "SUCCESS" => CheckState::Success,
                    "FAILURE" | "ERROR" => CheckState::Failure,
                    _ => CheckState::Pending,
                };
                Some(StatusCheck { name: context, state, at: created_at })
            }
            Self::Check { name, status, conclusion, started_at, completed_at } => {
                let state = match (status.as_str(), conclusion.as_deref()) {
                    ("COMPLETED", Some("SUCCESS" | "NEUTRAL" | "SKIPPED")) => CheckState::Success,
                    ("COMPLETED", _) => CheckState::Failure,
                    _ => CheckState::Pending,
                };
                Some(StatusCheck { name, state, at: completed_at.or(started_at)? })
            }
        }
    }
}

impl Deployment {
    fn check(self) -> Option<StatusCheck> {
        let state = match self.state?.as_str() {
            "ACTIVE" | "SUCCESS" => CheckState::Success,
            "ERROR" | "FAILURE" => CheckState::Failure,
            // A later deployment has taken its place, which tells nothing of how this one went.
            "INACTIVE" | "DESTROYED" | "ABANDONED" => return None,
            _ => CheckState::Pending,
        };
        Some(StatusCheck { name: self.environment?, state, at: self.updated_at })
    }
}

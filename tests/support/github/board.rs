//! Issues that are no pull requests: list by label, open, change.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    super::http::Response,
    api::{Answer, Call},
    json,
    state::{Level, Repo, State},
};

const LIST_DOCS: &str = "/issues/issues#list-repository-issues";
const CREATE_DOCS: &str = "/issues/issues#create-an-issue";
const UPDATE_DOCS: &str = "/issues/issues#update-an-issue";
const WRITE: [(&str, Level); 1] = [("issues", Level::Write)];
const READ: [(&str, Level); 1] = [("issues", Level::Read)];

/// The issues of a repository.
#[derive(Clone, Debug)]
pub struct Board {
    /// Whether the repository has issues at all.
    pub enabled: bool,
    pub issues: BTreeMap<u64, Issue>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    pub title: String,
    pub body: String,
    pub open: bool,
    pub labels: Vec<String>,
}

impl Default for Board {
    fn default() -> Self {
        Self { enabled: true, issues: BTreeMap::new() }
    }
}

fn enabled<'s>(call: &Call<'_>, state: &'s State, docs: &str) -> Result<&'s Repo, Response> {
    let repo = call.repo(state)?;
    match repo.board.enabled {
        true => Ok(repo),
        false => Err(json::refusal(410, "Issues has been disabled in this repository.", docs)),
    }
}

fn shown(number: u64, issue: &Issue) -> Value {
    let labels: Vec<Value> = issue.labels.iter().map(|name| json!({"name": name})).collect();
    let state = if issue.open { "open" } else { "closed" };
    json!({"number": number, "title": issue.title, "body": issue.body, "state": state, "labels": labels})
}

/// Lists issues, and the pull requests among them, oldest first.
pub fn list(call: &Call<'_>, state: &State) -> Answer {
    call.allow(state, &READ, LIST_DOCS)?;
    let repo = enabled(call, state, LIST_DOCS)?;
    let wanted = call.request.query_value("labels").unwrap_or_default().to_lowercase();
    let has =
        |labels: &[String]| wanted.is_empty() || labels.iter().any(|name| name.to_lowercase() == wanted);
    let is_state = |open: bool| match call.request.query_value("state").as_deref() {
        Some("all") => true,
        Some("closed") => !open,
        _ => open,
    };
    let issues = repo.board.issues.iter().filter(|(_, issue)| has(&issue.labels) && is_state(issue.open));
    let pulls = repo.pulls.values().filter(|pull| has(&pull.labels) && is_state(pull.open));
    let mut all: Vec<Value> = issues.map(|(number, issue)| shown(*number, issue)).collect();
    all.extend(pulls.map(|pull| json::issue(&call.urls, &call.name, repo, pull)));
    all.sort_by_key(|issue| issue["number"].as_u64());
    Ok(call.page(repo, all))
}

/// Opens one; its labels are made where they are not there.
pub fn create(call: &Call<'_>, state: &mut State) -> Answer {
    call.allow(state, &WRITE, CREATE_DOCS)?;
    enabled(call, state, CREATE_DOCS)?;
    let body = call.body()?;
    let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
    if text("title").is_empty() {
        let error = json!([{"resource": "Issue", "code": "missing_field", "field": "title"}]);
        return Err(json::invalid(&error, CREATE_DOCS));
    }
    let names = body["labels"].as_array().cloned().unwrap_or_default();
    let labels: Vec<String> =
        names.iter().filter_map(Value::as_str).map(|name| state.make_label(&call.name, name)).collect();
    let missing = || json::refusal(404, "Not Found", CREATE_DOCS);
    let repo = state.repo_mut(&call.name).ok_or_else(missing)?;
    let number = repo.take_number();
    let issue = Issue { title: text("title"), body: text("body"), open: true, labels };
    let answer = shown(number, &issue);
    repo.board.issues.insert(number, issue);
    Ok(Response::json(201, &answer))
}

/// Changes one.
pub fn update(call: &Call<'_>, state: &mut State, number: u64) -> Answer {
    call.allow(state, &WRITE, UPDATE_DOCS)?;
    enabled(call, state, UPDATE_DOCS)?;
    let body = call.body()?;
    let missing = || json::refusal(404, "Not Found", UPDATE_DOCS);
    let repo = state.repo_mut(&call.name).ok_or_else(missing)?;
    let issue = repo.board.issues.get_mut(&number).ok_or_else(missing)?;
    if let Some(text) = body["body"].as_str() {
        text.clone_into(&mut issue.body);
    }
    if let Some(text) = body["state"].as_str() {
        issue.open = text == "open";
    }
    Ok(Response::json(200, &shown(number, issue)))
}

//! Issues that are no pull requests: list by label, open, change.

use serde_json::{Value, json};

use super::{
    super::{
        github::{Level, Repo, State, board::Issue},
        http::Response,
    },
    api::{Answer, Call, not_found, refusal},
    json as shape,
};

fn shown(repo: &Repo, number: u64, issue: &Issue) -> Value {
    json!({
        "number": number,
        "title": issue.title,
        "body": issue.body,
        "state": if issue.open { "open" } else { "closed" },
        "labels": shape::labels(repo, &issue.labels),
    })
}

fn enabled<'s>(call: &Call<'_>, state: &'s State, level: Level) -> Result<&'s Repo, Response> {
    call.scope("issue", level)?;
    let repo = call.repo(state)?;
    if repo.board.enabled { Ok(repo) } else { Err(not_found()) }
}

/// Lists issues, newest first. A label that is not there narrows nothing, and a name is taken in its own case alone.
pub fn list(call: &Call<'_>, state: &State) -> Answer {
    let repo = enabled(call, state, Level::Read)?;
    let wanted = call.request.query_value("labels").unwrap_or_default();
    let known = repo.labels.values().any(|label| label.name == wanted);
    let of = call.request.query_value("state").unwrap_or_default();
    let fits = |issue: &Issue| {
        let is_state = of == "all" || issue.open == (of != "closed");
        is_state && (!known || issue.labels.contains(&wanted))
    };
    let all = repo.board.issues.iter().rev().filter(|(_, issue)| fits(issue));
    Ok(call.page(all.map(|(number, issue)| shown(repo, *number, issue)).collect()))
}

/// Opens one; its labels are numbers.
pub fn create(call: &Call<'_>, state: &mut State) -> Answer {
    let repo = enabled(call, state, Level::Write)?;
    let body = call.body()?;
    let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
    if text("title").is_empty() {
        return Err(refusal(422, "[Title]: Required"));
    }
    let ids: Vec<u64> = match &body["labels"] {
        Value::Null => Vec::new(),
        all => serde_json::from_value(all.clone()).map_err(|e| refusal(422, &e.to_string()))?,
    };
    let labels = repo.labels.values().filter(|label| ids.contains(&label.id));
    let labels: Vec<String> = labels.map(|label| label.name.clone()).collect();
    let repo = state.repo_mut(&call.name).ok_or_else(not_found)?;
    let number = repo.take_number();
    let issue = Issue { title: text("title"), body: text("body"), open: true, labels };
    let answer = shown(repo, number, &issue);
    repo.board.issues.insert(number, issue);
    Ok(Response::json(201, &answer))
}

/// Changes one.
pub fn update(call: &Call<'_>, state: &mut State, number: u64) -> Answer {
    enabled(call, state, Level::Write)?;
    let body = call.body()?;
    let repo = state.repo_mut(&call.name).ok_or_else(not_found)?;
    let issue = repo.board.issues.get_mut(&number).ok_or_else(not_found)?;
    if let Some(text) = body["body"].as_str() {
        text.clone_into(&mut issue.body);
    }
    if let Some(text) = body["state"].as_str() {
        issue.open = text == "open";
    }
    let issue = issue.clone();
    Ok(Response::json(201, &shown(repo, number, &issue)))
}

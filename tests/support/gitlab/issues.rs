//! Issues, which are no merge requests.

use serde_json::{Value, json};

use super::{
    super::{
        github::{Level, State, board::Issue},
        http::Response,
    },
    api::{Answer, Call, forbidden, not_found, wrong},
};

fn shown(number: u64, issue: &Issue) -> Value {
    json!({
        "iid": number,
        "title": issue.title,
        "description": issue.body,
        "state": if issue.open { "opened" } else { "closed" },
        "labels": issue.labels,
    })
}

fn enabled(call: &Call<'_>, state: &State, level: Level) -> Result<(), Response> {
    call.scope(level)?;
    if call.repo(state)?.board.enabled { Ok(()) } else { Err(forbidden()) }
}

/// Lists issues by a label, oldest first.
pub fn list(call: &Call<'_>, state: &State) -> Answer {
    enabled(call, state, Level::Read)?;
    let wanted = call.request.query_value("labels").unwrap_or_default();
    let of = call.request.query_value("state").unwrap_or_default();
    let fits = |issue: &Issue| {
        let is_state = of == "all" || issue.open == (of == "opened");
        is_state && (wanted.is_empty() || issue.labels.contains(&wanted))
    };
    let issues = call.repo(state)?.board.issues.iter().filter(|(_, issue)| fits(issue));
    Ok(call.page(issues.map(|(number, issue)| shown(*number, issue)).collect()))
}

/// Opens one.
pub fn create(call: &Call<'_>, state: &mut State) -> Answer {
    enabled(call, state, Level::Write)?;
    let body = call.body()?;
    let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
    if text("title").is_empty() {
        return Err(wrong("title is missing"));
    }
    let labels = super::merge_requests::listed(&body, "labels");
    let repo = state.repo_mut(&call.name).ok_or_else(|| not_found("Project"))?;
    let number = repo.take_number();
    let issue = Issue { title: text("title"), body: text("description"), open: true, labels };
    let answer = shown(number, &issue);
    repo.board.issues.insert(number, issue);
    Ok(Response::json(201, &answer))
}

/// Changes one.
pub fn update(call: &Call<'_>, state: &mut State, number: u64) -> Answer {
    enabled(call, state, Level::Write)?;
    let body = call.body()?;
    let repo = state.repo_mut(&call.name).ok_or_else(|| not_found("Project"))?;
    let issue = repo.board.issues.get_mut(&number).ok_or_else(|| not_found("Issue"))?;
    if let Some(text) = body["description"].as_str() {
        text.clone_into(&mut issue.body);
    }
    match body["state_event"].as_str() {
        Some("close") => issue.open = false,
        Some("reopen") => issue.open = true,
        None => {}
        Some(_) => return Err(wrong("state_event does not have a valid value")),
    }
    Ok(Response::json(200, &shown(number, issue)))
}

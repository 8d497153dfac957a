//! The endpoints that pull requests share with issues, and commit statuses.

use serde_json::{Value, json};

use super::{
    super::http::Response,
    api::{Answer, Call},
    json,
    state::{Lag, Level, State, Status},
};

const LABEL_DOCS: &str = "/issues/labels#add-labels-to-an-issue";
const ASSIGN_DOCS: &str = "/issues/assignees#add-assignees-to-an-issue";
const EVENT_DOCS: &str = "/issues/events#list-issue-events";
const ISSUE_DOCS: &str = "/issues/issues#get-an-issue";
const STATUS_DOCS: &str = "/commits/statuses#create-a-commit-status";

/// The most statuses of one context that a commit takes.
const MOST_STATUSES: usize = 1000;

const EITHER_WRITE: [(&str, Level); 2] = [("issues", Level::Write), ("pull_requests", Level::Write)];
const EITHER_READ: [(&str, Level); 2] = [("issues", Level::Read), ("pull_requests", Level::Read)];

fn strings(body: &Value, field: &str) -> Vec<String> {
    // Labels may be sent as a bare list, too.
    let list = body.get(field).unwrap_or(body).as_array().map_or(&[][..], Vec::as_slice);
    let name = |v: &Value| v.as_str().or_else(|| v.get("name")?.as_str()).map(str::to_owned);
    list.iter().filter_map(name).collect()
}

/// Reads the issue that a pull request is.
pub fn get(call: &Call<'_>, state: &State, number: u64) -> Answer {
    call.allow(state, &EITHER_READ, ISSUE_DOCS)?;
    let repo = call.repo(state)?;
    let pull = repo.pulls.get(&number).ok_or_else(|| json::refusal(404, "Not Found", ISSUE_DOCS))?;
    Ok(Response::json(200, &json::issue(&call.urls, &call.name, repo, pull)))
}

/// Lists the labels of the repository.
pub fn list_labels(call: &Call<'_>, state: &State) -> Answer {
    call.allow(state, &EITHER_READ, "/issues/labels#list-labels-for-a-repository")?;
    let repo = call.repo(state)?;
    let names: Vec<String> = repo.labels.values().map(|label| label.name.clone()).collect();
    let labels = json::labels(&call.urls, &call.name, repo, &names);
    Ok(call.page(repo, labels.as_array().cloned().unwrap_or_default()))
}

/// Adds labels, all or none. One that the repository does not have yet is made, for which a pull request's own
/// permission does not do.
pub fn add_labels(call: &Call<'_>, state: &mut State, number: u64) -> Answer {
    let token = call.allow(state, &EITHER_WRITE, LABEL_DOCS)?;
    let wanted = strings(&call.body()?, "labels");
    if wanted.iter().any(|name| name.is_empty() || name.chars().count() > 50) {
        let error = json!([{"resource": "Label", "code": "invalid", "field": "name"}]);
        return Err(json::invalid(&error, LABEL_DOCS));
    }
    let missing = || json::refusal(404, "Not Found", LABEL_DOCS);
    if !call.repo(state)?.pulls.contains_key(&number) {
        return Err(missing());
    }
    let makes = |name: &String| call.repo(state).is_ok_and(|repo| repo.label(name).is_none());
    if wanted.iter().any(makes) && !token.may("issues", Level::Write) {
        return Err(no_new_labels());
    }
    for name in wanted {
        let name = state.make_label(&call.name, &name);
        let repo = state.repo_mut(&call.name).ok_or_else(missing)?;
        let pull = repo.pulls.get_mut(&number).ok_or_else(missing)?;
        if !pull.labels.contains(&name) {
            pull.labels.push(name);
            state.note(&call.name, number, &token.login, "labeled");
        }
    }
    let repo = call.repo(state)?;
    let pull = repo.pulls.get(&number).ok_or_else(|| json::refusal(404, "Not Found", LABEL_DOCS))?;
    Ok(Response::json(200, &json::labels(&call.urls, &call.name, repo, &pull.labels)))
}

/// Makes a label.
pub fn create_label(call: &Call<'_>, state: &mut State) -> Answer {
    let docs = "/issues/labels#create-a-label";
    let token = call.allow(state, &EITHER_WRITE, docs)?;
    if !token.may("issues", Level::Write) {
        return Err(no_new_labels());
    }
    let name = call.body()?["name"].as_str().unwrap_or_default().to_owned();
    let wrong = |code: &str| {
        let error = json!([{"resource": "Label", "code": code, "field": "name"}]);
        Err(json::invalid(&error, docs))
    };
    if name.is_empty() || name.chars().count() > 50 {
        return wrong("invalid");
    }
    if call.repo(state)?.label(&name).is_some() {
        return wrong("already_exists");
    }
    state.make_label(&call.name, &name);
    let repo = call.repo(state)?;
    let label = repo.label(&name).ok_or_else(|| json::refusal(404, "Not Found", docs))?;
    Ok(Response::json(201, &json::label(&call.urls, &call.name, &label.name, label.id)))
}

/// What a token without `issues: write` is told when a label would have to be made.
fn no_new_labels() -> Response {
    let value = json!({
        "message": "You do not have permission to create labels on this repository.",
        "errors": [{"resource": "Repository", "field": "label", "code": "unauthorized"}],
        "documentation_url": "https://docs.github.com/v3/issues/labels/",
        "status": "403",
    });
    Response::json(403, &value)
}

/// Removes one label.
pub fn remove_label(call: &Call<'_>, state: &mut State, number: u64, name: &str) -> Answer {
    let docs = "/issues/labels#remove-a-label-from-an-issue";
    let token = call.allow(state, &EITHER_WRITE, docs)?;
    let pull = state.repo_mut(&call.name).and_then(|repo| repo.pulls.get_mut(&number));
    let pull = pull.ok_or_else(|| json::refusal(404, "Not Found", docs))?;
    let same = |label: &String| label.to_lowercase() == name.to_lowercase();
    if !pull.labels.iter().any(same) {
        return Err(json::refusal(404, "Label does not exist", docs));
    }
    pull.labels.retain(|label| !same(label));
    state.note(&call.name, number, &token.login, "unlabeled");
    let repo = call.repo(state)?;
    Ok(Response::json(200, &json::labels(&call.urls, &call.name, repo, &repo.pulls[&number].labels)))
}

/// Assigns people; those who cannot be assigned are left out without a word.
pub fn add_assignees(call: &Call<'_>, state: &mut State, number: u64) -> Answer {
    let token = call.allow(state, &EITHER_WRITE, ASSIGN_DOCS)?;
    let wanted = strings(&call.body()?, "assignees");
    let missing = || json::refusal(404, "Not Found", ASSIGN_DOCS);
    let repo = state.repo_mut(&call.name).ok_or_else(missing)?;
    let pull = repo.pulls.get_mut(&number).ok_or_else(missing)?;
    let mut added = false;
    for login in wanted {
        if repo.collaborators.contains(&login) && !pull.assignees.contains(&login) {
            pull.assignees.push(login);
            added = true;
        }
    }
    if added {
        state.note(&call.name, number, &token.login, "assigned");
    }
    let repo = call.repo(state)?;
    Ok(Response::json(201, &json::issue(&call.urls, &call.name, repo, &repo.pulls[&number])))
}

/// Lists what happened to a pull request, oldest first.
pub fn events(call: &Call<'_>, state: &State, number: u64) -> Answer {
    call.allow(state, &EITHER_READ, EVENT_DOCS)?;
    let repo = call.repo(state)?;
    let pull = repo.pulls.get(&number).ok_or_else(|| json::refusal(404, "Not Found", EVENT_DOCS))?;
    let items = pull.events.iter().map(|event| json::event(&call.urls, &call.name, event)).collect();
    Ok(call.page(repo, items))
}

/// Sets a status on a commit.
pub fn create_status(call: &Call<'_>, state: &mut State, sha: &str) -> Answer {
    let token = call.allow(state, &[("statuses", Level::Write)], STATUS_DOCS)?;
    let body = call.body()?;
    let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    let repo = call.repo(state)?;
    let known = git2::Oid::from_str(sha).is_ok_and(|id| {
        let shown = |lag: &Lag| lag.branches.values().any(|tip| *tip == id);
        repo.bare.open().find_commit(id).is_ok() && repo.lag.as_ref().is_none_or(shown)
    });
    if sha.len() != 40 || !known {
        return Err(json::refusal(422, &format!("No commit found for SHA: {sha}"), STATUS_DOCS));
    }
    let chosen = text("state").unwrap_or_default();
    if !["error", "failure", "pending", "success"].contains(&chosen.as_str()) {
        let error = json!([{"resource": "Status", "code": "custom", "field": "state",
                            "message": "state is not included in the list"}]);
        return Err(json::invalid(&error, STATUS_DOCS));
    }
    let description = text("description");
    if description.as_ref().is_some_and(|text| text.chars().count() > 140) {
        let error = json!([{"resource": "Status", "code": "custom", "field": "description",
                            "message": "description is too long (maximum is 140 characters)"}]);
        return Err(json::invalid(&error, STATUS_DOCS));
    }
    let context = text("context").unwrap_or_else(|| "default".to_owned());
    if repo.statuses.iter().filter(|s| s.sha == sha && s.context == context).count() >= MOST_STATUSES {
        let words = "This SHA and context has reached the maximum number of statuses.";
        let error = json!([{"resource": "Status", "code": "custom", "message": words}]);
        return Err(json::invalid(&error, STATUS_DOCS));
    }
    let status = Status {
        id: state.new_id(),
        sha: sha.to_owned(),
        state: chosen,
        context,
        description,
        target_url: text("target_url"),
        creator: token.login,
        at: state.tick(),
    };
    let value = json::status(&call.urls, &call.name, &status);
    let repo = state.repo_mut(&call.name).ok_or_else(|| json::refusal(404, "Not Found", STATUS_DOCS))?;
    repo.statuses.push(status);
    Ok(Response::json(201, &value))
}

/// Lists the statuses of a commit, newest first.
pub fn statuses(call: &Call<'_>, state: &State, sha: &str) -> Answer {
    call.allow(state, &[("statuses", Level::Read)], "/commits/statuses")?;
    let repo = call.repo(state)?;
    let all = repo.statuses.iter().rev().filter(|status| status.sha == sha);
    let items = all.map(|status| json::status(&call.urls, &call.name, status)).collect();
    Ok(call.page(repo, items))
}

//! Labels, people, what happened, and commit statuses.

use serde_json::{Value, json};

use super::{
    super::{
        github::{Event, Level, State, Status},
        http::Response,
    },
    api::{Answer, Call, broken, not_found, refusal},
    json as shape,
};
use crate::support::github::json::date;

/// Lists the labels of the repository.
pub fn list_labels(call: &Call<'_>, state: &State) -> Answer {
    call.scope("issue", Level::Read)?;
    let labels = call.repo(state)?.labels.values().map(|label| shape::label(&label.name, label.id));
    Ok(call.page(labels.collect()))
}

/// Makes a label, a second of the same name too.
pub fn create_label(call: &Call<'_>, state: &mut State) -> Answer {
    call.scope("issue", Level::Write)?;
    let body = call.body()?;
    let (Some(name), Some(color)) = (body["name"].as_str(), body["color"].as_str()) else {
        return Err(refusal(422, "[]: Required"));
    };
    if !color.starts_with('#') || color.len() != 7 {
        return Err(refusal(422, &format!("bad color {color}")));
    }
    state.make_label(&call.name, name);
    let repo = call.repo(state)?;
    let label = repo.label(name).ok_or_else(broken)?;
    Ok(Response::json(201, &shape::label(&label.name, label.id)))
}

/// Adds labels by number; what it does not know it leaves out without a word, names in another case too.
pub fn add_labels(call: &Call<'_>, state: &mut State, number: u64) -> Answer {
    let token = call.scope("issue", Level::Write)?;
    let body = call.body()?;
    let wanted = body["labels"].as_array().cloned().unwrap_or_default();
    let repo = call.repo(state)?;
    let is_one =
        |value: &Value, name: &str, id: u64| value.as_u64() == Some(id) || value.as_str() == Some(name);
    let known: Vec<String> = repo
        .labels
        .values()
        .filter(|label| wanted.iter().any(|value| is_one(value, &label.name, label.id)))
        .map(|label| label.name.clone())
        .collect();
    let pull = repo.pulls.get(&number).ok_or_else(not_found)?;
    let new: Vec<String> = known.into_iter().filter(|name| !pull.labels.contains(name)).collect();
    for name in new {
        let pull = state.repo_mut(&call.name).and_then(|repo| repo.pulls.get_mut(&number));
        pull.ok_or_else(broken)?.labels.push(name);
        state.note(&call.name, number, &token.login, "labeled");
    }
    let repo = call.repo(state)?;
    Ok(Response::json(200, &shape::labels(repo, &repo.pulls[&number].labels)))
}

/// Takes a label off by its number, fine where it is not there.
pub fn remove_label(call: &Call<'_>, state: &mut State, number: u64, id: u64) -> Answer {
    let token = call.scope("issue", Level::Write)?;
    let repo = call.repo(state)?;
    let known = repo.labels.values().find(|label| label.id == id).map(|label| label.name.clone());
    let Some(name) = known else { return Err(refusal(422, "label does not exist [label_id: 0]")) };
    let pull =
        state.repo_mut(&call.name).and_then(|repo| repo.pulls.get_mut(&number)).ok_or_else(not_found)?;
    if pull.labels.contains(&name) {
        pull.labels.retain(|label| *label != name);
        state.note(&call.name, number, &token.login, "unlabeled");
    }
    Ok(Response::text(204, ""))
}

/// Lists who can be assigned.
pub fn assignees(call: &Call<'_>, state: &State) -> Answer {
    call.scope("repository", Level::Read)?;
    let people = call.repo(state)?.collaborators.iter().map(|login| shape::user(login)).collect();
    Ok(Response::json(200, &Value::Array(people)))
}

/// Sets who is assigned. Somebody who cannot be is a failure of the server, with no word.
pub fn assign(call: &Call<'_>, state: &mut State, number: u64) -> Answer {
    let token = call.scope("issue", Level::Write)?;
    let body = call.body()?;
    let wanted: Vec<String> = body["assignees"]
        .as_array()
        .map(|all| all.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect())
        .unwrap_or_default();
    if wanted.iter().any(|login| !call.repo(state).is_ok_and(|repo| repo.collaborators.contains(login))) {
        return Err(broken());
    }
    let pull =
        state.repo_mut(&call.name).and_then(|repo| repo.pulls.get_mut(&number)).ok_or_else(not_found)?;
    pull.assignees = wanted;
    state.note(&call.name, number, &token.login, "assigned");
    Ok(Response::json(201, &json!({"number": number})))
}

/// What happened, oldest first. This list names no next page, and one behind its end is `null`.
pub fn timeline(call: &Call<'_>, state: &State, number: u64) -> Answer {
    call.scope("issue", Level::Read)?;
    let pull = call.repo(state)?.pulls.get(&number).ok_or_else(not_found)?;
    let merged = pull.merged_at.is_some();
    let kind = |event: &Event| {
        Some(match event.event.as_str() {
            // Merging closes without saying so.
            "closed" if merged => return None,
            "closed" => "close",
            "reopened" => "reopen",
            "merged" => "merge_pull",
            "head_ref_deleted" => "delete_branch",
            "renamed" => "change_title",
            "labeled" | "unlabeled" => "label",
            "assigned" => "assignees",
            "review_requested" => "review_request",
            "head_ref_force_pushed" => "pull_push",
            _ => return None,
        })
    };
    let entry = |event: &Event| {
        Some(json!({
            "id": event.id,
            "type": kind(event)?,
            "user": shape::user(&event.actor),
            "body": "",
            "created_at": date(event.at),
            "updated_at": date(event.at),
        }))
    };
    let all: Vec<Value> = pull.events.iter().filter_map(entry).collect();
    let part = call.cut(all).items;
    Ok(Response::json(200, &if part.is_empty() { Value::Null } else { Value::Array(part) }))
}

/// Sets a status on a commit.
pub fn create_status(call: &Call<'_>, state: &mut State, sha: &str) -> Answer {
    let token = call.scope("repository", Level::Write)?;
    let body = call.body()?;
    let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    let known = git2::Oid::from_str(sha)
        .is_ok_and(|id| call.repo(state).is_ok_and(|repo| repo.bare.open().find_commit(id).is_ok()));
    if sha.len() != 40 || !known {
        return Err(broken());
    }
    let status = Status {
        id: state.new_id(),
        sha: sha.to_owned(),
        state: text("state").unwrap_or_default(),
        context: text("context").unwrap_or_else(|| "default".to_owned()),
        description: text("description"),
        target_url: text("target_url"),
        creator: token.login,
        at: state.tick(),
    };
    let value = shape::status(&status);
    state.repo_mut(&call.name).ok_or_else(not_found)?.statuses.push(status);
    Ok(Response::json(201, &value))
}

/// Lists the statuses of a commit, newest first, and none for a commit that is not there.
pub fn statuses(call: &Call<'_>, state: &State, sha: &str) -> Answer {
    call.scope("repository", Level::Read)?;
    let repo = call.repo(state)?;
    let of_commit = repo.statuses.iter().rev().filter(|status| status.sha == sha);
    let items: Vec<Value> = of_commit.map(shape::status).collect();
    Ok(call.page(items))
}

//! GitLab's JSON, with the fields of the real one that tell something.

use serde_json::{Value, json};

use super::{
    super::github::{Event, Level, Pull, Repo, Status, json::date},
    api::Call,
};

/// The number of a user.
pub fn user_id(login: &str) -> usize {
    login.bytes().map(usize::from).sum()
}

pub fn user(login: &str) -> Value {
    json!({
        "id": user_id(login),
        "username": login,
        "name": login,
        "state": "active",
        "locked": false,
        "avatar_url": null,
        "web_url": format!("http://127.0.0.1/{login}"),
    })
}

fn people(logins: &[String]) -> Vec<Value> {
    logins.iter().map(|login| user(login)).collect()
}

pub fn project(call: &Call<'_>, repo: &Repo) -> Value {
    let role = match &call.token {
        Some(token) if token.may("contents", Level::Write) => 30,
        _ => 20,
    };
    json!({
        "id": repo.id,
        "path_with_namespace": call.name,
        "name": call.name.rsplit('/').next(),
        "default_branch": repo.bare.default_branch(),
        "web_url": format!("{}/{}", call.html, call.name),
        "http_url_to_repo": format!("{}/{}.git", call.html, call.name),
        "visibility": if repo.private { "private" } else { "public" },
        "archived": repo.archived,
        "merge_requests_enabled": repo.has_pulls,
        "merge_requests_access_level": if repo.has_pulls { "enabled" } else { "disabled" },
        "squash_option": if repo.squash_only { "always" } else { "default_off" },
        "merge_method": "merge",
        "permissions": {
            "project_access": {"access_level": role, "notification_level": 3},
            "group_access": null,
        },
    })
}

/// The title begins so in a draft.
pub fn is_draft(title: &str) -> bool {
    let title = title.to_lowercase();
    ["draft:", "[draft]", "(draft)"].iter().any(|start| title.starts_with(start))
}

/// Why it cannot be merged.
pub fn merge_status(repo: &Repo, pull: &Pull, title: &str) -> &'static str {
    if !pull.open {
        "not_open"
    } else if is_draft(title) {
        "draft_status"
    } else if repo.merge_rule.is_some() {
        "not_approved"
    } else {
        "mergeable"
    }
}

pub fn merge_request(call: &Call<'_>, repo: &Repo, pull: &Pull) -> Value {
    let same = pull.head_repo.as_deref() == Some(call.name.as_str());
    let source = match (&pull.head_repo, same) {
        (_, true) => json!(repo.id),
        (Some(fork), false) => json!(900_000 + fork.len()),
        (None, _) => Value::Null,
    };
    let head = repo.tip(&pull.head_ref).filter(|_| same && pull.open).unwrap_or(pull.head_sha);
    let marked = pull.draft && !is_draft(&pull.title);
    let title = if marked { format!("Draft: {}", pull.title) } else { pull.title.clone() };
    let state = match (pull.merged_at, pull.open) {
        (Some(_), _) => "merged",
        (None, true) => "opened",
        (None, false) => "closed",
    };
    json!({
        "id": pull.id,
        "iid": pull.number,
        "project_id": repo.id,
        "title": title,
        "description": pull.body,
        "state": state,
        "created_at": date(pull.created_at),
        "updated_at": date(pull.updated_at),
        "merged_by": pull.merged_by.as_ref().map(|login| user(login)),
        "merged_at": pull.merged_at.map(date),
        "closed_at": pull.closed_at.filter(|_| pull.merged_at.is_none()).map(date),
        "target_branch": pull.base_ref,
        "source_branch": pull.head_ref,
        "author": user(&pull.author),
        "assignees": people(&pull.assignees),
        "reviewers": people(&pull.reviewers),
        "source_project_id": source,
        "target_project_id": repo.id,
        "labels": pull.labels,
        "draft": is_draft(&title),
        "work_in_progress": is_draft(&title),
        "milestone": null,
        "merge_when_pipeline_succeeds": false,
        "merge_status": if pull.open { "can_be_merged" } else { "unchecked" },
        "detailed_merge_status": merge_status(repo, pull, &title),
        "sha": head.to_string(),
        "merge_commit_sha": pull.merge_commit.map(|id| id.to_string()),
        "has_conflicts": false,
        "web_url": format!("{}/{}/-/merge_requests/{}", call.html, call.name, pull.number),
    })
}

/// A change of the state of a merge request; none for what is no such change, as the closing that a merge is.
pub fn state_event(pull: &Pull, event: &Event) -> Option<Value> {
    let state = match event.event.as_str() {
        "closed" if pull.merged_at.is_some() => return None,
        state @ ("closed" | "reopened" | "merged") => state,
        _ => return None,
    };
    Some(json!({
        "id": event.id,
        "user": user(&event.actor),
        "created_at": date(event.at),
        "resource_type": "MergeRequest",
        "resource_id": pull.id,
        "state": state,
    }))
}

/// A status, in GitLab's words for its state.
pub fn status(status: &Status) -> Value {
    let state = match status.state.as_str() {
        "failure" | "error" => "failed",
        state => state,
    };
    json!({
        "id": status.id,
        "sha": status.sha,
        "ref": "main",
        "status": state,
        "name": status.context,
        "target_url": status.target_url,
        "description": status.description,
        "created_at": date(status.at),
        "started_at": null,
        "finished_at": if matches!(state, "pending" | "running") { Value::Null } else { date(status.at).into() },
        "allow_failure": false,
        "coverage": null,
        "author": user(&status.creator),
    })
}

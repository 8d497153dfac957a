//! Gitea's JSON, with every field of the real one that tells something.

use serde_json::{Value, json};

use super::{
    super::github::{Pull, Repo, Status, json::date},
    api::Call,
};

/// The number of a user.
fn user_id(login: &str) -> usize {
    login.bytes().map(usize::from).sum()
}

pub fn user(login: &str) -> Value {
    json!({
        "id": user_id(login),
        "login": login,
        "username": login,
        "full_name": "",
        "email": format!("{login}@example.org"),
        "is_admin": false,
        "restricted": false,
        "active": true,
    })
}

pub fn repository(call: &Call<'_>, repo: &Repo) -> Value {
    let (owner, name) = call.name.split_once('/').unwrap_or_default();
    let push =
        call.token.as_ref().is_some_and(|token| token.may("contents", super::super::github::Level::Write));
    json!({
        "id": repo.id,
        "owner": user(owner),
        "name": name,
        "full_name": call.name,
        "private": repo.private,
        "archived": repo.archived,
        "default_branch": repo.bare.default_branch(),
        "html_url": format!("{}/{}", call.html, call.name),
        "clone_url": format!("{}/{}.git", call.html, call.name),
        "permissions": {"admin": false, "push": push, "pull": true},
        "has_pull_requests": repo.has_pulls,
        "allow_merge_commits": !repo.squash_only,
        "allow_rebase": !repo.squash_only,
        "allow_rebase_explicit": !repo.squash_only,
        "allow_squash_merge": true,
        "default_merge_style": if repo.squash_only { "squash" } else { "merge" },
        "object_format_name": "sha1",
    })
}

pub fn label(name: &str, id: u64) -> Value {
    json!({"id": id, "name": name, "exclusive": false, "is_archived": false, "color": "5b6b7b", "description": ""})
}

pub fn labels(repo: &Repo, names: &[String]) -> Value {
    names.iter().filter_map(|name| repo.label(name)).map(|l| label(&l.name, l.id)).collect()
}

/// The title begins so in a draft.
pub fn is_draft(title: &str) -> bool {
    let title = title.to_uppercase();
    title.starts_with("WIP:") || title.starts_with("[WIP]")
}

pub fn pull(call: &Call<'_>, repo: &Repo, pull: &Pull) -> Value {
    let page = format!("{}/{}/pulls/{}", call.html, call.name, pull.number);
    let same = pull.head_repo.as_deref() == Some(call.name.as_str());
    let there = same && repo.bare.tip(&pull.head_ref).is_some();
    let head_ref = if there { pull.head_ref.clone() } else { format!("refs/pull/{}/head", pull.number) };
    let id = match (&pull.head_repo, same) {
        (_, true) => i64::try_from(repo.id).unwrap_or_default(),
        (Some(fork), false) => i64::try_from(900_000 + fork.len()).unwrap_or_default(),
        (None, _) => -1,
    };
    let head_sha = repo.tip(&pull.head_ref).filter(|_| same && pull.open).unwrap_or(pull.head_sha);
    let people = |logins: &[String]| logins.iter().map(|login| user(login)).collect::<Vec<_>>();
    let shown = repository(call, repo);
    let marked = pull.draft && !is_draft(&pull.title);
    let title = if marked { format!("WIP: {}", pull.title) } else { pull.title.clone() };
    json!({
        "id": pull.id,
        "url": page,
        "number": pull.number,
        "user": user(&pull.author),
        "title": title,
        "body": pull.body.clone().unwrap_or_default(),
        "labels": labels(repo, &pull.labels),
        "milestone": null,
        "assignee": pull.assignees.first().map(|login| user(login)),
        "assignees": people(&pull.assignees),
        "requested_reviewers": people(&pull.reviewers),
        "requested_reviewers_teams": [],
        "state": if pull.open { "open" } else { "closed" },
        "draft": is_draft(&title),
        "html_url": page,
        "mergeable": pull.open,
        "merged": pull.merged_at.is_some(),
        "merged_at": pull.merged_at.map(date),
        "merge_commit_sha": pull.merge_commit.map(|id| id.to_string()),
        "merged_by": pull.merged_by.as_ref().map(|login| user(login)),
        "base": {
            "label": pull.base_ref,
            "ref": pull.base_ref,
            "sha": repo.bare.tip(&pull.base_ref).map(|id| id.to_string()).unwrap_or_default(),
            "repo_id": repo.id,
            "repo": shown,
        },
        "head": {
            "label": pull.head_ref,
            "ref": head_ref,
            "sha": head_sha.to_string(),
            "repo_id": id,
            "repo": if same { shown.clone() } else { Value::Null },
        },
        "due_date": null,
        "created_at": date(pull.created_at),
        "updated_at": date(pull.updated_at),
        "closed_at": pull.closed_at.or(pull.merged_at).map(date),
        "pin_order": 0,
    })
}

pub fn status(status: &Status) -> Value {
    json!({
        "id": status.id,
        "status": status.state,
        "target_url": status.target_url.clone().unwrap_or_default(),
        "description": status.description.clone().unwrap_or_default(),
        "context": status.context,
        "creator": user(&status.creator),
        "created_at": date(status.at),
        "updated_at": date(status.at),
    })
}

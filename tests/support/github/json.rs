//! GitHub's JSON: the shapes that clients read, with the fields that they insist on.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    super::http::Response,
    state::{Event, Pull, Repo, Status, owner_of},
};

/// Where the API and the pages are, as the client sees them.
#[derive(Clone, Debug)]
pub struct Urls {
    pub api: String,
    pub html: String,
}

/// Turns seconds into GitHub's form of a date.
pub fn date(seconds: i64) -> String {
    Timestamp::from_second(seconds).expect("a date").to_string()
}

fn number_of(text: &str) -> u64 {
    // Any stable number does; the real one of github-actions is well known and used in commit addresses.
    if text == "github-actions[bot]" {
        return 41_898_282;
    }
    text.bytes().fold(7, |number, byte| (number * 31 + u64::from(byte)) % 90_000_000) + 1000
}

/// A user, an App's bot, or an organisation.
pub fn user(urls: &Urls, login: &str) -> Value {
    let bot = login.ends_with("[bot]");
    let escaped = login.replace('[', "%5B").replace(']', "%5D");
    let api = format!("{}/users/{escaped}", urls.api);
    let page = if bot {
        format!("{}/apps/{}", urls.html, login.trim_end_matches("[bot]"))
    } else {
        format!("{}/{login}", urls.html)
    };
    json!({
        "login": login,
        "id": number_of(login),
        "node_id": format!("U_{}", number_of(login)),
        "avatar_url": format!("{}/avatars/{escaped}", urls.html),
        "gravatar_id": "",
        "url": api,
        "html_url": page,
        "followers_url": format!("{api}/followers"),
        "following_url": format!("{api}/following%7B/other_user%7D"),
        "gists_url": format!("{api}/gists%7B/gist_id%7D"),
        "starred_url": format!("{api}/starred%7B/owner%7D%7B/repo%7D"),
        "subscriptions_url": format!("{api}/subscriptions"),
        "organizations_url": format!("{api}/orgs"),
        "repos_url": format!("{api}/repos"),
        "events_url": format!("{api}/events%7B/privacy%7D"),
        "received_events_url": format!("{api}/received_events"),
        "type": if bot { "Bot" } else { "User" },
        "user_view_type": "public",
        "site_admin": false,
    })
}

/// A repository.
pub fn repository(urls: &Urls, name: &str, repo: &Repo) -> Value {
    let (owner, short) = name.split_once('/').unwrap_or((name, name));
    json!({
        "id": repo.id,
        "node_id": format!("R_{}", repo.id),
        "name": short,
        "full_name": name,
        "private": repo.private,
        "owner": user(urls, owner),
        "html_url": format!("{}/{name}", urls.html),
        "description": null,
        "fork": false,
        "url": format!("{}/repos/{name}", urls.api),
        "clone_url": format!("{}/{name}.git", urls.html),
        "default_branch": repo.bare.default_branch(),
        "archived": repo.archived,
        "disabled": false,
        "visibility": if repo.private { "private" } else { "public" },
        "allow_merge_commit": !repo.squash_only,
        "allow_squash_merge": true,
        "allow_rebase_merge": !repo.squash_only,
        "delete_branch_on_merge": false,
    })
}

/// A label.
pub fn label(urls: &Urls, repo: &str, name: &str, id: u64) -> Value {
    json!({
        "id": id,
        "node_id": format!("LA_{id}"),
        "url": format!("{}/repos/{repo}/labels/{}", urls.api, name.replace(' ', "%20")),
        "name": name,
        "description": null,
        "color": "ededed",
        "default": false,
    })
}

/// Labels by name.
pub fn labels(urls: &Urls, name: &str, repo: &Repo, labels: &[String]) -> Value {
    let one = |l: &String| label(urls, name, l, repo.label(l).map_or(0, |known| known.id));
    labels.iter().map(one).collect()
}

/// A pull request; `full` adds what only a single one has.
pub fn pull(urls: &Urls, name: &str, repo: &Repo, pull: &Pull, full: bool) -> Value {
    let api = format!("{}/repos/{name}", urls.api);
    let page = format!("{}/{name}/pull/{}", urls.html, pull.number);
    let url = format!("{api}/pulls/{}", pull.number);
    let issue = format!("{api}/issues/{}", pull.number);
    let mut head_repo = pull.head_repo.as_ref().map_or(Value::Null, |_| repository(urls, name, repo));
    if let Some(fork) = pull.head_repo.as_ref().filter(|head| *head != name) {
        head_repo["id"] = json!(repo.id + 500_000);
        head_repo["full_name"] = json!(fork);
        head_repo["fork"] = json!(true);
        head_repo["owner"] = user(urls, &pull.head_owner);
        head_repo["url"] = json!(format!("{}/repos/{fork}", urls.api));
    }
    let mut value = json!({
        "url": url,
        "id": pull.id,
        "node_id": format!("PR_{}", pull.id),
        "html_url": page,
        "diff_url": format!("{page}.diff"),
        "patch_url": format!("{page}.patch"),
        "issue_url": issue,
        "number": pull.number,
        "state": if pull.open { "open" } else { "closed" },
        "locked": false,
        "title": pull.title,
        "user": user(urls, &pull.author),
        "body": pull.body,
        "created_at": date(pull.created_at),
        "updated_at": date(pull.updated_at),
        "closed_at": pull.closed_at.map(date),
        "merged_at": pull.merged_at.map(date),
        "merge_commit_sha": pull.merge_commit.map(|id| id.to_string()),
        "assignee": pull.assignees.first().map(|login| user(urls, login)),
        "assignees": pull.assignees.iter().map(|login| user(urls, login)).collect::<Vec<_>>(),
        "requested_reviewers": pull.reviewers.iter().map(|login| user(urls, login)).collect::<Vec<_>>(),
        "requested_teams": pull.teams.iter().map(|slug| team(urls, slug)).collect::<Vec<_>>(),
        "labels": labels(urls, name, repo, &pull.labels),
        "milestone": null,
        "draft": pull.draft,
        "commits_url": format!("{url}/commits"),
        "review_comments_url": format!("{url}/comments"),
        "review_comment_url": format!("{api}/pulls/comments{{/number}}"),
        "comments_url": format!("{issue}/comments"),
        "statuses_url": format!("{api}/statuses/{}", pull.head_sha),
        "head": {
            "label": format!("{}:{}", pull.head_owner, pull.head_ref),
            "ref": pull.head_ref,
            "sha": pull.head_sha.to_string(),
            "user": if pull.head_repo.is_some() { user(urls, &pull.head_owner) } else { Value::Null },
            "repo": head_repo,
        },
        "base": {
            "label": format!("{}:{}", owner_of(name), pull.base_ref),
            "ref": pull.base_ref,
            "sha": pull.base_sha.to_string(),
            "user": user(urls, owner_of(name)),
            "repo": repository(urls, name, repo),
        },
        "author_association": if pull.author.ends_with("[bot]") { "NONE" } else { "MEMBER" },
        "active_lock_reason": null,
    });
    if full && let (Some(value), Value::Object(fields)) = (value.as_object_mut(), details(urls, repo, pull)) {
        value.extend(fields);
    }
    value
}

/// What only a single pull request has.
fn details(urls: &Urls, repo: &Repo, pull: &Pull) -> Value {
    json!({
        "merged": pull.merged_at.is_some(),
        // GitHub computes it in the background and says null until then.
        "mergeable": null,
        "rebaseable": null,
        "mergeable_state": "unknown",
        "merged_by": pull.merged_by.as_ref().map(|login| user(urls, login)),
        "comments": 0,
        "review_comments": 0,
        "maintainer_can_modify": false,
        "commits": repo.bare.ahead(&pull.base_sha.to_string(), &pull.head_sha.to_string()),
        "additions": 0,
        "deletions": 0,
        "changed_files": repo.bare.changed(&pull.base_sha.to_string(), &pull.head_sha.to_string()).len(),
    })
}

fn team(urls: &Urls, slug: &str) -> Value {
    let id = number_of(slug);
    json!({
        "id": id,
        "node_id": format!("T_{id}"),
        "url": format!("{}/teams/{id}", urls.api),
        "html_url": format!("{}/orgs/acme/teams/{slug}", urls.html),
        "name": slug,
        "slug": slug,
        "description": null,
        "privacy": "closed",
        "notification_setting": "notifications_enabled",
        "permission": "push",
        "members_url": format!("{}/teams/{id}/members%7B/member%7D", urls.api),
        "repositories_url": format!("{}/teams/{id}/repos", urls.api),
        "parent": null,
    })
}

/// A pull request as the issue that it also is.
pub fn issue(urls: &Urls, name: &str, repo: &Repo, pull: &Pull) -> Value {
    let url = format!("{}/repos/{name}/issues/{}", urls.api, pull.number);
    json!({
        "url": url,
        "repository_url": format!("{}/repos/{name}", urls.api),
        "labels_url": format!("{url}/labels%7B/name%7D"),
        "comments_url": format!("{url}/comments"),
        "events_url": format!("{url}/events"),
        "html_url": format!("{}/{name}/pull/{}", urls.html, pull.number),
        "id": pull.id,
        "node_id": format!("PR_{}", pull.id),
        "number": pull.number,
        "title": pull.title,
        "user": user(urls, &pull.author),
        "labels": labels(urls, name, repo, &pull.labels),
        "state": if pull.open { "open" } else { "closed" },
        "locked": false,
        "assignee": pull.assignees.first().map(|login| user(urls, login)),
        "assignees": pull.assignees.iter().map(|login| user(urls, login)).collect::<Vec<_>>(),
        "milestone": null,
        "comments": 0,
        "created_at": date(pull.created_at),
        "updated_at": date(pull.updated_at),
        "closed_at": pull.closed_at.map(date),
        "author_association": "NONE",
        "body": pull.body,
        "closed_by": pull.events.iter().rev().find(|e| e.event == "closed").map(|e| user(urls, &e.actor)),
        "pull_request": {"url": format!("{}/repos/{name}/pulls/{}", urls.api, pull.number)},
    })
}

/// An event of a pull request.
pub fn event(urls: &Urls, name: &str, event: &Event) -> Value {
    json!({
        "id": event.id,
        "node_id": format!("E_{}", event.id),
        "url": format!("{}/repos/{name}/issues/events/{}", urls.api, event.id),
        "actor": user(urls, &event.actor),
        "event": event.event,
        "commit_id": null,
        "commit_url": null,
        "created_at": date(event.at),
        "performed_via_github_app": null,
    })
}

/// A commit status.
pub fn status(urls: &Urls, name: &str, status: &Status) -> Value {
    json!({
        "url": format!("{}/repos/{name}/statuses/{}", urls.api, status.sha),
        "avatar_url": format!("{}/avatars/{}", urls.html, status.creator),
        "id": status.id,
        "node_id": format!("SC_{}", status.id),
        "state": status.state,
        "description": status.description,
        "target_url": status.target_url,
        "context": status.context,
        "created_at": date(status.at),
        "updated_at": date(status.at),
        "creator": user(urls, &status.creator),
    })
}

/// A refusal in GitHub's form.
pub fn refusal(status: u16, message: &str, docs: &str) -> Response {
    let value = json!({
        "message": message,
        "documentation_url": format!("https://docs.github.com/rest{docs}"),
        "status": status.to_string(),
    });
    Response::json(status, &value)
}

/// A 422 that lists what is wrong.
pub fn invalid(errors: &Value, docs: &str) -> Response {
    let value = json!({
        "message": "Validation Failed",
        "errors": errors,
        "documentation_url": format!("https://docs.github.com/rest{docs}"),
        "status": "422",
    });
    Response::json(422, &value)
}

/// The answer to a client over its secondary limit.
pub fn secondary_limit(status: u16, retry_after: u64) -> Response {
    let words = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. \
                 If you reach out to GitHub Support for help, please include the request ID 0401:1234.";
    refusal(status, words, "/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits")
        .with("Retry-After", retry_after.to_string())
}

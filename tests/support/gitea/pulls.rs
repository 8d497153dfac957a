//! The endpoints under `/repos/{owner}/{repo}/pulls`.

use serde_json::Value;

use super::{
    super::{
        github::{Draft, Level, Merge, Pull, State, merged, owner_of},
        http::Response,
    },
    api::{Answer, Call, broken, not_found, refusal},
    json as shape,
};

/// The longest title; a longer one is cut.
const MOST_TITLE: usize = 255;

/// Lists pull requests. There is no filter for their head.
pub fn list(call: &Call<'_>, state: &State) -> Answer {
    call.scope("repository", Level::Read)?;
    let repo = call.repo(state)?;
    let query = |name: &str| call.request.query_value(name).filter(|value| !value.is_empty());
    let wanted = query("state").unwrap_or_else(|| "open".to_owned());
    let fits = |pull: &&Pull| wanted == "all" || pull.open == (wanted == "open");
    let mut pulls: Vec<&Pull> = repo.listed().values().filter(fits).collect();
    match query("sort").as_deref() {
        Some("recentupdate") => pulls.sort_by_key(|pull| std::cmp::Reverse(pull.updated_at)),
        Some("oldest") => {}
        _ => pulls.reverse(),
    }
    Ok(call.page(pulls.iter().map(|pull| shape::pull(call, repo, pull)).collect()))
}

fn of<'s>(call: &Call<'_>, state: &'s State, number: u64) -> Result<&'s Pull, Response> {
    call.repo(state)?.pulls.get(&number).ok_or_else(not_found)
}

fn shown(call: &Call<'_>, state: &State, number: u64, status: u16) -> Answer {
    Ok(Response::json(status, &shape::pull(call, call.repo(state)?, of(call, state, number)?)))
}

/// Reads one pull request.
pub fn get(call: &Call<'_>, state: &State, number: u64) -> Answer {
    call.scope("repository", Level::Read)?;
    shown(call, state, number, 200)
}

fn cut(title: &str) -> String {
    match title.chars().count() > MOST_TITLE {
        true => title.chars().take(MOST_TITLE - 1).collect::<String>() + "…",
        false => title.to_owned(),
    }
}

/// Opens a pull request.
pub fn create(call: &Call<'_>, state: &mut State) -> Answer {
    let token = call.writes_unarchived(state, "repository")?;
    let repo = call.repo(state)?;
    let body = call.body()?;
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    let (head, base) = (text("head"), text("base"));
    if head == base {
        return Err(refusal(422, "Invalid PullRequest: There are no changes between the head and the base"));
    }
    let head_sha = repo.tip(head).ok_or_else(not_found)?;
    repo.bare.tip(base).ok_or_else(not_found)?;
    let taken = |p: &&Pull| p.open && p.head_ref == head && p.base_ref == base && is_own(call, p);
    if let Some(other) = repo.pulls.values().find(taken) {
        let words = format!(
            "pull request already exists for these targets [id: {}, issue_id: {}, head_repo_id: {id}, \
             base_repo_id: {id}, head_branch: {head}, base_branch: {base}]",
            other.id,
            other.number,
            id = repo.id
        );
        return Err(refusal(409, &words));
    }
    let (owner, title) = (owner_of(&call.name).to_owned(), cut(text("title")));
    let wanted = Draft {
        title: &title,
        body: body.get("body").and_then(Value::as_str),
        head_owner: &owner,
        head_ref: head,
        head_sha,
        base_ref: base,
        draft: shape::is_draft(&title),
        author: &token.login,
    };
    let number = state.open_pull(&call.name, &wanted);
    shown(call, state, number, 201)
}

fn is_own(call: &Call<'_>, pull: &Pull) -> bool {
    pull.head_repo.as_deref() == Some(call.name.as_str())
}

/// Changes title, body or state. An archived repository does not mind.
pub fn update(call: &Call<'_>, state: &mut State, number: u64) -> Answer {
    let token = call.scope("repository", Level::Write)?;
    let body = call.body()?;
    let pull = of(call, state, number)?.clone();
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    if text("state").is_some() && pull.merged_at.is_some() {
        return Err(refusal(412, "cannot change state of this pull request, it was already merged"));
    }
    let at = state.tick();
    let stored = state.repo_mut(&call.name).and_then(|r| r.pulls.get_mut(&number)).ok_or_else(not_found)?;
    stored.updated_at = at;
    if let Some(title) = text("title").filter(|title| !title.is_empty()) {
        stored.title = cut(title);
        stored.draft = shape::is_draft(title);
    }
    if let Some(text) = text("body") {
        stored.body = Some(text.to_owned());
    }
    for (hit, event) in [
        (text("title").is_some_and(|title| title != pull.title), "renamed"),
        (text("state") == Some("closed") && pull.open, "closed"),
        (text("state") == Some("open") && !pull.open, "reopened"),
    ] {
        if hit {
            state.note(&call.name, number, &token.login, event);
        }
    }
    shown(call, state, number, 201)
}

/// Merges, where the head is the one that was named.
pub fn merge(call: &Call<'_>, state: &mut State, number: u64) -> Answer {
    let token = call.writes_unarchived(state, "repository")?;
    let body = call.body()?;
    let pull = of(call, state, number)?.clone();
    let repo = call.repo(state)?;
    if pull.merged_at.is_some() {
        return Err(refusal(405, "The PR is already merged"));
    }
    if !pull.open {
        return Err(not_found());
    }
    if pull.draft || shape::is_draft(&pull.title) {
        return Err(refusal(405, "Work in progress PRs cannot be merged"));
    }
    if let Some(rule) = &repo.merge_rule {
        return Err(refusal(405, rule));
    }
    if body["head_commit_id"].as_str().is_some_and(|head| head != pull.head_sha.to_string()) {
        return Err(refusal(409, "head out of date"));
    }
    let how = match body["Do"].as_str() {
        Some("merge") if !repo.squash_only => Merge::Commit,
        Some("rebase") if !repo.squash_only => Merge::Rebase,
        Some("squash") => Merge::Squash,
        Some(style) => {
            let words = format!("{style} is not allowed an allowed merge style for this repository");
            return Err(refusal(405, &words));
        }
        None => return Err(refusal(422, "[]: Do: Required")),
    };
    merged(state, &call.name, number, how, &token.login, false);
    Ok(Response::text(200, ""))
}

/// Asks people and teams for a review, all or none.
pub fn request_reviewers(call: &Call<'_>, state: &mut State, number: u64) -> Answer {
    let token = call.scope("repository", Level::Write)?;
    let body = call.body()?;
    let pull = of(call, state, number)?.clone();
    let repo = call.repo(state)?;
    let names = |field: &str| -> Vec<String> {
        let list = body.get(field).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        list.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect()
    };
    let (people, teams) = (names("reviewers"), names("team_reviewers"));
    let missing = |kind: &str, name: &str| {
        Response::json(
            404,
            &serde_json::json!({
                "errors": null, "message": format!("{kind} '{name}' not exist"), "url": "http://127.0.0.1/api/swagger",
            }),
        )
    };
    if let Some(name) =
        people.iter().find(|name| !repo.collaborators.contains(*name) && **name != pull.author)
    {
        return Err(missing("User", name));
    }
    if let Some(name) = teams.iter().find(|name| !repo.teams.contains(*name)) {
        return Err(missing("Team", name));
    }
    if people.contains(&pull.author) {
        return Err(refusal(
            422,
            &format!("poster of pr can't be reviewer [user_id: 2, repo_id: {}]", repo.id),
        ));
    }
    let stored = state.repo_mut(&call.name).and_then(|r| r.pulls.get_mut(&number)).ok_or_else(broken)?;
    for (there, asked) in [(&mut stored.reviewers, people), (&mut stored.teams, teams)] {
        let new: Vec<String> = asked.into_iter().filter(|name| !there.contains(name)).collect();
        there.extend(new);
    }
    state.note(&call.name, number, &token.login, "review_requested");
    Ok(Response::json(201, &serde_json::json!([])))
}

//! The endpoints under `/repos/{owner}/{repo}/pulls`.

use serde_json::{Value, json};

use super::{
    super::http::Response,
    api::{Answer, Call},
    json,
    state::{Draft, Level, Pull, State, TokenKind, owner_of},
};

const LIST_DOCS: &str = "/pulls/pulls#list-pull-requests";
const GET_DOCS: &str = "/pulls/pulls#get-a-pull-request";
const CREATE_DOCS: &str = "/pulls/pulls#create-a-pull-request";
const UPDATE_DOCS: &str = "/pulls/pulls#update-a-pull-request";
const REVIEW_DOCS: &str = "/pulls/review-requests#request-reviewers-for-a-pull-request";

/// The longest body and title that GitHub takes.
const MOST_BODY: usize = 65_536;
const MOST_TITLE: usize = 256;

/// Lists pull requests.
pub fn list(call: &Call<'_>, state: &State) -> Answer {
    call.allow(state, &[("pull_requests", Level::Read)], LIST_DOCS)?;
    let repo = call.repo(state)?;
    let query = |name: &str| call.request.query_value(name).filter(|value| !value.is_empty());
    let wanted = query("state").unwrap_or_else(|| "open".to_owned());
    // GitHub ignores a head without its owner and returns everything.
    let head = query("head").filter(|head| head.contains(':'));
    let base = query("base");
    let fits = |pull: &&Pull| {
        let label = format!("{}:{}", pull.head_owner, pull.head_ref);
        (wanted == "all" || pull.open == (wanted == "open"))
            && head.as_ref().is_none_or(|head| same_head(head, &label))
            && base.as_ref().is_none_or(|base| *base == pull.base_ref)
    };
    let mut pulls: Vec<&Pull> = repo.listed().values().filter(fits).collect();
    let sort = query("sort").unwrap_or_else(|| "created".to_owned());
    if sort == "updated" {
        pulls.sort_by_key(|pull| pull.updated_at);
    }
    let down = query("direction").map_or(sort == "created", |direction| direction == "desc");
    if down {
        pulls.reverse();
    }
    let items = pulls.iter().map(|pull| json::pull(&call.urls, &call.name, repo, pull, false)).collect();
    Ok(call.page(repo, items))
}

/// Owners are compared without case, branches with it.
fn same_head(wanted: &str, label: &str) -> bool {
    match (wanted.split_once(':'), label.split_once(':')) {
        (Some((owner, branch)), Some((o, b))) => owner.eq_ignore_ascii_case(o) && branch == b,
        _ => false,
    }
}

/// Reads one pull request.
pub fn get(call: &Call<'_>, state: &State, number: u64) -> Answer {
    call.allow(state, &[("pull_requests", Level::Read)], GET_DOCS)?;
    let repo = call.repo(state)?;
    let pull = repo.pulls.get(&number).ok_or_else(|| json::refusal(404, "Not Found", GET_DOCS))?;
    Ok(Response::json(200, &json::pull(&call.urls, &call.name, repo, pull, true)))
}

/// Opens a pull request.
pub fn create(call: &Call<'_>, state: &mut State) -> Answer {
    let token = call.allow(state, &[("pull_requests", Level::Write)], CREATE_DOCS)?;
    let repo = call.repo(state)?;
    let body = call.body()?;
    if token.kind == TokenKind::Actions && !repo.actions_may_open {
        let words = "GitHub Actions is not permitted to create or approve pull requests.";
        return Err(json::refusal(403, words, CREATE_DOCS));
    }
    if repo.collaborators_only && !repo.collaborators.contains(&token.login) {
        let words = "An owner of this repository has limited the ability to open a pull request to users that are \
                     collaborators on this repository.";
        return Err(json::refusal(403, words, CREATE_DOCS));
    }
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    let owner = owner_of(&call.name);
    let (head_owner, head_ref) = text("head").split_once(':').unwrap_or((owner, text("head")));
    let (base_ref, title) = (text("base"), text("title"));
    let wrong = |errors: Value| Err(json::invalid(&errors, CREATE_DOCS));
    let custom = |message: String| json!([{"resource": "PullRequest", "code": "custom", "message": message}]);
    if title.is_empty() {
        return wrong(json!([{"resource": "Issue", "code": "missing_field", "field": "title"}]));
    }
    check_lengths(Some(title), body.get("body").and_then(Value::as_str), CREATE_DOCS)?;
    if repo.bare.tip(base_ref).is_none() {
        return wrong(json!([{"resource": "PullRequest", "field": "base", "code": "invalid"}]));
    }
    let head_sha = repo.tip(head_ref).filter(|_| head_owner.eq_ignore_ascii_case(owner));
    let Some(head_sha) = head_sha else {
        return wrong(json!([{"resource": "PullRequest", "field": "head", "code": "invalid"}]));
    };
    let taken =
        |p: &Pull| p.open && p.head_owner == owner && p.head_ref == head_ref && p.base_ref == base_ref;
    if repo.pulls.values().any(taken) {
        return wrong(custom(format!("A pull request already exists for {owner}:{head_ref}.")));
    }
    if repo.bare.ahead(base_ref, head_ref) == 0 {
        return wrong(custom(format!("No commits between {base_ref} and {head_ref}")));
    }
    let draft = body.get("draft").and_then(Value::as_bool).unwrap_or_default();
    if draft && !repo.drafts {
        let words = "Draft pull requests are not supported in this repository.";
        return Err(json::refusal(422, words, CREATE_DOCS));
    }
    match state.repo_mut(&call.name).and_then(|repo| repo.pace.as_mut()) {
        Some(0) => return wrong(custom("was submitted too quickly".to_owned())),
        Some(left) => *left -= 1,
        None => {}
    }
    let text = body.get("body").and_then(Value::as_str);
    let login = token.login;
    let wanted =
        Draft { title, body: text, head_owner: owner, head_ref, head_sha, base_ref, draft, author: &login };
    let number = state.open_pull(&call.name, &wanted);
    let repo = call.repo(state)?;
    let value = json::pull(&call.urls, &call.name, repo, &repo.pulls[&number], true);
    let place = value["url"].as_str().unwrap_or_default().to_owned();
    Ok(Response::json(201, &value).with("Location", place))
}

fn check_lengths(title: Option<&str>, body: Option<&str>, docs: &str) -> Result<(), Response> {
    let long = |field: &str, most: usize| {
        let message = format!("{field} is too long (maximum is {most} characters)");
        let error = json!([{"resource": "Issue", "code": "custom", "field": field, "message": message}]);
        Err(json::invalid(&error, docs))
    };
    if title.is_some_and(|title| title.chars().count() > MOST_TITLE) {
        return long("title", MOST_TITLE);
    }
    if body.is_some_and(|body| body.chars().count() > MOST_BODY) {
        return long("body", MOST_BODY);
    }
    Ok(())
}

/// Changes title, body, state or base.
pub fn update(call: &Call<'_>, state: &mut State, number: u64) -> Answer {
    let token = call.allow(state, &[("pull_requests", Level::Write)], UPDATE_DOCS)?;
    let repo = call.repo(state)?;
    let body = call.body()?;
    let missing = || json::refusal(404, "Not Found", UPDATE_DOCS);
    let pull = repo.pulls.get(&number).ok_or_else(missing)?.clone();
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    check_lengths(text("title"), text("body"), UPDATE_DOCS)?;
    if text("title").is_some_and(str::is_empty) {
        let error = json!([{"resource": "Issue", "code": "missing_field", "field": "title"}]);
        return Err(json::invalid(&error, UPDATE_DOCS));
    }
    let reopen = text("state") == Some("open") && !pull.open;
    if reopen {
        let problem = if pull.merged_at.is_some() {
            Some("state cannot be changed. The pull request cannot be reopened.".to_owned())
        } else if repo.bare.tip(&pull.head_ref).is_none() {
            Some(format!("state cannot be changed. The {} branch has been deleted.", pull.head_ref))
        } else {
            let other = |p: &Pull| p.open && p.head_ref == pull.head_ref && p.base_ref == pull.base_ref;
            let words = format!(
                "state cannot be changed. There is already an open pull request from {} to {}.",
                pull.head_ref, pull.base_ref
            );
            repo.pulls.values().any(other).then_some(words)
        };
        if let Some(message) = problem {
            let error =
                json!([{"resource": "PullRequest", "code": "invalid", "field": "state", "message": message}]);
            return Err(json::invalid(&error, UPDATE_DOCS));
        }
    }
    if let Some(base) = text("base")
        && repo.bare.tip(base).is_none()
    {
        let error = json!([{"resource": "PullRequest", "code": "invalid", "field": "base"}]);
        return Err(json::invalid(&error, UPDATE_DOCS));
    }
    let at = state.tick();
    let stored = state.repo_mut(&call.name).and_then(|r| r.pulls.get_mut(&number)).ok_or_else(missing)?;
    stored.updated_at = at;
    if let Some(title) = text("title") {
        title.clone_into(&mut stored.title);
    }
    if let Some(value) = body.get("body") {
        stored.body = value.as_str().map(str::to_owned);
    }
    if let Some(base) = text("base") {
        base.clone_into(&mut stored.base_ref);
    }
    for (hit, event) in [
        (text("title").is_some_and(|title| title != pull.title), "renamed"),
        (text("base").is_some_and(|base| base != pull.base_ref), "base_ref_changed"),
        (text("state") == Some("closed") && pull.open, "closed"),
        (reopen, "reopened"),
    ] {
        if hit {
            state.note(&call.name, number, &token.login, event);
        }
    }
    let repo = call.repo(state)?;
    Ok(Response::json(200, &json::pull(&call.urls, &call.name, repo, &repo.pulls[&number], true)))
}

/// Asks people and teams for a review: all or none, as GitHub does.
pub fn request_reviewers(call: &Call<'_>, state: &mut State, number: u64) -> Answer {
    let token = call.allow(state, &[("pull_requests", Level::Write)], REVIEW_DOCS)?;
    let repo = call.repo(state)?;
    let body = call.body()?;
    let missing = || json::refusal(404, "Not Found", REVIEW_DOCS);
    let pull = repo.pulls.get(&number).ok_or_else(missing)?;
    let names = |field: &str| -> Vec<String> {
        let list = body.get(field).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        list.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect()
    };
    let (people, teams) = (names("reviewers"), names("team_reviewers"));
    if people.contains(&pull.author) {
        let words = "Review cannot be requested from pull request author.";
        return Err(json::refusal(422, words, REVIEW_DOCS));
    }
    // A workflow's own token sees no team at all, another one with the permission for members.
    let sees_teams = match token.kind {
        TokenKind::Actions => false,
        TokenKind::App | TokenKind::FineGrained => token.may("members", Level::Read),
        TokenKind::Classic => true,
    };
    if let Some(slug) = teams.first().filter(|slug| repo.teams.contains(*slug) && !sees_teams) {
        let words = format!("Could not resolve to a node with the global id of 'T_{}'.", slug.len());
        return Err(json::invalid(&json!([words]), REVIEW_DOCS));
    }
    let strangers = !people.iter().all(|login| repo.collaborators.contains(login));
    let strange_teams = !teams.iter().all(|slug| repo.teams.contains(slug));
    if strangers || strange_teams {
        let who = match (strangers, strange_teams) {
            (true, true) => "users or teams",
            (true, false) => "users",
            _ => "teams",
        };
        let words = format!(
            "Reviews may only be requested from collaborators. One or more of the {who} you specified is not a \
             collaborator of the {} repository.",
            call.name
        );
        return Err(json::refusal(422, &words, REVIEW_DOCS));
    }
    let stored = state.repo_mut(&call.name).and_then(|r| r.pulls.get_mut(&number)).ok_or_else(missing)?;
    // Whoever is asked already is not asked twice.
    for (there, asked) in [(&mut stored.reviewers, people), (&mut stored.teams, teams)] {
        let new: Vec<String> = asked.into_iter().filter(|name| !there.contains(name)).collect();
        there.extend(new);
    }
    state.note(&call.name, number, &token.login, "review_requested");
    let repo = call.repo(state)?;
    Ok(Response::json(201, &json::pull(&call.urls, &call.name, repo, &repo.pulls[&number], false)))
}

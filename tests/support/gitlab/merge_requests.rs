//! The endpoints under `/projects/{id}/merge_requests`.

use serde_json::{Value, json};

use super::{
    super::{
        github::{Draft, Level, Merge, Pull, State, merged, owner_of},
        http::Response,
    },
    api::{Answer, Call, invalid, not_found, refusal, wrong},
    json as shape, quick_actions,
};

/// The longest title, in characters.
const MOST_TITLE: usize = 255;
/// The longest description, in bytes.
const MOST_TEXT: usize = 1 << 20;

/// Lists merge requests, newest first.
pub fn list(call: &Call<'_>, state: &State) -> Answer {
    call.scope(Level::Read)?;
    let repo = call.repo(state)?;
    let query = |name: &str| call.request.query_value(name).filter(|value| !value.is_empty());
    let wanted = query("state").unwrap_or_else(|| "all".to_owned());
    let fits = |pull: &&Pull| match wanted.as_str() {
        "all" => true,
        "opened" => pull.open,
        "closed" => !pull.open && pull.merged_at.is_none(),
        "merged" => pull.merged_at.is_some(),
        _ => false,
    };
    if !matches!(wanted.as_str(), "all" | "opened" | "closed" | "locked" | "merged") {
        return Err(wrong("state does not have a valid value"));
    }
    let branch = query("source_branch");
    let of = |pull: &&Pull| branch.as_ref().is_none_or(|branch| *branch == pull.head_ref);
    let mut pulls: Vec<&Pull> = repo.listed().values().filter(fits).filter(of).collect();
    if query("order_by").as_deref() == Some("updated_at") {
        pulls.sort_by_key(|pull| pull.updated_at);
    }
    pulls.reverse();
    Ok(call.page(pulls.into_iter().map(|pull| shape::merge_request(call, repo, pull)).collect()))
}

fn of<'s>(call: &Call<'_>, state: &'s State, number: u64) -> Result<&'s Pull, Response> {
    call.repo(state)?.listed().get(&number).ok_or_else(|| not_found("Not found"))
}

fn shown(call: &Call<'_>, state: &State, number: u64, status: u16) -> Answer {
    let repo = call.repo(state)?;
    let pull = repo.pulls.get(&number).ok_or_else(|| not_found("Not found"))?;
    Ok(Response::json(status, &shape::merge_request(call, repo, pull)))
}

/// Reads one merge request.
pub fn get(call: &Call<'_>, state: &State, number: u64) -> Answer {
    call.scope(Level::Read)?;
    of(call, state, number)?;
    shown(call, state, number, 200)
}

fn check(title: Option<&str>, text: Option<&str>) -> Result<(), Response> {
    if title.is_some_and(|title| title.chars().count() > MOST_TITLE) {
        return Err(invalid("title", &format!("is too long (maximum is {MOST_TITLE} characters)")));
    }
    if text.is_some_and(|text| text.len() > MOST_TEXT) {
        return Err(invalid("description", "is too long (1.1 MiB). The maximum size is 1 MiB."));
    }
    Ok(())
}

/// Opens a merge request.
pub fn create(call: &Call<'_>, state: &mut State) -> Answer {
    let token = call.developer()?;
    let body = call.body()?;
    let text = |name: &str| body.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let field = |name: &str| text(name).ok_or_else(|| wrong(&format!("{name} is missing")));
    let (title, head, base) = (field("title")?, field("source_branch")?, field("target_branch")?);
    check(Some(title), text("description"))?;
    if head == base {
        let words = "You can't use same project/branch for source and target";
        return Err(Response::json(422, &json!({"message": [words]})));
    }
    let repo = call.repo(state)?;
    let missing = |branch: &str| refusal(422, &format!("The branch \"{branch}\" does not exist"));
    let head_sha = repo.tip(head).ok_or_else(|| missing(head))?;
    repo.bare.tip(base).ok_or_else(|| missing(base))?;
    let own = |pull: &Pull| pull.head_repo.as_deref() == Some(call.name.as_str());
    let taken = |p: &&Pull| p.open && p.head_ref == head && p.base_ref == base && own(p);
    if let Some(other) = repo.pulls.values().find(taken) {
        let words =
            format!("Another open merge request already exists for this source branch: !{}", other.number);
        return Err(Response::json(409, &json!({"message": [words]})));
    }
    let owner = owner_of(&call.name).to_owned();
    let (commands, description) = quick_actions::taken(text("description").unwrap_or_default());
    let wanted = Draft {
        title,
        body: Some(&description),
        head_owner: &owner,
        head_ref: head,
        head_sha,
        base_ref: base,
        draft: shape::is_draft(title),
        author: &token.login,
    };
    let number = state.open_pull(&call.name, &wanted);
    act(call, state, number, &token.login, &commands);
    shown(call, state, number, 201)
}

/// Does what commands in a description say; each is in the list of events too.
fn act(call: &Call<'_>, state: &mut State, number: u64, who: &str, commands: &[String]) {
    for command in commands {
        state.note(&call.name, number, who, &format!("command {command}"));
        if command == "/close" {
            state.note(&call.name, number, who, "closed");
        }
    }
}

fn users(state: &State, name: &str, ids: &Value) -> Vec<String> {
    let wanted: Vec<u64> = ids.as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    let members = state.repo(name).map(|repo| repo.collaborators.clone()).unwrap_or_default();
    let id = |login: &String| u64::try_from(shape::user_id(login)).unwrap_or_default();
    // Strangers are left out without a word.
    wanted.iter().filter_map(|wanted| members.iter().find(|login| id(login) == *wanted).cloned()).collect()
}

pub(super) fn listed(body: &Value, name: &str) -> Vec<String> {
    let texts: Vec<&str> = match &body[name] {
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    let parts = texts.into_iter().flat_map(|text| text.split(',').map(str::trim));
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Refuses to open one again beside another one that is open.
fn is_alone(call: &Call<'_>, state: &State, pull: &Pull) -> Result<(), Response> {
    let other = |p: &&Pull| p.open && p.head_ref == pull.head_ref && p.base_ref == pull.base_ref;
    let Some(other) = call.repo(state)?.pulls.values().find(other) else { return Ok(()) };
    let words =
        format!("Another open merge request already exists for this source branch: !{}", other.number);
    Err(Response::json(409, &json!({"message": [words]})))
}

/// Changes a merge request; the labels that are missing are made.
pub fn update(call: &Call<'_>, state: &mut State, number: u64) -> Answer {
    let token = call.developer()?;
    let body = call.body()?;
    let pull = of(call, state, number)?.clone();
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    const KNOWN: [&str; 9] = [
        "title",
        "description",
        "state_event",
        "add_labels",
        "remove_labels",
        "labels",
        "reviewer_ids",
        "assignee_ids",
        "target_branch",
    ];
    if !KNOWN.iter().any(|name| body.get(name).is_some()) {
        return Err(wrong(
            "title, description, state_event, labels are missing, at least one parameter must be provided",
        ));
    }
    if text("title") == Some("") {
        return Err(wrong("title is empty"));
    }
    check(text("title"), text("description"))?;
    let event = match text("state_event") {
        Some("close") => pull.open.then_some("closed"),
        Some("reopen") => (!pull.open && pull.merged_at.is_none()).then_some("reopened"),
        None => None,
        Some(_) => return Err(wrong("state_event does not have a valid value")),
    };
    if event == Some("reopened") {
        is_alone(call, state, &pull)?;
    }
    for label in listed(&body, "add_labels") {
        let known = call.repo(state)?.labels.values().any(|known| known.name == label);
        if !known {
            state.make_label(&call.name, &label);
        }
    }
    let reviewers = body.get("reviewer_ids").map(|ids| users(state, &call.name, ids));
    let assignees = body.get("assignee_ids").map(|ids| users(state, &call.name, ids));
    let (commands, description) = quick_actions::taken(text("description").unwrap_or_default());
    let at = state.tick();
    let missing = || not_found("Not found");
    let stored = state.repo_mut(&call.name).and_then(|r| r.pulls.get_mut(&number)).ok_or_else(missing)?;
    stored.updated_at = at;
    if let Some(title) = text("title") {
        title.clone_into(&mut stored.title);
        stored.draft = shape::is_draft(title);
    }
    if text("description").is_some() {
        stored.body = Some(description);
    }
    stored.reviewers = reviewers.unwrap_or_else(|| stored.reviewers.clone());
    stored.assignees = assignees.unwrap_or_else(|| stored.assignees.clone());
    let added = listed(&body, "add_labels");
    let gone = listed(&body, "remove_labels");
    let new: Vec<String> = added.into_iter().filter(|label| !stored.labels.contains(label)).collect();
    let before = stored.labels.len();
    stored.labels.retain(|label| !gone.contains(label));
    let events = [
        (text("title").is_some_and(|title| title != pull.title), "renamed"),
        (!new.is_empty(), "labeled"),
        (stored.labels.len() < before, "unlabeled"),
    ];
    stored.labels.extend(new);
    for (_, what) in events.into_iter().filter(|(hit, _)| *hit) {
        state.note(&call.name, number, &token.login, what);
    }
    if let Some(event) = event {
        state.note(&call.name, number, &token.login, event);
    }
    act(call, state, number, &token.login, &commands);
    shown(call, state, number, 200)
}

/// Merges, where the head is the one that was named.
pub fn merge(call: &Call<'_>, state: &mut State, number: u64) -> Answer {
    let token = call.scope(Level::Write)?;
    let body = call.body()?;
    let pull = of(call, state, number)?.clone();
    let repo = call.repo(state)?;
    // A good token of somebody who may not merge gets the answer of a bad one.
    if !token.may("contents", Level::Write) {
        return Err(refusal(401, "401 Unauthorized"));
    }
    let title = if pull.draft { "Draft:" } else { &pull.title };
    if shape::merge_status(repo, &pull, title) != "mergeable" {
        return Err(refusal(405, "405 Method Not Allowed"));
    }
    if body["sha"].as_str().is_some_and(|sha| sha != pull.head_sha.to_string()) {
        return Err(refusal(409, &format!("SHA does not match HEAD of source branch: {}", pull.head_sha)));
    }
    let how = if repo.squash_only { Merge::Squash } else { Merge::Commit };
    merged(state, &call.name, number, how, &token.login, false);
    shown(call, state, number, 200)
}

/// Who closed, opened again and merged it, oldest first.
pub fn state_events(call: &Call<'_>, state: &State, number: u64) -> Answer {
    call.scope(Level::Read)?;
    let pull = call.repo(state)?.pulls.get(&number).ok_or_else(|| not_found("Not found"))?;
    Ok(call.page(pull.events.iter().filter_map(|event| shape::state_event(pull, event)).collect()))
}

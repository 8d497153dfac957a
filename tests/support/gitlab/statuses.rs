//! Commit statuses, which are jobs of a pipeline, with the transitions that its states allow.

use serde_json::{Value, json};

use super::{
    super::{
        github::{Level, State, Status},
        http::Response,
    },
    api::{Answer, Call, forbidden, invalid, not_found, refusal, wrong},
    json as shape,
};
use crate::support::github::json::date;

/// The longest name, description and address.
const MOST: usize = 255;

fn known(call: &Call<'_>, state: &State, sha: &str) -> Result<(), Response> {
    let repo = call.repo(state)?;
    let is_there = |id| repo.bare.open().find_commit(id).is_ok();
    let shown = git2::Oid::from_str(sha).is_ok_and(|id| {
        is_there(id) && repo.lag.as_ref().is_none_or(|lag| lag.branches.values().any(|tip| *tip == id))
    });
    if sha.len() == 40 && shown { Ok(()) } else { Err(not_found("Commit")) }
}

/// Sets a status. One that is still open becomes what is said, one that has ended is followed by another.
pub fn create(call: &Call<'_>, state: &mut State, sha: &str) -> Answer {
    let token = call.scope(Level::Write)?;
    if !token.may("statuses", Level::Write) {
        return Err(forbidden());
    }
    known(call, state, sha)?;
    let body = call.body()?;
    let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    let name = text("name").or_else(|| text("context")).unwrap_or_else(|| "default".to_owned());
    let (description, target_url) = (text("description"), text("target_url"));
    for (field, value) in
        [("name", Some(&name)), ("description", description.as_ref()), ("target_url", target_url.as_ref())]
    {
        if value.is_some_and(|value| value.chars().count() > MOST) {
            return Err(invalid(field, &format!("is too long (maximum is {MOST} characters)")));
        }
    }
    let to = match text("state").as_deref() {
        None => return Err(wrong("state is missing")),
        Some("failed") => "failure",
        Some("success") => "success",
        Some("pending") => "pending",
        Some("running") => "running",
        Some("canceled") => "canceled",
        Some("skipped") => "skipped",
        Some(_) => return Err(wrong("state does not have a valid value")),
    };
    let at = state.tick();
    let id = state.new_id();
    let repo = state.repo_mut(&call.name).ok_or_else(|| not_found("Project"))?;
    let open = repo.statuses.iter_mut().rev().find(|status| {
        let open = matches!(status.state.as_str(), "pending" | "running");
        open && status.sha == sha && status.context == name && status.creator == token.login
    });
    if let Some(open) = open {
        let event = match (to, open.state.as_str()) {
            ("pending", _) => Some("enqueue"),
            ("running", "running") => Some("run"),
            _ => None,
        };
        if let Some(event) = event {
            let words = format!(
                "Cannot transition status via :{event} from :{} (Reason(s): Status cannot transition via \"{event}\")",
                open.state
            );
            return Err(refusal(400, &words));
        }
        (open.state, open.description, open.target_url) = (to.to_owned(), description, target_url);
        return Ok(Response::json(201, &shape::status(open)));
    }
    let status = Status {
        id,
        sha: sha.to_owned(),
        state: to.to_owned(),
        context: name,
        description,
        target_url,
        creator: token.login,
        at,
    };
    let value = shape::status(&status);
    repo.statuses.push(status);
    Ok(Response::json(201, &value))
}

/// Lists the statuses of a commit, oldest first: the last of each name, or all.
pub fn list(call: &Call<'_>, state: &State, sha: &str) -> Answer {
    call.scope(Level::Read)?;
    known(call, state, sha)?;
    let all = call.request.query_value("all").as_deref() == Some("true");
    let name = call.request.query_value("name");
    let said = &call.repo(state)?.statuses;
    let said: Vec<&Status> = said
        .iter()
        .filter(|status| status.sha == sha && name.as_ref().is_none_or(|name| *name == status.context))
        .collect();
    let last = |at: usize, name: &str| !said.iter().skip(at + 1).any(|later| later.context == name);
    let shown = said.iter().enumerate().filter(|(at, one)| all || last(*at, &one.context));
    Ok(call.page(shown.map(|(_, one)| shape::status(one)).collect()))
}

/// Lists the pipelines of a commit: that which holds external statuses, where there are some.
pub fn pipelines(call: &Call<'_>, state: &State) -> Answer {
    call.scope(Level::Read)?;
    let sha = call.request.query_value("sha").unwrap_or_default();
    let last = call.repo(state)?.statuses.iter().rfind(|status| status.sha == sha);
    let shown = last.map(|last| {
        json!({
            "id": last.id,
            "sha": sha,
            "ref": "main",
            "source": "external",
            "status": shape::status(last)["status"],
            "created_at": date(last.at),
            "updated_at": date(last.at),
        })
    });
    Ok(call.page(Vec::from_iter(shown)))
}

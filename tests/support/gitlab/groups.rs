//! The projects of groups and of people.

use serde_json::{Value, json};

use super::{
    super::github::{Level, Repo, State, owner_of},
    api::{Answer, Call, not_found},
};

/// Lists what a group has, and with `include_subgroups` the groups below it.
pub fn projects(call: &Call<'_>, state: &State, group: &str) -> Answer {
    call.scope(Level::Read)?;
    if is_person(state, group) {
        return Err(not_found("Group"));
    }
    let below = call.request.query_value("include_subgroups").as_deref() == Some("true");
    let start = format!("{}/", group.to_lowercase());
    list(call, state, "Group", |owner| format!("{owner}/") == start || (below && owner.starts_with(&start)))
}

/// Lists what a person has.
pub fn of_person(call: &Call<'_>, state: &State, login: &str) -> Answer {
    call.scope(Level::Read)?;
    if !is_person(state, login) {
        return Err(not_found("User"));
    }
    list(call, state, "User", |owner| owner.eq_ignore_ascii_case(login))
}

fn is_person(state: &State, name: &str) -> bool {
    state.tokens.values().any(|token| token.login.eq_ignore_ascii_case(name))
}

fn list(call: &Call<'_>, state: &State, what: &str, has: impl Fn(&str) -> bool) -> Answer {
    let its: Vec<(&String, &Repo)> = state.repos.iter().filter(|(name, _)| has(owner_of(name))).collect();
    if its.is_empty() {
        return Err(not_found(what));
    }
    let asked = call.request.query_value("archived");
    let sees =
        |name: &str, repo: &Repo| !repo.private || call.token.as_ref().is_some_and(|token| token.sees(name));
    let mut seen: Vec<(&String, &Repo)> = its
        .into_iter()
        .filter(|(name, repo)| sees(name, repo))
        .filter(|(_, repo)| asked.as_deref().is_none_or(|asked| asked == repo.archived.to_string()))
        .collect();
    seen.sort_by_key(|(_, repo)| repo.id);
    Ok(call.page(seen.into_iter().map(|(name, repo)| simple(call, name, repo)).collect()))
}

/// A project with `simple=true`, which leaves out among others whether it is archived.
fn simple(call: &Call<'_>, name: &str, repo: &Repo) -> Value {
    json!({
        "id": repo.id,
        "name": name.rsplit('/').next(),
        "path_with_namespace": name,
        "default_branch": repo.bare.default_branch(),
        "http_url_to_repo": format!("{}/{name}.git", call.html),
        "web_url": format!("{}/{name}", call.html),
    })
}

//! Users, the token itself, and what protects branches.

use serde_json::{Value, json};

use super::{
    super::{
        github::{Level, State},
        http::Response,
    },
    api::{Answer, Call, forbidden, refusal},
    json as shape,
};

/// The token's own user, with the addresses that nobody else is told.
pub fn me(call: &Call<'_>) -> Answer {
    let Some(token) = &call.token else { return Err(refusal(401, "401 Unauthorized")) };
    if !token.may("metadata", Level::Read) {
        return Err(forbidden());
    }
    let mut user = shape::user(&token.login);
    user["bot"] = json!(token.login.ends_with("[bot]"));
    user["email"] = json!(format!("{}@example.com", token.login));
    user["commit_email"] = json!(format!("{}@example.org", token.login));
    Ok(Response::json(200, &user))
}

/// Users by their whole name, in any case. Who may be asked for a review is known to all.
pub fn find(call: &Call<'_>, state: &State) -> Answer {
    call.scope(Level::Read)?;
    let wanted = call.request.query_value("username").unwrap_or_default().to_lowercase();
    let known = state.repos.values().flat_map(|repo| &repo.collaborators);
    let strangers = ["mallory".to_owned()];
    let mut found: Vec<&String> =
        known.chain(&strangers).filter(|login| login.to_lowercase() == wanted).collect();
    found.dedup();
    Ok(call.page(found.into_iter().map(|login| shape::user(login)).collect()))
}

/// The token itself.
pub fn token(call: &Call<'_>) -> Answer {
    let Some(token) = &call.token else { return Err(refusal(401, "401 Unauthorized")) };
    let scopes = if token.may("pull_requests", Level::Write) { "api" } else { "read_api" };
    let body =
        json!({"id": 4, "name": token.login, "active": true, "scopes": [scopes], "expires_at": "2099-01-31"});
    Ok(Response::json(200, &body))
}

/// The protected branches: by the rules that a push is judged by.
pub fn protected(call: &Call<'_>, state: &State) -> Answer {
    call.scope(Level::Read)?;
    let branch = |prefix: &str| {
        let short = prefix.strip_prefix("refs/heads/").unwrap_or(prefix);
        let name = if short.ends_with('/') { format!("{short}*") } else { short.to_owned() };
        json!({
            "name": name,
            "push_access_levels": [{"access_level": 40, "access_level_description": "Maintainers"}],
            "merge_access_levels": [{"access_level": 30}],
            "allow_force_push": false,
        })
    };
    let rules: Vec<Value> = call.repo(state)?.rules.iter().map(|rule| branch(&rule.prefix)).collect();
    Ok(call.page(rules))
}

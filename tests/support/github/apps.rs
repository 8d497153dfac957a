//! GitHub Apps: who signs with the App's key may make tokens for its installations, which end.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use openssl::{hash::MessageDigest, pkey::PKey, rsa::Rsa, sign::Verifier};
use serde_json::{Value, json};

use super::{
    super::http::{Request, Response},
    GitHub,
    api::Answer,
    json,
    state::{App, Installation, State, Token},
};

impl GitHub {
    /// Registers an App, and returns its private key.
    pub fn app(&self, id: &str, slug: &str) -> String {
        let key = PKey::from_rsa(Rsa::generate(2048).expect("a key")).expect("a key");
        let public = key.public_key_to_pem().expect("a key");
        let app = App { slug: slug.to_owned(), public, installations: Vec::new() };
        self.lock().apps.insert(id.to_owned(), app);
        String::from_utf8(key.private_key_to_pem_pkcs8().expect("a key")).expect("PEM")
    }

    /// Installs an App on these repositories; its first token lasts for so many requests.
    pub fn install(&self, app: &str, repos: &[&str], lasts: Option<u32>) -> u64 {
        let mut state = self.lock();
        let id = state.new_id();
        let repos = repos.iter().map(|name| (*name).to_owned()).collect();
        let installation = Installation { id, repos, lasts, suspended: false, made: 0 };
        state.apps.get_mut(app).expect("the App").installations.push(installation);
        id
    }

    /// Changes an installation.
    pub fn installation(&self, app: &str, id: u64, change: impl FnOnce(&mut Installation)) {
        let mut state = self.lock();
        let app = state.apps.get_mut(app).expect("the App");
        change(app.installations.iter_mut().find(|one| one.id == id).expect("the installation"));
    }

    /// How many tokens an installation has given out.
    pub fn tokens_made(&self, app: &str, id: u64) -> u32 {
        let state = self.lock();
        state.apps[app].installations.iter().find(|one| one.id == id).expect("the installation").made
    }
}

/// Answers what an App asks as itself; `None` for everything else.
pub fn answer(state: &mut State, request: &Request, path: &str) -> Option<Answer> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match (request.method.as_str(), parts.as_slice()) {
        ("GET", ["repos", owner, name, "installation"]) => {
            let name = format!("{owner}/{name}").to_lowercase();
            Some(claimed(state, request).and_then(|app| {
                let all = &state.apps[&app].installations;
                let found = all.iter().find(|one| one.repos.contains(&name));
                found.map(|one| Response::json(200, &shown(one, &app))).ok_or_else(not_found)
            }))
        }
        ("GET", ["app", "installations"]) => Some(claimed(state, request).map(|app| {
            let all: Vec<Value> = state.apps[&app].installations.iter().map(|one| shown(one, &app)).collect();
            Response::json(200, &Value::Array(all))
        })),
        ("POST", ["app", "installations", id, "access_tokens"]) => {
            Some(claimed(state, request).and_then(|app| make(state, &app, id)))
        }
        _ => None,
    }
}

fn make(state: &mut State, app: &str, id: &str) -> Answer {
    let number = state.new_id();
    let app = state.apps.get_mut(app).expect("the App");
    let one = app.installations.iter_mut().find(|one| one.id.to_string() == id).ok_or_else(not_found)?;
    if one.suspended {
        return Err(json::refusal(403, "This installation has been suspended", ""));
    }
    one.made += 1;
    let secret = format!("ghs_installation{number}Token0123456789");
    let mut token = Token::app(&app.slug);
    // The first one alone is short-lived.
    (token.repos, token.lasts) = (Some(one.repos.clone()), one.lasts.take());
    let until = Timestamp::from_second(Timestamp::now().as_second() + 3600).expect("a date").to_string();
    let value = json!({
        "token": secret,
        "expires_at": until,
        "permissions": {"contents": "write", "pull_requests": "write", "statuses": "write", "metadata": "read"},
        "repository_selection": "selected",
    });
    state.tokens.insert(secret, token);
    Ok(Response::json(201, &value))
}

/// The repositories that an installation's token sees.
pub fn repositories(call: &super::api::Call<'_>, state: &State) -> Answer {
    let token = call.token.as_ref().ok_or_else(|| json::refusal(401, "Requires authentication", ""))?;
    let seen = state.repos.iter().filter(|(name, _)| token.repos.is_some() && token.sees(name));
    let all: Vec<Value> = seen.map(|(name, repo)| json::repository(&call.urls, name, repo)).collect();
    Ok(Response::json(200, &json!({"total_count": all.len(), "repositories": all})))
}

/// The repositories of an organisation that a token sees.
pub fn of_organisation(call: &super::api::Call<'_>, state: &State, owner: &str) -> Answer {
    let sees = |name: &str| call.token.as_ref().is_some_and(|token| token.sees(name));
    let owner = format!("{}/", owner.to_lowercase());
    let its =
        state.repos.iter().filter(|(name, repo)| name.starts_with(&owner) && (!repo.private || sees(name)));
    let all: Vec<Value> = its.map(|(name, repo)| json::repository(&call.urls, name, repo)).collect();
    if all.is_empty() { Err(not_found()) } else { Ok(Response::json(200, &Value::Array(all))) }
}

fn shown(one: &Installation, app: &str) -> Value {
    let suspended = one.suspended.then_some("2026-01-01T00:00:00Z");
    json!({"id": one.id, "app_id": app, "repository_selection": "selected", "suspended_at": suspended})
}

fn not_found() -> Response {
    json::refusal(404, "Not Found", "/apps/apps")
}

/// Returns the App that a claim is of, as GitHub judges it.
fn claimed(state: &State, request: &Request) -> Result<String, Response> {
    let refuse = |words: &str| json::refusal(401, words, "");
    let undecoded = || refuse("A JSON web token could not be decoded");
    let (_, claim) = request.credentials().ok_or_else(undecoded)?;
    let (text, signature) = claim.rsplit_once('.').ok_or_else(undecoded)?;
    let decoded =
        |part: &str| -> Option<Value> { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok() };
    let mut parts = text.split('.').filter_map(decoded);
    let (head, body) = parts.next().zip(parts.next()).ok_or_else(undecoded)?;
    if head["alg"] != "RS256" {
        return Err(undecoded());
    }
    let id = body["iss"].as_str().map(str::to_owned).unwrap_or_else(|| body["iss"].to_string());
    let app = state.apps.get(&id).ok_or_else(|| refuse("Integration not found"))?;
    let key = PKey::public_key_from_pem(&app.public).expect("a key");
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| undecoded())?;
    let mut verifier = Verifier::new(MessageDigest::sha256(), &key).expect("a verifier");
    if !verifier.verify_oneshot(&signature, text.as_bytes()).unwrap_or(false) {
        return Err(undecoded());
    }
    let now = Timestamp::now().as_second();
    let (from, until) = (body["iat"].as_i64().unwrap_or(i64::MAX), body["exp"].as_i64().unwrap_or(0));
    match () {
        () if from > now => Err(refuse(
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
        )),
        () if until <= now || until - from > 600 => {
            Err(refuse("'Expiration time' claim ('exp') is too far in the future"))
        }
        () => Ok(id),
    }
}

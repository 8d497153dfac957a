//! The front of the API: who calls, what they may do, which endpoint answers, pages, ETags and the primary limit.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    super::{
        front::{Page, behind, caller, parts},
        http::{Request, Response},
    },
    apps, barriers, board, git_data, graph, issues, json,
    json::Urls,
    merging, pulls, rules,
    state::{Level, Repo, State, Token, TokenKind},
};

/// An answer, or the answer that refuses.
pub type Answer = Result<Response, Response>;

/// One call of the API.
pub struct Call<'a> {
    pub request: &'a Request,
    pub urls: Urls,
    /// `owner/name`; empty where the endpoint has no repository.
    pub name: String,
    pub token: Option<Token>,
    /// The part of the path below the API's root.
    rest: String,
}

/// Answers a request.
pub fn answer(state: &mut State, request: &Request) -> Response {
    let host = request.header("host").unwrap_or("127.0.0.1");
    let html = format!("http://{host}");
    // As on GitHub Enterprise; without the prefix as on api.github.com.
    let (api, path) = match request.path.strip_prefix("/api/v3").or(request.path.strip_prefix("/api/")) {
        Some(rest) => (format!("{html}/api/v3"), rest),
        None => (html.clone(), request.path.as_str()),
    };
    if request.header("user-agent").is_none_or(str::is_empty) {
        let words = "Request forbidden by administrative rules. Please make sure your request has a \
                     User-Agent header.";
        return Response::text(403, words);
    }
    if let Some(answer) = apps::answer(state, request, path) {
        return limits(state, answer.unwrap_or_else(|refusal| refusal));
    }
    let secret = request.credentials().map(|(_, secret)| secret);
    secret.iter().for_each(|secret| state.use_up(secret));
    let Ok(token) = caller(state, secret.as_deref()) else {
        return limits(state, json::refusal(401, "Bad credentials", ""));
    };
    if let Some(spent) = spend(state, token.as_ref()) {
        return limits(state, spent);
    }
    let user = token.as_ref().map(|token| token.login.clone());
    let mut call = Call {
        request,
        urls: Urls { api, html },
        name: String::new(),
        token,
        rest: path.trim_start_matches('/').to_owned(),
    };
    let mut response = route(&mut call, state).unwrap_or_else(|refusal| refusal);
    if request.method == "GET" && response.status == 200 {
        response = conditional(request, response);
    }
    if response.status == 304
        && let Some(remaining) = &mut state.remaining
    {
        *remaining += 1;
    }
    // Of a classic token GitHub tells the scopes in each answer.
    if let Some(Token { kind: TokenKind::Classic, .. }) = &call.token {
        response = response.with("X-OAuth-Scopes", "read:user, repo");
    }
    response.user = user;
    limits(state, response)
        .with("X-GitHub-Media-Type", "github.v3; format=json")
        .with("X-GitHub-Request-Id", "0401:1234:ABCDEF")
}

/// Takes one request off the primary limit; an answer when there is none left.
fn spend(state: &mut State, token: Option<&Token>) -> Option<Response> {
    state.begin_hour();
    let remaining = state.remaining.as_mut()?;
    if *remaining > 0 {
        *remaining -= 1;
        return None;
    }
    state.refused += 1;
    let who = match token {
        Some(token) if matches!(token.kind, TokenKind::Actions | TokenKind::App) => {
            "installation ID 4242".to_owned()
        }
        Some(token) => format!("user ID {}", token.login.len()),
        None => "127.0.0.1. (But here's the good news: Authenticated requests get a higher rate limit.)"
            .to_owned(),
    };
    let words = format!("API rate limit exceeded for {who}.");
    Some(json::refusal(403, &words, "/overview/rate-limits-for-the-rest-api"))
}

fn limits(state: &State, response: Response) -> Response {
    let remaining = state.remaining.unwrap_or(4999).min(5000);
    response
        .with("X-RateLimit-Limit", "5000")
        .with("X-RateLimit-Remaining", remaining.to_string())
        .with("X-RateLimit-Used", (5000 - remaining).to_string())
        .with("X-RateLimit-Reset", state.reset.to_string())
        .with("X-RateLimit-Resource", "core")
}

fn conditional(request: &Request, response: Response) -> Response {
    let digest = Sha256::digest(&response.body);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let etag = format!("W/\"{hex}\"");
    let known = request.header("if-none-match").is_some_and(|tags| tags.split(", ").any(|tag| tag == etag));
    let mut response = response.with("ETag", etag).with("Cache-Control", "private, max-age=60, s-maxage=60");
    if known {
        response.status = 304;
        response.body.clear();
    }
    response
}

fn not_found() -> Response {
    json::refusal(404, "Not Found", "")
}

fn route(call: &mut Call<'_>, state: &mut State) -> Answer {
    let rest = call.rest.clone();
    let parts = parts(&rest);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let method = call.request.method.as_str();
    let inner: &[&str] = match parts.as_slice() {
        ["user"] if method == "GET" => return call.me(),
        // An Enterprise Server has it beside the version, not below it.
        ["graphql"] if method == "POST" && !call.request.path.starts_with("/api/v3") => {
            return graph::answer(call, state);
        }
        ["users", login] if method == "GET" => return call.user(login),
        ["orgs", owner, "repos"] if method == "GET" => return apps::of_organisation(call, state, owner),
        ["installation", "repositories"] if method == "GET" => return apps::repositories(call, state),
        ["rate_limit"] if method == "GET" => {
            let core =
                json!({"limit": 5000, "remaining": state.remaining.unwrap_or(4999), "reset": state.reset});
            return Ok(Response::json(200, &json!({"resources": {"core": core}, "rate": core})));
        }
        ["repos", owner, name, inner @ ..] => {
            call.name = format!("{owner}/{name}").to_lowercase();
            if let Some(new) = state.renamed.get(&call.name) {
                return Err(call.moved(state.repo(new).map_or(0, |repo| repo.id), inner));
            }
            inner
        }
        // The address in GitHub's Link headers.
        ["repositories", id, inner @ ..] => {
            call.name = id.parse().ok().and_then(|id| state.name_of(id)).ok_or_else(not_found)?;
            inner
        }
        _ => return Err(not_found()),
    };
    call.see(state)?;
    if method != "GET" && call.repo(state)?.archived {
        return Err(json::refusal(403, "Repository was archived so is read-only.", ""));
    }
    if let Some(repo) = state.repo_mut(&call.name) {
        repo.is_asked();
    }
    state.follow(&call.name, "ghost");
    let number = |text: &str| text.parse::<u64>().map_err(|_| not_found());
    match (method, inner) {
        ("GET", []) => {
            let repo = call.repo(state)?;
            Ok(Response::json(200, &json::repository(&call.urls, &call.name, repo)))
        }
        ("GET", ["pulls"]) => pulls::list(call, state),
        ("POST", ["pulls"]) => pulls::create(call, state),
        ("GET", ["pulls", n]) => pulls::get(call, state, number(n)?),
        ("PATCH", ["pulls", n]) => pulls::update(call, state, number(n)?),
        ("PUT", ["pulls", n, "merge"]) => merging::merge(call, state, number(n)?),
        ("POST", ["pulls", n, "requested_reviewers"]) => pulls::request_reviewers(call, state, number(n)?),
        ("GET", ["issues"]) => board::list(call, state),
        ("POST", ["issues"]) => board::create(call, state),
        ("PATCH", ["issues", n]) => board::update(call, state, number(n)?),
        ("GET", ["issues", n]) => issues::get(call, state, number(n)?),
        ("POST", ["issues", n, "labels"]) => issues::add_labels(call, state, number(n)?),
        ("DELETE", ["issues", n, "labels", label]) => issues::remove_label(call, state, number(n)?, label),
        ("GET", ["labels"]) => issues::list_labels(call, state),
        ("GET", ["rules", "branches", branch]) => rules::list(call, state, branch),
        ("GET", ["rulesets", id]) => rules::ruleset(call, state, id),
        ("POST", ["labels"]) => issues::create_label(call, state),
        ("POST", ["issues", n, "assignees"]) => issues::add_assignees(call, state, number(n)?),
        ("GET", ["issues", n, "events"]) => issues::events(call, state, number(n)?),
        ("POST", ["git", "blobs"]) => git_data::blob(call, state),
        ("POST", ["git", "trees"]) => git_data::tree(call, state),
        ("POST", ["git", "commits"]) => git_data::commit(call, state),
        ("POST", ["statuses", sha]) => issues::create_status(call, state, sha),
        ("GET", ["commits", sha, "statuses"]) => issues::statuses(call, state, sha),
        _ => Err(not_found()),
    }
}

// === impl Call ===

impl Call<'_> {
    /// Returns the repository that the call is about.
    pub fn repo<'s>(&self, state: &'s State) -> Result<&'s Repo, Response> {
        state.repo(&self.name).ok_or_else(not_found)
    }

    /// Returns the request's body.
    pub fn body(&self) -> Result<Value, Response> {
        let wrong = |_| json::refusal(400, "Problems parsing JSON", "");
        serde_json::from_slice(&self.request.body).map_err(wrong)
    }

    /// Refuses what the caller may not even know of.
    fn see(&self, state: &State) -> Result<(), Response> {
        let docs = "/repos/repos#get-a-repository";
        let hidden = || json::refusal(404, "Not Found", docs);
        let repo = state.repo(&self.name).ok_or_else(hidden)?;
        let sees = self.token.as_ref().is_some_and(|token| token.sees(&self.name));
        if !sees && repo.private {
            return Err(hidden());
        }
        match self.token.as_ref().and_then(|token| barriers::over_api(&self.name, repo, token)) {
            Some(barred) => Err(barred),
            None => Ok(()),
        }
    }

    /// Returns the token when it holds one of the permissions; anybody may read what is public.
    pub fn allow(&self, state: &State, any: &[(&str, Level)], docs: &str) -> Result<Token, Response> {
        let reads = any.iter().all(|(_, level)| *level == Level::Read);
        let public = !self.repo(state)?.private;
        let Some(token) = &self.token else {
            if reads && public {
                let nobody = Token { login: "anonymous".to_owned(), ..Token::classic("anonymous") };
                return Ok(nobody);
            }
            return Err(json::refusal(401, "Requires authentication", docs));
        };
        let holds = any.iter().any(|(name, level)| token.may(name, *level));
        if holds || (reads && public) {
            return Ok(token.clone());
        }
        if token.kind == TokenKind::Classic {
            return Err(json::refusal(404, "Not Found", docs));
        }
        let words = match token.kind {
            TokenKind::FineGrained => "Resource not accessible by personal access token",
            _ => "Resource not accessible by integration",
        };
        let level = |level: &Level| if *level == Level::Write { "write" } else { "read" };
        let accepted: Vec<String> = any.iter().map(|(name, l)| format!("{name}={}", level(l))).collect();
        Err(json::refusal(403, words, docs).with("X-Accepted-GitHub-Permissions", accepted.join("; ")))
    }

    /// `GET /user`: a person's token has one, an installation's has none.
    fn me(&self) -> Answer {
        let docs = "/users/users#get-the-authenticated-user";
        match &self.token {
            None => Err(json::refusal(401, "Requires authentication", docs)),
            Some(token) if matches!(token.kind, TokenKind::Actions | TokenKind::App) => {
                Err(json::refusal(403, "Resource not accessible by integration", docs))
            }
            Some(token) => {
                let mut user = json::user(&self.urls, &token.login);
                user["name"] = json!(format!("{} Example", token.login));
                user["email"] = Value::Null;
                Ok(Response::json(200, &user))
            }
        }
    }

    /// What the old name of a repository answers.
    fn moved(&self, id: u64, inner: &[&str]) -> Response {
        let place = format!("{}/repositories/{id}{}", self.urls.api, behind(self.request, inner));
        let status = if self.request.method == "GET" { 301 } else { 307 };
        let value = json!({
            "message": "Moved Permanently",
            "url": place,
            "documentation_url": "https://docs.github.com/rest/guides/best-practices-for-using-the-rest-api#follow-redirects",
        });
        Response::json(status, &value).with("Location", place)
    }

    fn user(&self, login: &str) -> Answer {
        let mut user = json::user(&self.urls, login);
        user["name"] = Value::Null;
        user["email"] = Value::Null;
        Ok(Response::json(200, &user))
    }

    /// Cuts a list into the page that was asked for, with GitHub's `Link` header.
    pub fn page(&self, repo: &Repo, items: Vec<Value>) -> Response {
        let mut page = Page::of(self.request, "per_page", (30, 100), items);
        page.items.retain(|item| !item["number"].as_u64().is_some_and(|n| repo.hidden.contains(&n)));
        // Of `repos/owner/name/...`, or of the address in such a header.
        let before = if self.rest.starts_with("repositories/") { 2 } else { 3 };
        let below = self.rest.splitn(before + 1, '/').nth(before).unwrap_or_default();
        let link = |(to, rel)| {
            let (api, query) = (&self.urls.api, Page::query(self.request, to));
            format!("<{api}/repositories/{}/{below}?{query}>; rel=\"{rel}\"", repo.id)
        };
        let links: Vec<String> = page.others().into_iter().map(link).collect();
        let response = Response::json(200, &Value::Array(page.items));
        if links.is_empty() { response } else { response.with("Link", links.join(", ")) }
    }
}

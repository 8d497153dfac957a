//! The front of the API: who calls, what they may do, which endpoint answers, and pages.

use serde_json::{Value, json};

use super::{
    super::{
        front::{Page, behind, caller, parts},
        github::{Level, Repo, State, Token},
        http::{Request, Response},
    },
    groups, issues, json as shape, merge_requests, people, statuses,
};

/// An answer, or the answer that refuses.
pub type Answer = Result<Response, Response>;

/// The entries on a page that come unasked, and the most.
const ENTRIES: (usize, usize) = (20, 100);

/// One call of the API.
pub struct Call<'a> {
    pub request: &'a Request,
    /// The root of the pages.
    pub html: String,
    /// The path of the project; empty where the endpoint has none.
    pub name: String,
    pub token: Option<Token>,
}

/// A refusal in GitLab's form.
pub fn refusal(status: u16, message: &str) -> Response {
    Response::json(status, &json!({"message": message}))
}

/// A parameter that the API does not take.
pub fn wrong(message: &str) -> Response {
    Response::json(400, &json!({"error": message}))
}

/// A field that does not validate.
pub fn invalid(field: &str, message: &str) -> Response {
    Response::json(400, &json!({"message": {field: [message]}}))
}

/// What is not there, or must not be seen.
pub fn not_found(what: &str) -> Response {
    refusal(404, &format!("404 {what} Not Found"))
}

/// What the caller's role does not allow, whatever the reason.
pub fn forbidden() -> Response {
    refusal(403, "403 Forbidden")
}

/// Answers a request.
pub fn answer(state: &mut State, request: &Request) -> Response {
    let Some(rest) = request.path.strip_prefix("/api/v4/") else {
        return Response::json(404, &json!({"error": "404 Not Found"}));
    };
    let bearer = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let secret = request.header("private-token").or(bearer).map(str::to_owned);
    let Ok(token) = caller(state, secret.as_deref()) else {
        return refusal(401, "401 Unauthorized");
    };
    let mut limit = None;
    if let Some(remaining) = &mut state.remaining {
        let Some(left) = remaining.checked_sub(1) else {
            let after = state.reset.saturating_sub(jiff::Timestamp::now().as_second()).max(0);
            let spent = Response::text(429, "Retry later\n").with("Retry-After", after.to_string());
            return limited(spent, 0, state.reset);
        };
        *remaining = left;
        limit = Some(left);
    }
    let user = token.as_ref().map(|token| token.login.clone());
    let host = request.header("host").unwrap_or("127.0.0.1");
    let mut call = Call { request, html: format!("http://{host}"), name: String::new(), token };
    let parts = parts(rest);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let mut response = route(&mut call, state, &parts).unwrap_or_else(|refusal| refusal);
    response.user = user;
    let response = response.with("X-Request-Id", "01GITLAB").with("Vary", "Origin");
    limit.map_or_else(|| response.clone(), |left| limited(response.clone(), left, state.reset))
}

fn limited(response: Response, left: u64, reset: i64) -> Response {
    response
        .with("RateLimit-Limit", "2000")
        .with("RateLimit-Remaining", left.to_string())
        .with("RateLimit-Reset", reset.to_string())
}

fn route(call: &mut Call<'_>, state: &mut State, parts: &[&str]) -> Answer {
    let method = call.request.method.as_str();
    let inner: &[&str] = match parts {
        ["user"] if method == "GET" => return people::me(call),
        ["users"] if method == "GET" => return people::find(call, state),
        ["users", login, "projects"] if method == "GET" => return groups::of_person(call, state, login),
        ["groups", group, "projects"] if method == "GET" => return groups::projects(call, state, group),
        ["personal_access_tokens", "self"] if method == "GET" => return people::token(call),
        ["projects", id, inner @ ..] => {
            let by_number = id.parse().ok().and_then(|id| state.name_of(id));
            call.name = by_number.unwrap_or_else(|| id.to_lowercase());
            if let Some(new) = state.renamed.get(&call.name) {
                return Err(call.moved(state.repo(new).map_or(0, |repo| repo.id), inner));
            }
            inner
        }
        _ => return Err(Response::json(404, &json!({"error": "404 Not Found"}))),
    };
    let repo = state.repo(&call.name).ok_or_else(|| not_found("Project"))?;
    if repo.private && !call.token.as_ref().is_some_and(|token| token.sees(&call.name)) {
        return Err(not_found("Project"));
    }
    let of_merge_requests = inner.first() == Some(&"merge_requests");
    if (of_merge_requests && !repo.has_pulls) || (method != "GET" && repo.archived) {
        return Err(forbidden());
    }
    if let Some(repo) = state.repo_mut(&call.name) {
        repo.is_asked();
    }
    state.follow(&call.name, "ghost");
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong("merge_request_iid is invalid"));
    match (method, inner) {
        ("GET", []) => {
            call.scope(Level::Read)?;
            Ok(Response::json(200, &shape::project(call, call.repo(state)?)))
        }
        ("GET", ["merge_requests"]) => merge_requests::list(call, state),
        ("POST", ["merge_requests"]) => merge_requests::create(call, state),
        ("GET", ["merge_requests", n]) => merge_requests::get(call, state, number(n)?),
        ("PUT", ["merge_requests", n]) => merge_requests::update(call, state, number(n)?),
        ("PUT", ["merge_requests", n, "merge"]) => merge_requests::merge(call, state, number(n)?),
        ("GET", ["merge_requests", n, "resource_state_events"]) => {
            merge_requests::state_events(call, state, number(n)?)
        }
        ("GET", ["labels"]) => {
            call.scope(Level::Read)?;
            let labels = call.repo(state)?.labels.values();
            Ok(call.page(labels.map(|label| json!({"id": label.id, "name": label.name})).collect()))
        }
        ("GET", ["issues"]) => issues::list(call, state),
        ("POST", ["issues"]) => issues::create(call, state),
        ("PUT", ["issues", n]) => issues::update(call, state, number(n)?),
        ("POST", ["statuses", sha]) => statuses::create(call, state, sha),
        ("GET", ["repository", "commits", sha, "statuses"]) => statuses::list(call, state, sha),
        ("GET", ["pipelines"]) => statuses::pipelines(call, state),
        ("GET", ["protected_branches"]) => people::protected(call, state),
        // Push rules are part of Premium.
        _ => Err(Response::json(404, &json!({"error": "404 Not Found"}))),
    }
}

// === impl Call ===

impl Call<'_> {
    /// Returns the project that the call is about.
    pub fn repo<'s>(&self, state: &'s State) -> Result<&'s Repo, Response> {
        state.repo(&self.name).ok_or_else(|| not_found("Project"))
    }

    /// Returns the request's body.
    pub fn body(&self) -> Result<Value, Response> {
        let body: Value =
            serde_json::from_slice(&self.request.body).map_err(|_| wrong("Problem parsing the JSON body"))?;
        if body.is_object() { Ok(body) } else { Err(wrong("The request body is no object")) }
    }

    /// Refuses a token without the scope `api`, or `read_api` for a read.
    pub fn scope(&self, level: Level) -> Result<Token, Response> {
        let Some(token) = &self.token else { return Err(refusal(401, "401 Unauthorized")) };
        if token.may("pull_requests", level) {
            return Ok(token.clone());
        }
        let scope = if level == Level::Write { "api" } else { "api read_api" };
        Err(Response::json(
            403,
            &json!({
                "error": "insufficient_scope",
                "error_description": "The request requires higher privileges than provided by the access token.",
                "scope": scope,
            }),
        ))
    }

    /// Refuses a caller whose role is below Developer.
    pub fn developer(&self) -> Result<Token, Response> {
        let token = self.scope(Level::Write)?;
        if token.may("contents", Level::Write) { Ok(token) } else { Err(forbidden()) }
    }

    /// What the old path of a project answers: reads go on by number, writes are not done.
    fn moved(&self, id: u64, inner: &[&str]) -> Response {
        if self.request.method != "GET" {
            return refusal(405, "Non GET methods are not allowed for moved projects");
        }
        let place = format!("{}/api/v4/projects/{id}{}", self.html, behind(self.request, inner));
        let words = format!("This resource has been moved permanently to {place}");
        Response::text(301, words).with("Location", place)
    }

    /// Answers with the page that was asked for, and with what GitLab says of the pages.
    pub fn page(&self, items: Vec<Value>) -> Response {
        let page = Page::of(self.request, "per_page", ENTRIES, items);
        let link = |(to, rel)| {
            let query = Page::query(self.request, to);
            format!("<{}{}?{query}>; rel=\"{rel}\"", self.html, self.request.path)
        };
        let links: Vec<String> = page.others().into_iter().map(link).collect();
        let next = if page.number < page.last { (page.number + 1).to_string() } else { String::new() };
        Response::json(200, &Value::Array(page.items))
            .with("X-Total", page.total.to_string())
            .with("X-Total-Pages", page.last.to_string())
            .with("X-Page", page.number.to_string())
            .with("X-Per-Page", page.size.to_string())
            .with("X-Next-Page", next)
            .with("Link", links.join(", "))
    }
}

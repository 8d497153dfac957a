//! The front of the API: who calls, what they may do, which endpoint answers, and pages.

use serde_json::{Value, json};

use super::{
    super::{
        front::{Page, behind, caller, parts},
        github::{Level, Repo, State, Token},
        http::{Request, Response},
    },
    board, issues, json as shape, pulls,
};

/// An answer, or the answer that refuses.
pub type Answer = Result<Response, Response>;

/// The most entries on a page, and as many as come unasked.
const MOST_ENTRIES: usize = 50;
const USUAL_ENTRIES: usize = 30;

/// One call of the API.
pub struct Call<'a> {
    pub request: &'a Request,
    /// The root of the pages.
    pub html: String,
    /// `owner/name`; empty where the endpoint has no repository.
    pub name: String,
    pub token: Option<Token>,
}

/// A refusal in Gitea's form.
pub fn refusal(status: u16, message: &str) -> Response {
    Response::json(status, &json!({"message": message, "url": "http://127.0.0.1/api/swagger"}))
}

/// What is not there, or must not be seen.
pub fn not_found() -> Response {
    Response::json(
        404,
        &json!({"errors": null, "message": "not found", "url": "http://127.0.0.1/api/swagger"}),
    )
}

/// A failure of the server, of which it tells nothing.
pub fn broken() -> Response {
    refusal(500, "")
}

/// Answers a request.
pub fn answer(state: &mut State, request: &Request) -> Response {
    let Some(rest) = request.path.strip_prefix("/api/v1/") else { return Response::text(404, "Not Found\n") };
    let header = request.header("authorization");
    let secret = header.and_then(|value| value.split_once(' ')).map(|(_, secret)| secret.trim().to_owned());
    let Ok(token) = caller(state, secret.as_deref()) else {
        return refusal(401, "invalid username, password or token");
    };
    if let Some(remaining) = &mut state.remaining {
        // A proxy before the forge, since Gitea has no limit of its own.
        let Some(left) = remaining.checked_sub(1) else {
            let after = state.reset.saturating_sub(jiff::Timestamp::now().as_second()).max(0);
            return Response::text(429, "Too Many Requests\n").with("Retry-After", after.to_string());
        };
        *remaining = left;
    }
    let user = token.as_ref().map(|token| token.login.clone());
    let host = request.header("host").unwrap_or("127.0.0.1");
    let mut call = Call { request, html: format!("http://{host}"), name: String::new(), token };
    let parts = parts(rest);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let mut response = route(&mut call, state, &parts).unwrap_or_else(|refusal| refusal);
    response.user = user;
    response.with("Cache-Control", "max-age=0, private, must-revalidate, no-transform")
}

fn route(call: &mut Call<'_>, state: &mut State, parts: &[&str]) -> Answer {
    let method = call.request.method.as_str();
    let inner: &[&str] = match parts {
        ["user"] if method == "GET" => return call.me(),
        ["user", "settings"] if method == "GET" => {
            call.scope("user", Level::Read)?;
            return Ok(Response::json(200, &json!({"hide_email": false})));
        }
        ["users", owner, "repos"] if method == "GET" => return call.repositories(state, owner),
        ["orgs", _, "labels"] if method == "GET" => return Ok(Response::json(200, &json!([]))),
        ["repos", owner, name, inner @ ..] => {
            call.name = format!("{owner}/{name}").to_lowercase();
            if let Some(new) = state.renamed.get(&call.name) {
                return Err(call.moved(new, inner));
            }
            inner
        }
        _ => return Err(not_found()),
    };
    let repo = state.repo(&call.name).ok_or_else(not_found)?;
    let sees = call.token.as_ref().is_some_and(|token| token.sees(&call.name));
    if repo.private && !sees {
        return Err(not_found());
    }
    if inner.first() == Some(&"pulls") && !repo.has_pulls {
        return Err(not_found());
    }
    if let Some(repo) = state.repo_mut(&call.name) {
        repo.is_asked();
    }
    state.follow(&call.name, "ghost");
    let number = |text: &str| text.parse::<u64>().map_err(|_| not_found());
    match (method, inner) {
        ("GET", []) => {
            call.scope("repository", Level::Read)?;
            Ok(Response::json(200, &shape::repository(call, call.repo(state)?)))
        }
        ("GET", ["pulls"]) => pulls::list(call, state),
        ("POST", ["pulls"]) => pulls::create(call, state),
        ("GET", ["pulls", n]) => pulls::get(call, state, number(n)?),
        ("PATCH", ["pulls", n]) => pulls::update(call, state, number(n)?),
        ("POST", ["pulls", n, "merge"]) => pulls::merge(call, state, number(n)?),
        ("POST", ["pulls", n, "requested_reviewers"]) => pulls::request_reviewers(call, state, number(n)?),
        ("GET", ["labels"]) => issues::list_labels(call, state),
        ("POST", ["labels"]) => issues::create_label(call, state),
        ("POST", ["issues", n, "labels"]) => issues::add_labels(call, state, number(n)?),
        ("DELETE", ["issues", n, "labels", id]) => issues::remove_label(call, state, number(n)?, number(id)?),
        ("GET", ["issues"]) => board::list(call, state),
        ("POST", ["issues"]) => board::create(call, state),
        ("PATCH", ["issues", n]) if call.repo(state)?.board.issues.contains_key(&number(n)?) => {
            board::update(call, state, number(n)?)
        }
        ("PATCH", ["issues", n]) => issues::assign(call, state, number(n)?),
        ("GET", ["assignees"]) => issues::assignees(call, state),
        ("GET", ["issues", n, "timeline"]) => issues::timeline(call, state, number(n)?),
        ("POST", ["statuses", sha]) => issues::create_status(call, state, sha),
        ("GET", ["statuses", sha]) => issues::statuses(call, state, sha),
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
        serde_json::from_slice(&self.request.body).map_err(|e| refusal(422, &e.to_string()))
    }

    /// Refuses a token that lacks a scope. What the shared tokens may do is read as scopes.
    pub fn scope(&self, scope: &str, level: Level) -> Result<Token, Response> {
        let Some(token) = &self.token else { return Err(refusal(401, "token is required")) };
        let has = match scope {
            "repository" => token.may("contents", level) && token.may("pull_requests", level),
            "issue" => token.may("pull_requests", level),
            _ => token.may("metadata", level),
        };
        if has {
            return Ok(token.clone());
        }
        let word = if level == Level::Write { "write" } else { "read" };
        Err(refusal(
            403,
            &format!(
                "token does not have at least one of required scope(s), required=[{word}:{scope}], token \
                 scope=read:misc"
            ),
        ))
    }

    /// The same for a write, which an archived repository refuses at some endpoints.
    pub fn writes_unarchived(&self, state: &State, scope: &str) -> Result<Token, Response> {
        let token = self.scope(scope, Level::Write)?;
        match self.repo(state)?.archived {
            true => Err(refusal(423, &format!("{} is archived", self.name))),
            false => Ok(token),
        }
    }

    fn me(&self) -> Answer {
        let token = self.scope("user", Level::Read)?;
        Ok(Response::json(200, &shape::user(&token.login)))
    }

    /// What an owner has, an organisation too. What the caller may not see is left out of the page that it is on.
    fn repositories(&mut self, state: &State, owner: &str) -> Answer {
        self.scope("user", Level::Read)?;
        self.scope("repository", Level::Read)?;
        let start = format!("{}/", owner.to_lowercase());
        let mut its: Vec<(&String, &Repo)> =
            state.repos.iter().filter(|(name, _)| name.starts_with(&start)).collect();
        its.sort_by_key(|(_, repo)| repo.id);
        let mut all = Vec::new();
        for (name, repo) in its {
            self.name.clone_from(name);
            let hidden = repo.private && !self.token.as_ref().is_some_and(|token| token.sees(name));
            all.push(if hidden { Value::Null } else { shape::repository(self, repo) });
        }
        if all.is_empty() {
            return Err(not_found());
        }
        Ok(self.page(all))
    }

    /// What the old name of a repository answers, without a word in the body.
    fn moved(&self, new: &str, inner: &[&str]) -> Response {
        Response::text(301, "")
            .with("Location", format!("/api/v1/repos/{new}{}", behind(self.request, inner)))
    }

    /// Cuts a list into the page that was asked for.
    pub fn cut(&self, items: Vec<Value>) -> Page {
        Page::of(self.request, "limit", (USUAL_ENTRIES, MOST_ENTRIES), items)
    }

    /// Answers with the page that was asked for, with a `Link` header where more follow.
    pub fn page(&self, items: Vec<Value>) -> Response {
        let page = self.cut(items);
        let others = page.others().into_iter().filter(|(_, rel)| matches!(*rel, "next" | "last"));
        let size = page.size;
        let link =
            |(to, rel)| format!("<{}{}?limit={size}&page={to}>; rel=\"{rel}\"", self.html, self.request.path);
        let links: Vec<String> = others.map(link).collect();
        let shown = page.items.into_iter().filter(|item| !item.is_null()).collect();
        let response =
            Response::json(200, &Value::Array(shown)).with("X-Total-Count", page.total.to_string());
        if links.is_empty() { response } else { response.with("Link", links.join(",")) }
    }
}

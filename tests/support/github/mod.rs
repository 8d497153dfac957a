//! A stateful fake of GitHub: the REST API and Git over HTTP on one host, over the same bare repositories.
//!
//! It answers as GitHub does, with its words and its quirks; what people and GitHub itself do beside the client
//! is in `people`. Nothing here knows the program under test.

mod api;
mod apps;
mod barriers;
pub mod board;
mod git_data;
mod graph;
mod issues;
pub mod json;
mod merging;
mod people;
mod pulls;
pub mod rules;
pub mod state;
mod token;

use std::sync::{Arc, Mutex, MutexGuard};

use tempfile::TempDir;

use self::rules::{Form, Kind, Push, Rule};
pub use self::{
    api::answer,
    graph::Shown,
    merging::merged,
    people::Merge,
    state::{Draft, Event, Level, Pull, Repo, State, Status, Token, TokenKind, owner_of},
};
use super::{
    clock::Clock,
    controls::Controls,
    flavor::Flavor,
    git_server::{Access, Command3, Gate, GitBackend, Refusal, unauthorized},
    http::{Handler, Request, Response, Server},
    repo::BareRepo,
};

/// The fake, listening.
pub struct GitHub {
    server: Server,
    /// The host of the API, where that is another one.
    beside: Option<Server>,
    state: Arc<Mutex<State>>,
    controls: Arc<Controls>,
    home: TempDir,
}

/// The handler: Git's paths go to the backend, the rest to the API.
struct Host {
    flavor: Flavor,
    git: GitBackend,
    state: Arc<Mutex<State>>,
}

/// Git's access decided by the same tokens and settings.
struct TokenDoor(Arc<Mutex<State>>);

/// Marks what came by the host of the API.
const BESIDE: &str = "X-Of-Api";

/// Takes a request to the host of the API for one to the API beside the repositories of the main one, where that would be.
fn of_api(request: &mut Request, main: &str) {
    let root = if request.path == "/graphql" { "/api" } else { "/api/v3" };
    request.path.insert_str(0, root);
    request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("host"));
    request.headers.extend([("Host".to_owned(), main.to_owned()), (BESIDE.to_owned(), "yes".to_owned())]);
}

// === impl GitHub ===

impl GitHub {
    /// Starts a host without repositories and tokens.
    pub fn start() -> Self {
        Self::start_as(Flavor::GitHub)
    }

    /// The same that answers as another forge. Repositories, people and what they do are the same everywhere.
    pub fn start_as(flavor: Flavor) -> Self {
        let home = TempDir::new().expect("a temporary folder");
        let state = Arc::new(Mutex::new(State::default()));
        let controls = Arc::new(Controls::default());
        controls.log.record_to(flavor.recorder());
        let door = Arc::new(TokenDoor(Arc::clone(&state)));
        let host = Host { flavor, git: GitBackend::new(home.path(), door), state: Arc::clone(&state) };
        let host = Arc::new(host);
        let server = Server::start(Arc::clone(&host) as Arc<dyn Handler>, Arc::clone(&controls));
        let beside = (flavor == Flavor::DotCom).then(|| {
            let main = server.address().to_string();
            Server::start_taking(host, Arc::clone(&controls), Box::new(move |request| of_api(request, &main)))
        });
        Self { server, beside, state, controls, home }
    }

    /// Makes the private repository `owner/name` with one commit on `main`.
    pub fn repo(&self, name: &str, files: &[(&str, &str)]) -> Arc<BareRepo> {
        self.add(name, |path| BareRepo::with_files(path, "main", files))
    }

    /// Adds a repository that the caller makes at the given place.
    pub fn add(&self, name: &str, make: impl FnOnce(std::path::PathBuf) -> BareRepo) -> Arc<BareRepo> {
        assert_eq!(name, name.to_lowercase(), "names are looked up in lower case");
        let bare = Arc::new(make(self.home.path().join(format!("{name}.git"))));
        let mut state = self.lock();
        let id = state.new_id();
        state.repos.insert(name.to_owned(), Repo::new(id, Arc::clone(&bare)));
        bare
    }

    /// Returns the repository's commits and branches.
    pub fn bare(&self, name: &str) -> Arc<BareRepo> {
        Arc::clone(&self.lock().repo(name).expect("the repository").bare)
    }

    /// Adds a repository that has what another one has.
    pub fn copy(&self, name: &str, of: &str) {
        let mut state = self.lock();
        let bare = Arc::clone(&state.repo(of).expect("the repository").bare);
        let id = state.new_id();
        state.repos.insert(name.to_owned(), Repo::new(id, bare));
    }

    /// Lets a token in.
    pub fn token(&self, secret: &str, token: Token) {
        self.lock().tokens.insert(secret.to_owned(), token);
    }

    /// Changes a repository's settings.
    pub fn settings(&self, name: &str, change: impl FnOnce(&mut Repo)) {
        change(self.lock().repo_mut(name).expect("the repository"));
    }

    /// Refuses pushes to refs that start with a prefix by a ruleset with that sentence.
    pub fn ruleset(&self, name: &str, prefix: &str, sentence: &str) {
        self.rule(name, prefix, Kind::Any(sentence.to_owned()), Form::Ruleset);
    }

    /// Sets a rule up over the refs that start with a prefix.
    pub fn rule(&self, name: &str, prefix: &str, kind: Kind, form: Form) {
        self.settings(name, |repo| {
            repo.rules.push(Rule { prefix: prefix.to_owned(), kind, form, bypassed: false })
        });
    }

    /// Makes labels, as somebody did before.
    pub fn labels(&self, name: &str, labels: &[&str]) {
        let mut state = self.lock();
        for label in labels {
            state.make_label(name, label);
        }
    }

    /// Allows so many more requests until `reset`, in seconds since 1970.
    pub fn limit(&self, remaining: u64, reset: i64) {
        let mut state = self.lock();
        (state.remaining, state.reset) = (Some(remaining), reset);
    }

    /// Has another clock tell the time.
    pub fn follow_clock(&self, clock: &Arc<Clock>) {
        self.lock().clock = Some(Arc::clone(clock));
    }

    /// The same, and as many in each hour after it, by the clock.
    pub fn limit_hourly(&self, remaining: u64, reset: i64, hourly: u64) {
        self.limit(remaining, reset);
        self.lock().hourly = Some(hourly);
    }

    /// Returns how many requests came when the primary limit was used up.
    pub fn refused(&self) -> usize {
        self.lock().refused
    }

    /// Sets the clock of pull requests and events, in seconds since 1970.
    pub fn set_clock(&self, seconds: i64) {
        self.lock().set_clock(seconds);
    }

    /// Returns the address that a client clones from.
    pub fn url(&self, name: &str) -> String {
        format!("{}/{name}.git", self.server.url())
    }

    /// Returns the root of the API: a host of its own, or below the host, as on GitHub Enterprise.
    pub fn api(&self) -> String {
        self.beside.as_ref().map_or_else(|| format!("{}/api/v3", self.server.url()), Server::url)
    }

    /// Returns the server below, for raw requests.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Returns the log, the faults and the write counter, for Git and API together.
    pub fn controls(&self) -> &Arc<Controls> {
        &self.controls
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no poison")
    }
}

// === impl Host ===

impl Host {
    /// What Git is told at the old name of a repository.
    fn moved(&self, request: &Request) -> Option<Response> {
        let state = self.state.lock().expect("no poison");
        let (name, rest) = request.path.strip_prefix('/')?.split_once(".git/")?;
        let new = state.renamed.get(name)?;
        let host = request.header("host").unwrap_or("127.0.0.1");
        let query = if request.query.is_empty() { String::new() } else { format!("?{}", request.query) };
        let place = format!("http://{host}/{new}.git/{rest}{query}");
        Some(Response::text(301, "").with("Location", place))
    }
}

impl Handler for Host {
    fn handle(&self, request: &Request) -> Response {
        if GitBackend::takes(request) {
            return self.moved(request).unwrap_or_else(|| self.git.handle(request));
        }
        if self.flavor == Flavor::DotCom && request.header(BESIDE).is_none() {
            return Response::text(404, "The API is elsewhere.");
        }
        self.flavor.answer(&mut self.state.lock().expect("no poison"), request)
    }

    fn is_write(&self, request: &Request) -> bool {
        if GitBackend::takes(request) {
            return self.git.is_write(request);
        }
        let asks = request.path.ends_with("/graphql");
        matches!(request.method.as_str(), "POST" | "PATCH" | "PUT" | "DELETE") && !asks
    }
}

// === impl TokenDoor ===

impl Gate for TokenDoor {
    fn enter(&self, name: &str, access: Access, secret: Option<&str>) -> Result<String, Response> {
        let mut state = self.0.lock().expect("no poison");
        secret.iter().for_each(|secret| state.use_up(secret));
        let repo = state.repo(name);
        let Some(secret) = secret else {
            let open = access == Access::Read && repo.is_some_and(|repo| !repo.private);
            return if open { Ok("anonymous".to_owned()) } else { Err(unauthorized("No anonymous access.")) };
        };
        let Some(token) = state.tokens.get(secret).filter(|token| !token.expired) else {
            let words =
                "Invalid username or token. Password authentication is not supported for Git operations.";
            return Err(unauthorized(words));
        };
        let Some(repo) = repo.filter(|repo| !repo.private || token.sees(name)) else {
            return Err(Response::text(404, "Repository not found."));
        };
        if let Some(barred) = barriers::over_git(name, repo, token) {
            return Err(barred);
        }
        let level = if access == Access::Write { Level::Write } else { Level::Read };
        let public = level == Level::Read && !repo.private;
        if !public && !token.may("contents", level) {
            return Err(Response::text(403, format!("Permission to {name}.git denied to {}.", token.login)));
        }
        if access == Access::Write && repo.archived {
            return Err(Response::text(403, "This repository was archived so it is read-only."));
        }
        Ok(token.login.clone())
    }

    fn refuse(
        &self,
        name: &str,
        command: &Command3,
        incoming: &git2::Repository,
        secret: Option<&str>,
    ) -> Option<Refusal> {
        let state = self.0.lock().expect("no poison");
        let token = secret.and_then(|secret| state.tokens.get(secret));
        rules::judge(name, state.repo(name)?, token, &Push { command, incoming })
    }

    fn pushed(&self, name: &str, user: &str, _commands: &[Command3]) {
        self.0.lock().expect("no poison").follow(name, user);
    }
}

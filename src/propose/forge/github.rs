//! Step 10, propose: GitHub and GitHub Enterprise as a forge, by REST over octocrab.
//!
//! In: the calls of [`Forge`]. Out: GitHub's answers in our words. Reads are repeated where that may help; a write is
//! never repeated blindly: the lists are read first, since a lost answer may hide a success. The token is in no
//! address, no log and no error.

mod address;
mod answer;
mod extras;
mod identity;
mod merging;
mod preflight;
mod status_checks;
mod wire;

use std::{
    collections::HashMap,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use backon::{BlockingRetryable, ExponentialBuilder};
use jiff::Timestamp;
use octocrab::Octocrab;
use reqwest::header::{ETAG, HeaderMap, HeaderName, IF_NONE_MATCH};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

pub use self::address::{Address, NotGitHub};
use self::{
    answer::{Asked, Known, Refused, Reply},
    wire::{Event, Pull},
};
use super::{
    Closer, Extras, Forge, ForgeError, NewPull, OpenPulls, PullPatch, PullRequest, PullState, Status,
    preflight::{Needed, Seen, Subject},
};
use crate::{
    policy::StatusCheck,
    repo::{CommitId, Refs, Signature},
    sys::{clock::Clock, http::Http},
};

/// The context of our status.
const CONTEXT: &str = "uplinker/verify";
/// The entries on a page of a list, as many as GitHub gives.
const PAGE: usize = 100;
/// The most pages of a list that are read.
const PAGES: usize = 10;
/// The most bytes of one answer.
const LARGEST: usize = 32 << 20;
/// The longest wait for a rate limit to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause before a read is repeated; the second is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The most answers that are kept for conditional requests.
const KEPT: usize = 64;
/// The workflow token's user: it may not ask who it is.
const ACTIONS: (&str, &str) =
    ("github-actions[bot]", "41898282+github-actions[bot]@users.noreply.github.com");

/// The pauses after which GitHub is asked again for what it did not show a moment ago: seven seconds in all.
fn until_it_shows() -> ExponentialBuilder {
    ExponentialBuilder::default().with_min_delay(Duration::from_secs(1)).with_max_times(3)
}

/// One repository on GitHub.
pub struct GitHub<'h> {
    http: &'h Http,
    client: Octocrab,
    /// GraphQL has a root of its own on an Enterprise Server.
    graph: Octocrab,
    address: Address,
    kept: Mutex<HashMap<String, (String, Vec<u8>)>>,
    me: OnceLock<Signature>,
    /// Whether a pull request was opened with the workflow's own token.
    by_actions: AtomicBool,
}

/// A method and what is sent with it.
enum Method<'a> {
    Get,
    Post(&'a Value),
    Patch(&'a Value),
    Put(&'a Value),
    Delete,
    /// A question in GraphQL.
    Ask(&'a Value),
}

// === impl GitHub ===

impl<'h> GitHub<'h> {
    /// Connects nothing yet. `token` is `None` for a public repository that is only read.
    pub fn new(http: &'h Http, address: Address, token: Option<&SecretString>) -> Result<Self, ForgeError> {
        let fail =
            |reason: &str| ForgeError::Auth { host: address.host().to_owned(), reason: reason.to_owned() };
        let token = token.map(|token| token.expose_secret().trim());
        // octocrab would panic on it.
        if token.is_some_and(|text| text.is_empty() || !text.bytes().all(|b| b.is_ascii_graphic())) {
            return Err(fail("it is empty or has characters that no token has"));
        }
        let connect = |root: &str| connect(http, root, token).map_err(fail);
        let client = connect(address.api())?;
        let graph = match address.graphql() {
            root if root == address.api() => client.clone(),
            root => connect(root)?,
        };
        Ok(Self {
            http,
            client,
            graph,
            address,
            kept: Mutex::default(),
            me: OnceLock::new(),
            by_actions: AtomicBool::default(),
        })
    }

    fn repo(&self, rest: &str) -> String {
        format!("/repos/{}/{}{rest}", self.address.owner(), self.address.name())
    }

    /// Reads, with the last answer's ETag, and tries again where that may help.
    fn get(&self, path: &str, asked: &Asked<'_>) -> Result<Reply, Refused> {
        self.read(&Method::Get, path, asked)
    }

    /// Asks in GraphQL, which changes nothing either.
    fn ask(&self, question: &Value, asked: &Asked<'_>) -> Result<Reply, Refused> {
        self.read(&Method::Ask(question), "/graphql", asked)
    }

    fn read(&self, method: &Method<'_>, path: &str, asked: &Asked<'_>) -> Result<Reply, Refused> {
        let read = || self.send(method, path, asked);
        let pauses = ExponentialBuilder::default().with_min_delay(FIRST_PAUSE).with_max_times(2);
        let reply = read.retry(pauses).when(|e| matches!(e, ForgeError::Temporary { .. })).call()?;
        self.accept(reply, asked)
    }

    /// Writes, once; and again where the answer was that GitHub does not see yet what it is about, since then nothing
    /// was done.
    fn put(&self, method: &Method<'_>, path: &str, asked: &Asked<'_>) -> Result<Reply, Refused> {
        let write = || self.accept(self.send(method, path, asked)?, asked);
        write.retry(until_it_shows()).when(|e| e.known == Some(Known::Behind)).call()
    }

    fn accept(&self, reply: Reply, asked: &Asked<'_>) -> Result<Reply, Refused> {
        let moved = reply.moved_to();
        reply.accept(asked).map_err(|refused| match refused.error {
            ForgeError::Renamed { from, .. } => {
                ForgeError::Renamed { from, to: moved.and_then(|id| self.name_of(id)) }.into()
            }
            error => Refused { error, ..refused },
        })
    }

    /// The name that a repository has now, to be told; nothing else is asked or written there.
    fn name_of(&self, id: u64) -> Option<String> {
        let asked = self.asked("cannot read the repository's name", "metadata: read");
        let reply = self.send(&Method::Get, &format!("/repositories/{id}"), &asked).ok()?;
        Some(reply.accept(&asked).ok()?.json::<wire::Repo>(&asked).ok()?.full_name)
    }

    /// Sends a request and waits for a rate limit that ends soon: what it refused was not done.
    fn send(&self, method: &Method<'_>, path: &str, asked: &Asked<'_>) -> Result<Reply, ForgeError> {
        let reply = self.http.block_on(self.exchange(method, path))?;
        let Some(wait) = reply.rate_limit() else { return reply.unless_broken(asked) };
        if wait <= PATIENCE {
            tracing::info!(seconds = wait.as_secs(), "waiting for the forge's rate limit");
            let again = self.http.block_on(async {
                tokio::time::sleep(wait).await;
                self.exchange(method, path).await
            })?;
            if again.rate_limit().is_none() {
                return again.unless_broken(asked);
            }
            return Err(again.limited(self.address.host()));
        }
        Err(reply.limited(self.address.host()))
    }

    async fn exchange(&self, method: &Method<'_>, path: &str) -> Result<Reply, ForgeError> {
        let kept = self.kept.lock().ok().and_then(|kept| kept.get(path).cloned());
        let (response, cached) = match method {
            Method::Get => {
                let etag = kept.as_ref().and_then(|(etag, _)| Some((IF_NONE_MATCH, etag.parse().ok()?)));
                let headers: HeaderMap = etag.into_iter().collect();
                (self.client._get_with_headers(path, Some(headers)).await, kept)
            }
            Method::Post(body) => (self.client._post(path, Some(body)).await, None),
            Method::Patch(body) => (self.client._patch(path, Some(body)).await, None),
            Method::Put(body) => (self.client._put(path, Some(body)).await, None),
            Method::Delete => (self.client._delete(path, None::<&()>).await, None),
            Method::Ask(body) => (self.graph._post(path, Some(body)).await, None),
        };
        let broken = |reason: String| ForgeError::Temporary { host: self.address.host().to_owned(), reason };
        let response = response.map_err(|e| broken(answer::without_backtrace(&e)))?;
        // As a response of reqwest it can be read piece by piece, up to a limit.
        let mut response = reqwest::Response::from(response.map(reqwest::Body::wrap));
        let mut body = Vec::new();
        while let Some(chunk) =
            response.chunk().await.map_err(|_| broken("the connection broke".to_owned()))?
        {
            if body.len() + chunk.len() > LARGEST {
                return Err(broken(format!("an answer has more than {LARGEST} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        let mut reply = Reply {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body,
            received: Clock::System.now(),
        };
        match (reply.status, cached) {
            (304, Some((_, body))) => (reply.status, reply.body) = (200, body),
            (200, _) if matches!(method, Method::Get) => self.keep(path, &reply),
            _ => {}
        }
        Ok(reply)
    }

    fn keep(&self, path: &str, reply: &Reply) {
        let Some(etag) = reply.headers.get(ETAG).and_then(|v| v.to_str().ok()) else { return };
        if let Ok(mut kept) = self.kept.lock() {
            if kept.len() >= KEPT {
                kept.clear();
            }
            kept.insert(path.to_owned(), (etag.to_owned(), reply.body.clone()));
        }
    }

    /// Reads all pages of a list.
    fn list<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        asked: &Asked<'_>,
    ) -> Result<Vec<T>, ForgeError> {
        let mut all = Vec::new();
        let sign = if path.contains('?') { '&' } else { '?' };
        for page in 1..=PAGES {
            let reply = self.get(&format!("{path}{sign}per_page={PAGE}&page={page}"), asked)?;
            all.extend(reply.json::<Vec<T>>(asked)?);
            if !reply.has_next() {
                break;
            }
        }
        Ok(all)
    }

    fn asked(&self, what: &'static str, permission: &'static str) -> Asked<'_> {
        Asked { what, permission, host: self.address.host(), repository: self.address.full_name() }
    }

    /// The open pull request from a branch to a base: what a lost answer may have made.
    fn opened(&self, pull: &NewPull) -> Result<Option<PullRequest>, ForgeError> {
        let open = |p: &PullRequest| p.state == PullState::Open && p.base == pull.base;
        Ok(self.pulls(&pull.head)?.into_iter().find(open))
    }

    fn post_pull(&self, pull: &NewPull, draft: bool) -> Result<PullRequest, Refused> {
        let asked = self.asked("cannot open a pull request", "pull-requests: write");
        let body = json!({
            "title": pull.title,
            "body": pull.body,
            "head": pull.head,
            "base": pull.base,
            "draft": draft,
        });
        let made: Pull = self.put(&Method::Post(&body), &self.repo("/pulls"), &asked)?.json(&asked)?;
        self.by_actions.store(made.is_by(ACTIONS.0), Ordering::Relaxed);
        Ok(made.into())
    }
}

/// Sets a client up for one of the API's roots.
fn connect(http: &Http, root: &str, token: Option<&str>) -> Result<Octocrab, &'static str> {
    // Without octocrab's feature `retry`, which would send a POST again.
    let mut builder =
        Octocrab::builder().base_uri(root).map_err(|_| "the address of the API cannot be used")?;
    if let Some(token) = token {
        builder = builder.personal_token(token.to_owned());
    }
    let accept = (HeaderName::from_static("accept"), "application/vnd.github+json".to_owned());
    let builder = builder.add_header(accept.0, accept.1);
    // No redirect is followed: a write cannot be sent again, so that a renamed repository would be read and pushed to
    // before that shows; and none leads the token to a host that nobody configured.
    let client = http.staying_client().clone();
    // octocrab starts a task of its own, so it needs the runtime.
    http.block_on(async { builder.build_with_reqwest(client) }).map_err(|_| "the client cannot be set up")
}

impl Forge for GitHub<'_> {
    fn preflight(&self, needed: &Needed) -> Vec<(Subject, Seen)> {
        self.look(needed)
    }

    fn pulls(&self, branch: &str) -> Result<Vec<PullRequest>, ForgeError> {
        let asked = self.asked("cannot list pull requests", "pull-requests: read");
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("state", "all")
            .append_pair("head", &format!("{}:{branch}", self.address.owner()))
            .append_pair("sort", "created")
            .append_pair("direction", "desc")
            .finish();
        let pulls: Vec<Pull> = self.list(&format!("{}?{query}", self.repo("/pulls")), &asked)?;
        // A `head` that GitHub does not understand lists everything.
        Ok(pulls.into_iter().filter(|p| p.is_from(branch)).map(PullRequest::from).collect())
    }

    fn open_pulls(&self, branches: &[String]) -> Result<Option<OpenPulls>, ForgeError> {
        let asked = self.asked("cannot list pull requests", "pull-requests: read");
        let path = self.repo(&format!("/pulls?state=open&per_page={PAGE}&page=1"));
        let reply = self.get(&path, &asked)?;
        if reply.has_next() {
            return Ok(None);
        }
        let pulls: Vec<Pull> = reply.json(&asked)?;
        let mut open = OpenPulls::new();
        for pull in pulls {
            if let Some(branch) = branches.iter().find(|branch| pull.is_from(branch)) {
                open.entry(branch.clone()).or_default().push(pull.into());
            }
        }
        Ok(Some(open))
    }

    fn pull(&self, number: u64) -> Result<PullRequest, ForgeError> {
        let asked = self.asked("cannot read the pull request", "pull-requests: read");
        let path = self.repo(&format!("/pulls/{number}"));
        // Its number came from GitHub, so that it is there: where it is not found, it does not show yet.
        let read = || self.get(&path, &asked).map_err(|refused| refused.late(&asked));
        let reply = read.retry(until_it_shows()).when(|e| e.known == Some(Known::Behind)).call()?;
        Ok(reply.json::<Pull>(&asked)?.into())
    }

    fn closer(&self, number: u64) -> Result<Closer, ForgeError> {
        let asked = self.asked("cannot read who closed the pull request", "pull-requests: read");
        let events: Vec<Event> = self.list(&self.repo(&format!("/issues/{number}/events")), &asked)?;
        Ok(wire::closer(&events))
    }

    /// GitHub tests each entry of a queue on a branch of its own, `gh-readonly-queue/main/pr-1-<commit>`.
    fn is_queued(&self, pull: &PullRequest, refs: &Refs) -> bool {
        let start = format!("gh-readonly-queue/{}/pr-{}-", pull.base, pull.number);
        pull.state == PullState::Open && refs.branches.keys().any(|branch| branch.starts_with(&start))
    }

    fn open(&self, pull: &NewPull) -> Result<PullRequest, ForgeError> {
        let result = match self.post_pull(pull, pull.draft) {
            Err(Refused { known: Some(Known::NoDrafts), .. }) => self.post_pull(pull, false),
            result => result,
        };
        let refused = match result {
            Ok(opened) => return Ok(opened),
            Err(refused) => refused,
        };
        match (refused.known, refused.error) {
            (Some(Known::AlreadyOpen), error) => {
                let find = || self.opened(pull).map_err(Some)?.ok_or(None);
                let found = find.retry(until_it_shows()).when(Option::is_none).call();
                found.map_err(|failed| failed.unwrap_or(error))
            }
            // The answer may be lost after it was opened.
            (None, error @ ForgeError::Temporary { .. }) => self.opened(pull)?.ok_or(error),
            (_, ForgeError::PullsForbidden { .. }) => {
                Err(ForgeError::PullsForbidden { compare: self.compare_url(&pull.base, &pull.head) })
            }
            (_, error) => Err(error),
        }
    }

    fn update(&self, number: u64, patch: &PullPatch) -> Result<(), ForgeError> {
        let asked = self.asked("cannot change the pull request", "pull-requests: write");
        let mut body = serde_json::Map::new();
        let state = patch.state.map(|s| if s == PullState::Open { "open" } else { "closed" });
        let fields = [("title", patch.title.as_deref()), ("body", patch.body.as_deref()), ("state", state)];
        body.extend(fields.into_iter().filter_map(|(k, v)| Some((k.to_owned(), Value::from(v?)))));
        let path = self.repo(&format!("/pulls/{number}"));
        self.put(&Method::Patch(&Value::Object(body)), &path, &asked)?;
        Ok(())
    }

    fn add_labels_and_reviewers(
        &self,
        pull: &PullRequest,
        extras: &Extras,
    ) -> Result<Vec<String>, ForgeError> {
        let mut lines = Vec::new();
        if !extras.labels.is_empty() {
            lines.extend(self.labels(pull.number, &extras.labels)?);
        }
        if !extras.reviewers.is_empty() {
            lines.extend(self.reviewers(pull.number, &extras.reviewers)?);
        }
        if !extras.assignees.is_empty() {
            lines.extend(self.assignees(pull.number, &extras.assignees)?);
        }
        Ok(lines)
    }

    fn unlabel(&self, number: u64, label: &str) -> Result<(), ForgeError> {
        let asked = self.asked("cannot remove a label", "pull-requests: write");
        let label = percent_encoding::utf8_percent_encode(label, percent_encoding::NON_ALPHANUMERIC);
        let path = self.repo(&format!("/issues/{number}/labels/{label}"));
        match self.put(&Method::Delete, &path, &asked).map_err(ForgeError::from) {
            // Somebody took it off before.
            Err(ForgeError::NotFound(_)) => Ok(()),
            result => result.map(drop),
        }
    }

    fn status(&self, commit: CommitId, status: &Status, page: Option<&str>) -> Result<(), ForgeError> {
        let asked = self.asked("cannot set the status", "statuses: write");
        let description: String = status.description.chars().take(140).collect();
        let state = if status.success { "success" } else { "failure" };
        let mut body = json!({"state": state, "context": CONTEXT, "description": description});
        if let (Some(page), Some(fields)) = (page, body.as_object_mut()) {
            fields.insert("target_url".to_owned(), page.into());
        }
        self.put(&Method::Post(&body), &self.repo(&format!("/statuses/{commit}")), &asked)?;
        Ok(())
    }

    fn status_checks(&self, commits: &[CommitId]) -> Result<Option<Vec<StatusCheck>>, ForgeError> {
        self.read_status_checks(commits).map(Some)
    }

    fn verified_at(&self, commit: CommitId) -> Result<Option<Timestamp>, ForgeError> {
        self.read_verified_at(commit)
    }

    fn merge(&self, number: u64, head: CommitId) -> Result<(), ForgeError> {
        self.merge_pull(number, head)
    }

    fn identity(&self) -> Result<Option<Signature>, ForgeError> {
        if let Some(me) = self.me.get() {
            return Ok(Some(me.clone()));
        }
        let me = self.who()?;
        Ok(Some(self.me.get_or_init(|| me).clone()))
    }

    fn remarks(&self, _: &PullRequest) -> Vec<String> {
        let line = "its workflows wait until a person approves them, since the workflow's own token opened it; \
                    a GitHub App's token or a personal one starts them at once";
        Vec::from_iter(self.by_actions.load(Ordering::Relaxed).then(|| line.to_owned()))
    }

    fn compare_url(&self, base: &str, branch: &str) -> Option<String> {
        Some(self.address.compare(base, branch))
    }
}

//! Step 10, propose: GitHub and GitHub Enterprise as a forge, by REST over octocrab.
//!
//! In: the calls of [`Forge`]. Out: GitHub's answers in our words. Reads are repeated where that may help; a write is
//! never repeated blindly: the lists are read first, since a lost answer may hide a success. The token is in no
//! address, no log and no error.

mod address;
mod answer;
mod app;
mod extras;
mod identity;
mod issues;
mod listing;
mod merging;
mod preflight;
mod signing;
mod status_checks;
mod wire;

use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use octocrab::Octocrab;
use reqwest::header::{HeaderMap, HeaderName, IF_NONE_MATCH};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use self::wire::{Event, Pull};
pub use self::{
    address::Address,
    app::{App, AppError},
};
use super::{
    Closer, Extras, Forge, ForgeError, Grant, NewPull, OpenPulls, PullPatch, PullRequest, PullState, Recent,
    Status, Unsigned,
    issues::Issues,
    kind::{ACTIONS as ACTIONS_RUNNER, Kind, Opening},
    preflight::{Needed, Seen, Subject},
    rest::{
        self, Asked, AskedOnce, Known, Manners, Method, Refused, Reply, Rest, Sending, Wire, opened_after_all,
    },
    webhook::{Proof, Webhook},
};
use crate::{
    explain::Dialect,
    policy::StatusCheck,
    repo::{CommitId, Refs, Signature, SignedCommit},
    sys::http::Http,
};

/// GitHub, as it is chosen.
pub const KIND: Kind = Kind {
    name: "github",
    dialect: &DIALECT,
    hosts: &[("github.com", "https://api.github.com")],
    below: "/api/v3",
    groups: false,
    git_user: "x-access-token",
    runner: &ACTIONS_RUNNER,
    needs: "`contents: write` and `pull-requests: write`",
    open: |Opening { http, git_url, api, token, signs }| {
        let address = Address::of(git_url, Some(api)).map_err(|error| ForgeError::Rejected {
            what: "cannot tell the repository from its address".to_owned(),
            reason: error.to_string(),
        })?;
        let bot = token.is_some_and(|token| signing::is_of_a_bot(token.expose_secret().trim()));
        Ok(Box::new(GitHub { signs, bot, ..GitHub::new(http, address, token)? }))
    },
    list: listing::list,
    refusals: &answer::REFUSALS,
    webhook: &WEBHOOK,
};

/// How it delivers what happens.
const WEBHOOK: Webhook = Webhook {
    event: "x-github-event",
    events: &["push", "pull_request", "status", "check_run", "check_suite", "deployment_status"],
    proof: Proof::Signed { header: "x-hub-signature-256", prefix: "sha256=" },
    id: &["x-github-delivery"],
    addresses: &["/repository/clone_url", "/repository/ssh_url", "/repository/html_url"],
};
/// What GitHub takes, and what in a text does something there.
const DIALECT: Dialect = Dialect { forge: "GitHub", ..Dialect::COMMON };
/// How its API is spoken to.
const MANNERS: Manners = Manners {
    refused: answer::refused,
    grant: |name| Grant::Permission(name.to_owned()),
    page: ("per_page", PAGE),
};
/// The entries on a page of a list, as many as GitHub gives.
const PAGE: usize = 100;
/// The workflow token's user: it may not ask who it is.
const ACTIONS: (&str, &str) =
    ("github-actions[bot]", "41898282+github-actions[bot]@users.noreply.github.com");

/// One repository on GitHub.
pub struct GitHub<'h> {
    rest: Rest<'h>,
    /// GraphQL has a root of its own on an Enterprise Server.
    graph: Rest<'h>,
    address: Address,
    me: AskedOnce<Signature>,
    /// Whether a pull request was opened with the workflow's own token.
    by_actions: AtomicBool,
    /// Whether it is to sign commits.
    signs: bool,
    /// Whether the token is one that it signs for.
    bot: bool,
}

/// What octocrab sends.
struct ByOctocrab(Octocrab);

// === impl GitHub ===

impl<'h> GitHub<'h> {
    /// Connects nothing yet. `token` is `None` for a public repository that is only read.
    pub fn new(http: &'h Http, address: Address, token: Option<&SecretString>) -> Result<Self, ForgeError> {
        let fail =
            |reason: &str| ForgeError::Auth { host: address.host().to_owned(), reason: reason.to_owned() };
        let token = token.map(|token| rest::sound(token, address.host())).transpose()?;
        let repository = address.full_name();
        let connect = |root: &str| {
            let wire = Box::new(ByOctocrab(connect(http, root, token).map_err(fail)?));
            Ok::<_, ForgeError>(Rest::new(
                http,
                wire,
                MANNERS,
                (DIALECT.forge, address.host(), &repository),
                token,
            ))
        };
        let (rest, graph) = (connect(address.api())?, connect(address.graphql())?);
        let (me, by_actions) = (AskedOnce::new(), AtomicBool::default());
        Ok(Self { rest, graph, address, me, by_actions, signs: false, bot: false })
    }

    fn repo(&self, rest: &str) -> String {
        format!("/repos/{}/{}{rest}", self.address.owner(), self.address.name())
    }

    fn get(&self, path: &str, asked: &Asked<'_>) -> Result<Reply, Refused> {
        self.rest.get(path, asked).map_err(|refused| self.named(refused))
    }

    /// Asks in GraphQL, which changes nothing either.
    fn ask(&self, question: &Value, asked: &Asked<'_>) -> Result<Reply, Refused> {
        self.graph.read(Method::Post(question), "/graphql", asked)
    }

    fn put(&self, method: Method<'_>, path: &str, asked: &Asked<'_>) -> Result<Reply, Refused> {
        self.rest.put(method, path, asked).map_err(|refused| self.named(refused))
    }

    /// Reads all pages of a list.
    fn list<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        asked: &Asked<'_>,
    ) -> Result<Vec<T>, ForgeError> {
        Ok(self.rest.list(path, asked).map_err(|refused| self.named(refused))?)
    }

    /// The name that a repository has now, to be told; nothing else is asked or written there.
    fn named(&self, refused: Refused) -> Refused {
        let ForgeError::Renamed { from, to: None } = &refused.error else { return refused };
        let id = refused.place.as_deref().and_then(answer::repository_in);
        let asked = self.asked("cannot read the repository's name", "metadata: read");
        let read = |id: u64| -> Option<wire::Repo> {
            self.rest.once(Method::Get, &format!("/repositories/{id}"), &asked).ok()?.json(&asked).ok()
        };
        let to = id.and_then(read).map(|repo| repo.full_name);
        Refused { error: ForgeError::Renamed { from: from.clone(), to }, ..refused }
    }

    fn asked(&self, what: &'static str, permission: &'static str) -> Asked<'_> {
        self.rest.asked(what, permission)
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
        let made: Pull = self.put(Method::Post(&body), &self.repo("/pulls"), &asked)?.json(&asked)?;
        self.by_actions.store(made.is_by(ACTIONS.0), Ordering::Relaxed);
        Ok(made.into())
    }
}

impl Wire for ByOctocrab {
    fn send<'a>(&'a self, method: Method<'a>, path: &'a str, etag: Option<&'a str>) -> Sending<'a> {
        let client = &self.0;
        Box::pin(async move {
            let response = match method {
                Method::Get => {
                    let etag = etag.and_then(|etag| Some((IF_NONE_MATCH, etag.parse().ok()?)));
                    let headers: HeaderMap = etag.into_iter().collect();
                    client._get_with_headers(path, Some(headers)).await
                }
                Method::Post(body) => client._post(path, Some(body)).await,
                Method::Patch(body) => client._patch(path, Some(body)).await,
                Method::Put(body) => client._put(path, Some(body)).await,
                Method::Delete => client._delete(path, None::<&()>).await,
            };
            let response = response.map_err(|e| rest::innermost(&e))?;
            // As a response of reqwest it can be read piece by piece, up to a limit.
            Ok(reqwest::Response::from(response.map(reqwest::Body::wrap)))
        })
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
    let client = http.staying_client().clone();
    // octocrab starts a task of its own, so it needs the runtime.
    http.block_on(async { builder.build_with_reqwest(client) }).map_err(|_| "the client cannot be set up")
}

impl Forge for GitHub<'_> {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn preflight(&self, needed: &Needed) -> Vec<(Subject, Seen)> {
        self.look(needed)
    }

    fn issues(&self) -> Option<&dyn Issues> {
        Some(self)
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
        let reply = self.get(&self.rest.page(&self.repo("/pulls?state=open"), 1), &asked)?;
        rest::by_branch(&reply, &asked, branches, Pull::is_from)
    }

    fn recent_pulls(&self, branches: &[String]) -> Result<Option<Recent>, ForgeError> {
        let asked = self.asked("cannot list pull requests", "pull-requests: read");
        let newest_first = self.repo("/pulls?state=all&sort=updated&direction=desc");
        let reply = self.get(&self.rest.page(&newest_first, 1), &asked)?;
        rest::recent(&reply, &asked, branches, Pull::is_from, Pull::touched).map(Some)
    }

    fn pull(&self, number: u64) -> Result<PullRequest, ForgeError> {
        let asked = self.asked("cannot read the pull request", "pull-requests: read");
        let path = self.repo(&format!("/pulls/{number}"));
        let reply = self.rest.get_soon(&path, &asked).map_err(|refused| self.named(refused))?;
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
        match opened_after_all(self, pull, result) {
            Err(ForgeError::PullsForbidden { .. }) => {
                Err(ForgeError::PullsForbidden { compare: self.compare_url(&pull.base, &pull.head) })
            }
            result => result,
        }
    }

    fn update(&self, number: u64, patch: &PullPatch) -> Result<(), ForgeError> {
        let asked = self.asked("cannot change the pull request", "pull-requests: write");
        let body = rest::change(patch, patch.title.as_deref());
        self.put(Method::Patch(&body), &self.repo(&format!("/pulls/{number}")), &asked)?;
        Ok(())
    }

    fn add_labels_and_reviewers(
        &self,
        pull: &PullRequest,
        extras: &Extras,
    ) -> Result<Vec<String>, ForgeError> {
        let number = pull.number;
        rest::add(
            extras,
            &|labels| self.labels(number, labels),
            &|people| self.reviewers(number, people),
            &|people| self.assignees(number, people),
        )
    }

    fn unlabel(&self, number: u64, label: &str) -> Result<(), ForgeError> {
        let asked = self.asked("cannot remove a label", "pull-requests: write");
        let label = percent_encoding::utf8_percent_encode(label, percent_encoding::NON_ALPHANUMERIC);
        let path = self.repo(&format!("/issues/{number}/labels/{label}"));
        match self.put(Method::Delete, &path, &asked).map_err(ForgeError::from) {
            // Somebody took it off before.
            Err(ForgeError::NotFound(_)) => Ok(()),
            result => result.map(drop),
        }
    }

    fn status(&self, commit: CommitId, status: &Status, page: Option<&str>) -> Result<(), ForgeError> {
        let asked = self.asked("cannot set the status", "statuses: write");
        let body = rest::status(status, page, &DIALECT, "failure");
        self.put(Method::Post(&body), &self.repo(&format!("/statuses/{commit}")), &asked)?;
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

    fn signs(&self) -> Result<(), &'static str> {
        match (self.signs, self.bot) {
            (false, _) => Err("it is not asked to"),
            (true, false) => Err("it signs for Apps and workflows, and the token is a person's"),
            (true, true) => Ok(()),
        }
    }

    fn signing_hint(&self) -> Option<&'static str> {
        Some("`--commits api` has GitHub sign those of an App or a workflow")
    }

    fn sign(&self, unsigned: &Unsigned<'_>) -> Result<Option<SignedCommit>, ForgeError> {
        if self.signs().is_ok() { self.make(unsigned) } else { Ok(None) }
    }

    fn identity(&self) -> Result<Option<Signature>, ForgeError> {
        self.me.or_ask(|| self.who()).map(Some)
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

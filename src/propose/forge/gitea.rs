//! Step 10, propose: Gitea and Forgejo as a forge, by REST.
//!
//! In: the calls of [`Forge`]. Out: Gitea's answers in our words. Pull requests are not listed by their head there, so
//! that lists are read newest first, up to a bound, and those of other branches left out.

mod answer;
mod extras;
mod issues;
mod listing;
mod preflight;
mod wire;

use backon::BlockingRetryable;
use jiff::Timestamp;
use percent_encoding::utf8_percent_encode;
use secrecy::ExposeSecret as _;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{
    Closer, Extras, Forge, ForgeError, Grant, NewPull, OpenPulls, PullPatch, PullRequest, Recent, STATUS,
    Status,
    address::{Address, NoRepository, PATH},
    issues::Issues,
    kind::{ACTIONS, Kind, Opening},
    preflight::{Needed, Seen, Subject},
    rest::{
        self, Asked, AskedOnce, Known, Manners, Method, PAGES, Plain, Refused, Reply, Rest, Sent,
        opened_after_all, until_it_shows,
    },
    webhook::{Proof, Webhook},
};
use crate::{
    explain::Dialect,
    policy::StatusCheck,
    repo::{CommitId, Signature},
};

/// Gitea, as it is chosen.
pub const KIND: Kind = Kind {
    name: "gitea",
    dialect: &Dialect {
        forge: "Gitea",
        // `!1` is a pull request.
        signs: &['!'],
        draft: Some("WIP:"),
        // Neither a body nor a description has a bound of its own; these are more than anybody reads.
        body: 1 << 20,
        status: 250,
        ..Dialect::COMMON
    },
    hosts: &[("gitea.com", "https://gitea.com/api/v1")],
    below: API,
    groups: false,
    // It takes any.
    git_user: "x-access-token",
    // Its jobs are told so as those of GitHub are.
    runner: &ACTIONS,
    needs: "`write:repository`, `write:issue` for labels and people, and `read:user`",
    open: |opening| Ok(Box::new(Gitea::new(opening, KIND.dialect)?)),
    list: |asked| listing::list(asked, KIND.dialect.forge),
    refusals: &answer::REFUSALS,
    webhook: &WEBHOOK,
};

/// Forgejo, which answers as Gitea does.
pub const FORGEJO: Kind = Kind {
    name: "forgejo",
    dialect: &Dialect { forge: "Forgejo", ..*KIND.dialect },
    hosts: &[("codeberg.org", "https://codeberg.org/api/v1")],
    open: |opening| Ok(Box::new(Gitea::new(opening, FORGEJO.dialect)?)),
    list: |asked| listing::list(asked, FORGEJO.dialect.forge),
    ..KIND
};

/// How it delivers what happens. It sends the headers of GitHub's too, with fewer events.
const WEBHOOK: Webhook = Webhook {
    event: "x-gitea-event",
    // It says more of some, as in `pull_request_sync`.
    events: &["push", "pull_request", "status", "check_run", "check_suite", "workflow_run"],
    proof: Proof::Signed { header: "x-gitea-signature", prefix: "" },
    id: &["x-gitea-delivery"],
    addresses: &["/repository/clone_url", "/repository/ssh_url", "/repository/html_url"],
};
/// Where the API is below the forge's root.
const API: &str = "/api/v1";
/// How its API is spoken to. A page has 50 entries at the most, unless a server sets another bound.
const MANNERS: Manners =
    Manners { refused: answer::refused, grant: |scope| Grant::Scope(scope.to_owned()), page: ("limit", 50) };
/// How it takes a token.
const SENT: Sent = Sent { header: "authorization", before: "token " };
/// What begins the title of a draft, unless a server sets it otherwise.
const DRAFTS: [&str; 2] = ["WIP:", "[WIP]"];

/// One repository on Gitea.
pub struct Gitea<'h> {
    rest: Rest<'h>,
    address: Address,
    owner: String,
    dialect: &'static Dialect,
    me: AskedOnce<Option<Signature>>,
}

// === impl Gitea ===

impl<'h> Gitea<'h> {
    /// Connects nothing yet.
    fn new(opening: Opening<'h, '_>, dialect: &'static Dialect) -> Result<Self, ForgeError> {
        let Opening { http, git_url, api, token, .. } = opening;
        let rejected = |error: NoRepository| ForgeError::Rejected {
            what: "cannot tell the repository from its address".to_owned(),
            reason: error.to_string(),
        };
        let address = Address::of(git_url, api, API).map_err(rejected)?;
        // It has no groups in groups.
        let pair = address.path.split_once('/').filter(|(_, name)| !name.contains('/'));
        let (owner, _) = pair.ok_or_else(|| rejected(NoRepository::new(git_url, "is not owner/name")))?;
        let wire = Plain::new(http, (&address.api, &address.host), token, SENT)?;
        let secret = token.map(|token| token.expose_secret());
        let rest =
            Rest::new(http, Box::new(wire), MANNERS, (dialect.forge, &address.host, &address.path), secret);
        let owner = owner.to_owned();
        Ok(Self { rest, address, owner, dialect, me: AskedOnce::new() })
    }

    fn repo(&self, rest: &str) -> String {
        format!("/repos/{}{rest}", self.address.path)
    }

    fn get(&self, path: &str, asked: &Asked<'_>) -> Result<Reply, Refused> {
        self.rest.get(path, asked).map_err(named)
    }

    fn put(&self, method: Method<'_>, path: &str, asked: &Asked<'_>) -> Result<Reply, Refused> {
        self.rest.put(method, path, asked).map_err(named)
    }

    fn list<T: DeserializeOwned>(&self, path: &str, asked: &Asked<'_>) -> Result<Vec<T>, ForgeError> {
        Ok(self.rest.list(path, asked).map_err(named)?)
    }

    fn read(&self, number: u64) -> Result<wire::Pull, ForgeError> {
        let asked = self.rest.asked("cannot read the pull request", "read:repository");
        let path = self.repo(&format!("/pulls/{number}"));
        self.rest.get_soon(&path, &asked).map_err(named)?.json(&asked)
    }

    /// The pull requests from a branch in one state; whether all were looked at.
    fn list_branch(&self, branch: &str, state: &str) -> Result<(Vec<wire::Pull>, bool), ForgeError> {
        let asked = self.rest.asked("cannot list pull requests", "read:repository");
        let path = self.repo(&format!("/pulls?state={state}&sort=recentupdate"));
        let list = || {
            let mut found = Vec::new();
            let all = self.rest.each_page(&path, &asked, |page: Vec<wire::Pull>| {
                found.extend(page.into_iter().filter(|pull| pull.is_from(branch)));
                true
            });
            match all.map_err(named) {
                Ok(all) => Ok((found, all)),
                Err(Refused { error: ForgeError::NotFound(_), .. }) => Err(self.why_not_found(&asked)),
                Err(refused) => Err(refused),
            }
        };
        Ok(list.retry(until_it_shows()).when(|e| e.known == Some(Known::Behind)).call()?)
    }

    /// Gitea says the same of pull requests that are turned off, of a repository that is not there, and of one whose first push it
    /// has not looked at yet.
    fn why_not_found(&self, asked: &Asked<'_>) -> Refused {
        let repo = self.get(&self.repo(""), asked).map_err(ForgeError::from);
        match repo.and_then(|reply| reply.json::<wire::Repo>(asked)) {
            Ok(wire::Repo { has_pull_requests: Some(false), .. }) => self.pulls_off().into(),
            Ok(wire::Repo { empty: true, .. }) => Known::Behind.refused(asked),
            Ok(_) => ForgeError::NotFound(self.address.path.clone()).into(),
            Err(error) => error.into(),
        }
    }

    fn pulls_off(&self) -> ForgeError {
        ForgeError::PullsOff { repository: self.address.path.clone(), request: self.dialect.request }
    }

    fn post_pull(&self, pull: &NewPull) -> Result<PullRequest, Refused> {
        let asked = self.rest.asked("cannot open a pull request", "write:repository");
        let prefix = if pull.draft { DRAFTS[0] } else { "" };
        let title = format!("{prefix} {}", pull.title);
        let body = json!({
            "title": title.trim_start(),
            "body": pull.body,
            "head": pull.head,
            "base": pull.base,
        });
        let post = || match self.rest.once(Method::Post(&body), &self.repo("/pulls"), &asked).map_err(named) {
            // The branch that was pushed a moment ago does not show yet, or pull requests are turned off.
            Err(Refused { error: ForgeError::NotFound(_), .. }) => {
                Err(self.why_not_found(&asked).late(&asked))
            }
            reply => reply,
        };
        let reply = post.retry(until_it_shows()).when(|e| e.known == Some(Known::Behind)).call()?;
        Ok(reply.json::<wire::Pull>(&asked)?.into())
    }

    fn said(&self, commit: CommitId) -> Result<Vec<wire::Status>, ForgeError> {
        let asked = self.rest.asked("cannot read the status of the commit", "read:repository");
        self.list(&self.repo(&format!("/statuses/{commit}")), &asked)
    }

    /// Who the token is; nothing where the token may not ask.
    fn who(&self) -> Result<Option<Signature>, ForgeError> {
        let asked = self.rest.asked("cannot read the token's user", "read:user");
        let user: wire::User = match self.rest.get("/user", &asked).map_err(ForgeError::from) {
            Ok(reply) => reply.json(&asked)?,
            Err(error) if error.is_refusal() => return Ok(None),
            Err(error) => return Err(error),
        };
        let settings = self.rest.get("/user/settings", &asked).map_err(ForgeError::from);
        let settings = settings.and_then(|reply| reply.json::<wire::Settings>(&asked)).unwrap_or_default();
        let hidden = format!("{}@noreply.{}", user.login.to_lowercase(), self.address.host);
        let email = if settings.hide_email || !user.email.contains('@') { hidden } else { user.email };
        Ok(Some(Signature::of_profile(&user.full_name, &user.login, &email)))
    }
}

/// The name that a repository has now, to be told; nothing is asked or written there.
fn named(refused: Refused) -> Refused {
    let ForgeError::Renamed { from, to: None } = &refused.error else { return refused };
    let to = refused.place.as_deref().and_then(answer::repository_in);
    Refused { error: ForgeError::Renamed { from: from.clone(), to }, ..refused }
}

impl Forge for Gitea<'_> {
    fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    fn preflight(&self, needed: &Needed) -> Vec<(Subject, Seen)> {
        self.look(needed)
    }

    fn issues(&self) -> Option<&dyn Issues> {
        Some(self)
    }

    fn pulls(&self, branch: &str) -> Result<Vec<PullRequest>, ForgeError> {
        let (mut found, all) = self.list_branch(branch, "all")?;
        // Whatever lies behind the bound, an open one is never opened twice.
        if !all && found.is_empty() {
            found = self.list_branch(branch, "open")?.0;
        }
        let mut found: Vec<PullRequest> = found.into_iter().map(PullRequest::from).collect();
        found.sort_by_key(|pull| std::cmp::Reverse(pull.number));
        // Another page may have moved while it was read.
        found.dedup_by_key(|pull| pull.number);
        Ok(found)
    }

    fn open_pulls(&self, branches: &[String]) -> Result<Option<OpenPulls>, ForgeError> {
        let asked = self.rest.asked("cannot list pull requests", "read:repository");
        let reply = self.get(&self.rest.page(&self.repo("/pulls?state=open"), 1), &asked)?;
        rest::by_branch(&reply, &asked, branches, wire::Pull::is_from)
    }

    fn recent_pulls(&self, branches: &[String]) -> Result<Option<Recent>, ForgeError> {
        let asked = self.rest.asked("cannot list pull requests", "read:repository");
        let newest_first = self.repo("/pulls?state=all&sort=recentupdate");
        let reply = self.get(&self.rest.page(&newest_first, 1), &asked)?;
        rest::recent(&reply, &asked, branches, wire::Pull::is_from, wire::Pull::touched).map(Some)
    }

    fn pull(&self, number: u64) -> Result<PullRequest, ForgeError> {
        Ok(self.read(number)?.into())
    }

    fn closer(&self, number: u64) -> Result<Closer, ForgeError> {
        let asked = self.rest.asked("cannot read who closed the pull request", "read:issue");
        let path = self.repo(&format!("/issues/{number}/timeline"));
        let mut events: Vec<wire::Event> = Vec::new();
        // This list names no next page, and leaves out of a page what it does not show.
        for page in 1..=PAGES {
            let reply = self.get(&self.rest.page(&path, page), &asked)?;
            let more = reply.json::<Option<Vec<wire::Event>>>(&asked)?.unwrap_or_default();
            if more.is_empty() {
                break;
            }
            events.extend(more);
        }
        Ok(wire::closer(&events))
    }

    fn open(&self, pull: &NewPull) -> Result<PullRequest, ForgeError> {
        opened_after_all(self, pull, self.post_pull(pull))
    }

    fn update(&self, number: u64, patch: &PullPatch) -> Result<(), ForgeError> {
        let asked = self.rest.asked("cannot change the pull request", "write:repository");
        // A draft is one by its title, and stays one until a person takes that away.
        let title = match &patch.title {
            Some(title) => Some(format!("{}{title}", rest::draft_prefix(&self.read(number)?.title, &DRAFTS))),
            None => None,
        };
        let body = rest::change(patch, title.as_deref());
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
        self.take_off(number, label)
    }

    fn status(&self, commit: CommitId, status: &Status, page: Option<&str>) -> Result<(), ForgeError> {
        let asked = self.rest.asked("cannot set the status", "write:repository");
        let body = rest::status(status, page, self.dialect, "failure");
        self.put(Method::Post(&body), &self.repo(&format!("/statuses/{commit}")), &asked)?;
        Ok(())
    }

    fn status_checks(&self, commits: &[CommitId]) -> Result<Option<Vec<StatusCheck>>, ForgeError> {
        let mut checks = Vec::new();
        for commit in commits {
            let newest = wire::Status::newest(self.said(*commit)?);
            checks.extend(newest.into_iter().filter(|s| s.context != STATUS).map(wire::Status::check));
        }
        Ok(Some(checks))
    }

    fn verified_at(&self, commit: CommitId) -> Result<Option<Timestamp>, ForgeError> {
        let mut ours = self.said(commit)?;
        ours.retain(|said| said.context == STATUS);
        ours.sort_by_key(|said| std::cmp::Reverse(said.id));
        Ok(rest::success_since(ours.iter().map(|said| (said.status.as_str(), said.created_at))))
    }

    /// Sent once: whether a lost answer was a success, the next run sees.
    fn merge(&self, number: u64, head: CommitId) -> Result<(), ForgeError> {
        let asked = self.rest.asked("cannot merge the pull request", "write:repository");
        let pull = self.read(number)?;
        let method = pull.base.repo.as_ref().map_or("merge", wire::Repo::method);
        let body = json!({"Do": method, "head_commit_id": head.to_string()});
        let path = self.repo(&format!("/pulls/{number}/merge"));
        self.rest.once(Method::Post(&body), &path, &asked).map_err(named)?;
        Ok(())
    }

    fn identity(&self) -> Result<Option<Signature>, ForgeError> {
        self.me.or_ask(|| self.who())
    }

    fn compare_url(&self, base: &str, branch: &str) -> Option<String> {
        let (base, branch) = (utf8_percent_encode(base, PATH), utf8_percent_encode(branch, PATH));
        Some(format!("{}/{}/compare/{base}...{branch}", self.address.web, self.address.path))
    }
}

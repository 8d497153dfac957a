//! Step 10, propose: GitLab as a forge, by REST: gitlab.com and servers of one's own, in groups of any depth.
//!
//! In: the calls of [`Forge`]. Out: GitLab's answers in our words. Pull requests are merge requests there, and are known
//! by their number in the project, which its API calls `iid`.

mod answer;
mod extras;
mod issues;
mod listing;
mod merging;
mod preflight;
mod statuses;
mod wire;

use jiff::Timestamp;
use percent_encoding::{AsciiSet, utf8_percent_encode};
use secrecy::ExposeSecret as _;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{
    Closer, Extras, Forge, ForgeError, Grant, NewPull, OpenPulls, PullPatch, PullRequest, PullState, Recent,
    Status,
    address::{Address, NoRepository, PATH},
    issues::Issues,
    kind::{Kind, Opening, Runner},
    preflight::{Needed, Seen, Subject},
    rest::{self, Asked, AskedOnce, Manners, Method, Plain, Refused, Reply, Rest, Sent, opened_after_all},
    webhook::{Proof, Webhook},
};
use crate::{
    explain::Dialect,
    policy::StatusCheck,
    repo::{CommitId, Signature},
    sys::env,
};

/// GitLab, as it is chosen.
pub const KIND: Kind = Kind {
    name: "gitlab",
    dialect: &Dialect {
        forge: "GitLab",
        request: "merge request",
        number_sign: '!',
        // 255 with the prefix of a draft.
        title: 248,
        body: 1 << 20,
        status: 255,
        // Merge requests, milestones, labels, snippets and mathematics, epics, alerts, iterations, vulnerabilities.
        signs: &['!', '%', '~', '$', '&', '^', '*', '['],
        // `/close` at the start of a line closes.
        commands: true,
        draft: Some(DRAFTS[0]),
    },
    hosts: &[("gitlab.com", "https://gitlab.com/api/v4")],
    below: API,
    groups: true,
    // Of OAuth; it takes any for the others.
    git_user: "oauth2",
    runner: &Runner {
        inside: env::bare(
            "GITLAB_CI",
            "`true` inside GitLab CI/CD; the three variables below count only then.",
        ),
        server: "CI_SERVER_URL",
        api: "CI_API_V4_URL",
        repository: "CI_PROJECT_PATH",
    },
    needs: "the scope `api` and the role Developer in the project",
    open: |opening| Ok(Box::new(GitLab::new(opening)?)),
    list: listing::list,
    refusals: &answer::REFUSALS,
    webhook: &WEBHOOK,
};

/// How it delivers what happens. Some events tell of the project, some of the repository.
const WEBHOOK: Webhook = Webhook {
    event: "x-gitlab-event",
    events: &["Push Hook", "Merge Request Hook", "Pipeline Hook", "Job Hook", "Deployment Hook"],
    proof: Proof::Shared { header: "x-gitlab-token" },
    id: &["idempotency-key", "x-gitlab-event-uuid"],
    addresses: &[
        "/project/git_http_url",
        "/project/git_ssh_url",
        "/project/web_url",
        "/repository/git_http_url",
        "/repository/git_ssh_url",
    ],
};
/// Where the API is below the forge's root.
const API: &str = "/api/v4";
/// How its API is spoken to.
const MANNERS: Manners = Manners {
    refused: answer::refused,
    grant: |scope| match scope {
        SCOPE => Grant::ScopeOrRole(SCOPE, ROLE),
        other => Grant::Scope(other.to_owned()),
    },
    page: ("per_page", 100),
};
/// The scope that allows all that is asked, Git over HTTPS too.
const SCOPE: &str = "api";
/// The least role that may write.
const ROLE: &str = "Developer";
/// How it takes a token: so those of people, projects, groups and of OAuth alike.
const SENT: Sent = Sent { header: "authorization", before: "Bearer " };
/// What begins the title of a draft.
const DRAFTS: [&str; 3] = ["Draft:", "[Draft]", "(Draft)"];
/// How the token of a job begins, which may neither open a merge request nor set a status.
const OF_A_JOB: &str = "glcbt-";

/// One project on GitLab.
pub struct GitLab<'h> {
    rest: Rest<'h>,
    address: Address,
    /// Its place in the API: the path with all its groups, as one part.
    project: String,
    me: AskedOnce<Option<Signature>>,
}

// === impl GitLab ===

impl<'h> GitLab<'h> {
    /// Connects nothing yet.
    fn new(opening: Opening<'h, '_>) -> Result<Self, ForgeError> {
        let Opening { http, git_url, api, token, .. } = opening;
        let rejected = |error: NoRepository| ForgeError::Rejected {
            what: "cannot tell the project from its address".to_owned(),
            reason: error.to_string(),
        };
        let address = Address::of(git_url, api, API).map_err(rejected)?;
        if token.is_some_and(|token| token.expose_secret().trim().starts_with(OF_A_JOB)) {
            let reason = "it is the token of a job, which may not open merge requests; make an access token of the \
                          project with the scope `api` and the role Developer";
            return Err(ForgeError::Auth { host: address.host, reason: reason.to_owned() });
        }
        let forge = KIND.dialect.forge;
        let wire = Plain::new(http, (&address.api, &address.host), token, SENT)?;
        let secret = token.map(|token| token.expose_secret());
        let rest = Rest::new(http, Box::new(wire), MANNERS, (forge, &address.host, &address.path), secret);
        let project = format!("/projects/{}", encoded(&address.path));
        Ok(Self { rest, address, project, me: AskedOnce::new() })
    }

    fn asked(&self, what: &'static str) -> Asked<'_> {
        self.rest.asked(what, SCOPE)
    }

    fn at(&self, below: &str) -> String {
        format!("{}{below}", self.project)
    }

    fn get(&self, path: &str, asked: &Asked<'_>) -> Result<Reply, Refused> {
        self.rest.get(path, asked).map_err(|refused| self.explained(refused))
    }

    fn put(&self, method: Method<'_>, path: &str, asked: &Asked<'_>) -> Result<Reply, Refused> {
        self.rest.put(method, path, asked).map_err(|refused| self.explained(refused))
    }

    fn list<T: DeserializeOwned>(&self, path: &str, asked: &Asked<'_>) -> Result<Vec<T>, ForgeError> {
        Ok(self.rest.list(path, asked).map_err(|refused| self.explained(refused))?)
    }

    /// What stands behind a refusal that does not tell it: GitLab says the same 403 to a role that is too low, of a
    /// project that is archived, and where merge requests are turned off; and it sends the old name of a project to a
    /// number.
    fn explained(&self, refused: Refused) -> Refused {
        let asked = self.asked("cannot read the project");
        let read = |path: &str| -> Option<wire::Project> {
            self.rest.once(Method::Get, path, &asked).ok()?.json(&asked).ok()
        };
        let error = match &refused.error {
            ForgeError::Renamed { from, to: None } => {
                let id = refused.place.as_deref().and_then(answer::project_in);
                let to =
                    id.and_then(|id| read(&format!("/projects/{id}"))).map(|now| now.path_with_namespace);
                ForgeError::Renamed { from: from.clone(), to }
            }
            ForgeError::Permission { .. } => match read(&self.project) {
                Some(project) if project.archived => ForgeError::Archived(self.address.path.clone()),
                Some(project) if project.has_no_merge_requests() => pulls_off(&self.address.path),
                _ => return refused,
            },
            _ => return refused,
        };
        Refused { error, ..refused }
    }

    fn read(&self, number: u64) -> Result<wire::MergeRequest, ForgeError> {
        let asked = self.asked("cannot read the merge request");
        let path = self.at(&format!("/merge_requests/{number}"));
        self.rest.get_soon(&path, &asked).map_err(|refused| self.explained(refused))?.json(&asked)
    }

    /// Changes a merge request, and returns what became of it.
    fn change(
        &self,
        number: u64,
        body: &serde_json::Value,
        asked: &Asked<'_>,
    ) -> Result<wire::MergeRequest, ForgeError> {
        self.put(Method::Put(body), &self.at(&format!("/merge_requests/{number}")), asked)?.json(asked)
    }

    fn post_pull(&self, pull: &NewPull) -> Result<PullRequest, Refused> {
        let asked = self.asked("cannot open a merge request");
        let title = if pull.draft { format!("{} {}", DRAFTS[0], pull.title) } else { pull.title.clone() };
        let body = rest::fields([
            ("title", Some(&title)),
            ("description", Some(&pull.body)),
            ("source_branch", Some(&pull.head)),
            ("target_branch", Some(&pull.base)),
        ]);
        let reply = self.put(Method::Post(&body), &self.at("/merge_requests"), &asked)?;
        Ok(reply.json::<wire::MergeRequest>(&asked)?.into())
    }

    /// Who the token is; nothing where the token may not ask.
    fn who(&self) -> Result<Option<Signature>, ForgeError> {
        let asked = self.asked("cannot read the token's user");
        match self.rest.get("/user", &asked).map_err(ForgeError::from) {
            Ok(reply) => Ok(Some(reply.json::<wire::User>(&asked)?.signature(&self.address.host))),
            Err(error) if error.is_refusal() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Merge requests are turned off.
fn pulls_off(project: &str) -> ForgeError {
    ForgeError::PullsOff { repository: project.to_owned(), request: KIND.dialect.request }
}

/// A text as one part of a path, or as a value of a query.
fn encoded(text: &str) -> String {
    const PART: &AsciiSet = &PATH.add(b'/');
    utf8_percent_encode(text, PART).to_string()
}

impl Forge for GitLab<'_> {
    fn dialect(&self) -> &'static Dialect {
        KIND.dialect
    }

    fn preflight(&self, needed: &Needed) -> Vec<(Subject, Seen)> {
        self.look(needed)
    }

    fn issues(&self) -> Option<&dyn Issues> {
        Some(self)
    }

    fn pulls(&self, branch: &str) -> Result<Vec<PullRequest>, ForgeError> {
        let asked = self.asked("cannot list merge requests");
        let query = format!("state=all&source_branch={}&order_by=created_at&sort=desc", encoded(branch));
        let found: Vec<wire::MergeRequest> =
            self.list(&self.at(&format!("/merge_requests?{query}")), &asked)?;
        let mut own: Vec<PullRequest> =
            found.into_iter().filter(|one| one.is_from(branch)).map(PullRequest::from).collect();
        // What was opened between two pages moves the rest on.
        own.dedup_by_key(|pull| pull.number);
        Ok(own)
    }

    fn open_pulls(&self, branches: &[String]) -> Result<Option<OpenPulls>, ForgeError> {
        let asked = self.asked("cannot list merge requests");
        let reply = self.get(&self.rest.page(&self.at("/merge_requests?state=opened"), 1), &asked)?;
        rest::by_branch(&reply, &asked, branches, wire::MergeRequest::is_from)
    }

    fn recent_pulls(&self, branches: &[String]) -> Result<Option<Recent>, ForgeError> {
        let asked = self.asked("cannot list merge requests");
        let newest_first = self.at("/merge_requests?state=all&order_by=updated_at&sort=desc");
        let reply = self.get(&self.rest.page(&newest_first, 1), &asked)?;
        let (is_from, touched) = (wire::MergeRequest::is_from, wire::MergeRequest::touched);
        rest::recent(&reply, &asked, branches, is_from, touched).map(Some)
    }

    fn pull(&self, number: u64) -> Result<PullRequest, ForgeError> {
        Ok(self.read(number)?.into())
    }

    fn closer(&self, number: u64) -> Result<Closer, ForgeError> {
        let asked = self.asked("cannot read who closed the merge request");
        let path = self.at(&format!("/merge_requests/{number}/resource_state_events"));
        Ok(wire::closer(&self.list::<wire::StateEvent>(&path, &asked)?))
    }

    fn open(&self, pull: &NewPull) -> Result<PullRequest, ForgeError> {
        opened_after_all(self, pull, self.post_pull(pull))
    }

    fn update(&self, number: u64, patch: &PullPatch) -> Result<(), ForgeError> {
        let asked = self.asked("cannot change the merge request");
        // A draft is one by its title, and stays one until a person takes that away.
        let title = match &patch.title {
            Some(title) => Some(format!("{}{title}", rest::draft_prefix(&self.read(number)?.title, &DRAFTS))),
            None => None,
        };
        let event = patch.state.map(|state| if state == PullState::Open { "reopen" } else { "close" });
        let body = rest::fields([
            ("title", title.as_deref()),
            ("description", patch.body.as_deref()),
            ("state_event", event),
        ]);
        self.change(number, &body, &asked).map(drop)
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
            &|people| self.people(number, people, &extras::REVIEWERS),
            &|people| self.people(number, people, &extras::ASSIGNEES),
        )
    }

    fn unlabel(&self, number: u64, label: &str) -> Result<(), ForgeError> {
        let asked = self.asked("cannot remove a label");
        self.change(number, &json!({"remove_labels": [label]}), &asked).map(drop)
    }

    fn status(&self, commit: CommitId, status: &Status, page: Option<&str>) -> Result<(), ForgeError> {
        self.set_status(commit, status, page)
    }

    fn status_checks(&self, commits: &[CommitId]) -> Result<Option<Vec<StatusCheck>>, ForgeError> {
        self.read_status_checks(commits).map(Some)
    }

    fn verified_at(&self, commit: CommitId) -> Result<Option<Timestamp>, ForgeError> {
        self.read_verified_at(commit)
    }

    fn merge(&self, number: u64, head: CommitId) -> Result<(), ForgeError> {
        self.merge_with(number, head)
    }

    fn identity(&self) -> Result<Option<Signature>, ForgeError> {
        self.me.or_ask(|| self.who())
    }

    fn compare_url(&self, base: &str, branch: &str) -> Option<String> {
        let (base, branch) = (utf8_percent_encode(base, PATH), utf8_percent_encode(branch, PATH));
        Some(format!(
            "{}/{}/-/merge_requests/new?merge_request%5Bsource_branch%5D={branch}&\
             merge_request%5Btarget_branch%5D={base}",
            self.address.web, self.address.path
        ))
    }
}

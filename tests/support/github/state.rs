//! What the fake GitHub knows: users, tokens, repositories, pull requests and their events.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use git2::Oid;

use super::{
    super::{
        clock::Clock,
        repo::{BareRepo, EPOCH},
    },
    board::Board,
    graph::Shown,
    rules::Rule,
};

pub use super::token::{Level, Token, TokenKind};

/// Everything, behind one lock.
#[derive(Default)]
pub struct State {
    pub repos: BTreeMap<String, Repo>,
    pub tokens: BTreeMap<String, Token>,
    /// The Apps by their ids.
    pub apps: BTreeMap<String, App>,
    /// Seconds since `EPOCH`; one more for each event.
    ticks: i64,
    /// What tells the time instead.
    pub clock: Option<Arc<Clock>>,
    ids: u64,
    /// The names that repositories had before.
    pub renamed: BTreeMap<String, String>,
    /// How many requests the primary limit still allows; `None` is no limit.
    pub remaining: Option<u64>,
    /// When the primary limit starts anew, in seconds since 1970.
    pub reset: i64,
    /// How many requests it allows each hour from then on, by the clock.
    pub hourly: Option<u64>,
    /// How many requests came when the primary limit was used up.
    pub refused: usize,
}

/// A GitHub App.
pub struct App {
    pub slug: String,
    /// Its public key, in PEM.
    pub public: Vec<u8>,
    pub installations: Vec<Installation>,
}

/// Where an App is installed.
pub struct Installation {
    pub id: u64,
    /// The repositories that it was given.
    pub repos: BTreeSet<String>,
    /// How many requests its next token lasts for.
    pub lasts: Option<u32>,
    pub suspended: bool,
    /// How many tokens were made.
    pub made: u32,
}

/// A repository with its settings.
pub struct Repo {
    pub id: u64,
    pub bare: Arc<BareRepo>,
    pub private: bool,
    pub archived: bool,
    /// Whether pull requests are turned on.
    pub has_pulls: bool,
    /// The setting "Allow GitHub Actions to create and approve pull requests".
    pub actions_may_open: bool,
    /// Whether the plan has draft pull requests.
    pub drafts: bool,
    /// Logins that may be asked for a review and assigned.
    pub collaborators: BTreeSet<String>,
    /// Teams, by slug, that may be asked for a review.
    pub teams: BTreeSet<String>,
    /// The labels by their names in lower case, since GitHub tells none apart by case.
    pub labels: BTreeMap<String, Label>,
    pub pulls: BTreeMap<u64, Pull>,
    pub board: Board,
    pub statuses: Vec<Status>,
    pub checks: Vec<Shown>,
    pub deployments: Vec<Shown>,
    /// Rulesets and protected branches.
    pub rules: Vec<Rule>,
    /// Whether the organisation wants single sign-on.
    pub single_sign_on: bool,
    /// Whether the organisation has a list of addresses, without ours.
    pub address_list: bool,
    /// The kind of token that the organisation forbids.
    pub forbidden_kind: Option<TokenKind>,
    /// Whether collaborators alone may open pull requests.
    pub collaborators_only: bool,
    /// How many pull requests may still be opened before it is too quick.
    pub pace: Option<u32>,
    /// Pull requests that are counted into a page and not shown, as those of a spammer.
    pub hidden: BTreeSet<u64>,
    /// What the API shows while it has not caught up.
    pub lag: Option<Lag>,
    /// What a rule of the base branch says to whoever merges.
    pub merge_rule: Option<String>,
    /// Whether squashing is the only way to merge.
    pub squash_only: bool,
    next_number: u64,
}

/// What an API that lags behind shows for so many more requests.
#[derive(Clone, Debug)]
pub struct Lag {
    pub requests: u32,
    pub branches: BTreeMap<String, Oid>,
    pub pulls: BTreeMap<u64, Pull>,
}

/// A label of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    pub id: u64,
    /// As it was written when it was made.
    pub name: String,
}

/// A pull request.
#[derive(Clone, Debug)]
pub struct Pull {
    pub id: u64,
    pub number: u64,
    pub title: String,
    pub body: Option<String>,
    pub open: bool,
    pub draft: bool,
    pub author: String,
    /// The owner of the head's repository; a fork's differs from the base's.
    pub head_owner: String,
    /// The head's repository; none where it was deleted. An organization may have forks of its own repositories.
    pub head_repo: Option<String>,
    pub head_ref: String,
    pub head_sha: Oid,
    pub base_ref: String,
    pub base_sha: Oid,
    pub created_at: i64,
    pub updated_at: i64,
    pub closed_at: Option<i64>,
    pub merged_at: Option<i64>,
    pub merged_by: Option<String>,
    pub merge_commit: Option<Oid>,
    pub labels: Vec<String>,
    pub assignees: Vec<String>,
    pub reviewers: Vec<String>,
    pub teams: Vec<String>,
    pub events: Vec<Event>,
}

/// One entry of a pull request's event list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub id: u64,
    pub actor: String,
    /// GitHub's word, such as `closed`.
    pub event: String,
    pub at: i64,
}

/// A commit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub id: u64,
    pub sha: String,
    pub state: String,
    pub context: String,
    pub description: Option<String>,
    pub target_url: Option<String>,
    pub creator: String,
    pub at: i64,
}

/// What a pull request is made of.
pub struct Draft<'a> {
    pub title: &'a str,
    pub body: Option<&'a str>,
    pub head_owner: &'a str,
    pub head_ref: &'a str,
    pub head_sha: Oid,
    pub base_ref: &'a str,
    pub draft: bool,
    pub author: &'a str,
}

// === impl State ===

impl State {
    /// Moves the clock on and returns it, in seconds since 1970.
    pub fn tick(&mut self) -> i64 {
        self.ticks += 1;
        self.clock.as_ref().map_or(EPOCH + self.ticks, |clock| clock.now())
    }

    /// Begins a new hour of the primary limit, where the last one is over.
    pub fn begin_hour(&mut self) {
        let (Some(clock), Some(hourly)) = (&self.clock, self.hourly) else { return };
        if clock.now() >= self.reset {
            (self.remaining, self.reset) = (Some(hourly), clock.now() + 3600);
        }
    }

    /// Sets the clock, in seconds since 1970.
    pub fn set_clock(&mut self, seconds: i64) {
        self.ticks = seconds - EPOCH;
    }

    /// Counts a request of a token; one that was made for so many ends with the last.
    pub fn use_up(&mut self, secret: &str) {
        let Some(token) = self.tokens.get_mut(secret) else { return };
        match token.lasts {
            Some(0) => token.expired = true,
            Some(left) => token.lasts = Some(left - 1),
            None => {}
        }
    }

    /// Returns a number that nothing else has.
    pub fn new_id(&mut self) -> u64 {
        self.ids += 1;
        1000 + self.ids
    }

    /// Returns a repository, whatever the case of its name.
    pub fn repo(&self, name: &str) -> Option<&Repo> {
        self.repos.get(&name.to_lowercase())
    }

    /// Returns a repository to change.
    pub fn repo_mut(&mut self, name: &str) -> Option<&mut Repo> {
        self.repos.get_mut(&name.to_lowercase())
    }

    /// Returns the name of the repository with that id.
    pub fn name_of(&self, id: u64) -> Option<String> {
        self.repos.iter().find(|(_, repo)| repo.id == id).map(|(name, _)| name.clone())
    }

    /// Returns the branch on which the merge queue tests a pull request.
    pub fn queued(&self, repo: &str, number: u64) -> Option<String> {
        let part = format!("/pr-{number}-");
        let branches = self.repo(repo)?.bare.branches().into_keys();
        branches.into_iter().find(|b| b.starts_with("gh-readonly-queue/") && b.contains(&part))
    }

    /// Adds an event to a pull request.
    pub fn note(&mut self, repo: &str, number: u64, actor: &str, event: &str) {
        // What is closed is in no queue any more.
        if let ("closed", Some(entry)) = (event, self.queued(repo, number)) {
            self.repo(repo).expect("the repository").bare.delete_branch(&entry);
            self.note(repo, number, actor, "removed_from_merge_queue");
        }
        let (id, at) = (self.new_id(), self.tick());
        let pull = self.repo_mut(repo).and_then(|repo| repo.pulls.get_mut(&number));
        let pull = pull.unwrap_or_else(|| panic!("no pull request {number} in {repo}"));
        pull.updated_at = at;
        if event == "closed" {
            pull.open = false;
            pull.closed_at = Some(at);
        }
        if event == "reopened" {
            pull.open = true;
            pull.closed_at = None;
        }
        if event == "merged" {
            pull.merged_at = Some(at);
            pull.merged_by = Some(actor.to_owned());
        }
        pull.events.push(Event { id, actor: actor.to_owned(), event: event.to_owned(), at });
    }

    /// Makes a label where there is none of that name, and returns the name that it has.
    pub fn make_label(&mut self, repo: &str, name: &str) -> String {
        let id = self.new_id();
        let labels = &mut self.repo_mut(repo).expect("the repository").labels;
        let label = labels.entry(name.to_lowercase()).or_insert(Label { id, name: name.to_owned() });
        label.name.clone()
    }

    /// Opens a pull request.
    pub fn open_pull(&mut self, repo: &str, draft: &Draft<'_>) -> u64 {
        let (id, at) = (self.new_id(), self.tick());
        let short = repo.rsplit('/').next().unwrap_or_default();
        let head_repo = format!("{}/{short}", draft.head_owner);
        let repo = self.repo_mut(repo).expect("the repository");
        let number = repo.take_number();
        let pull = Pull {
            id,
            number,
            title: draft.title.to_owned(),
            body: draft.body.map(str::to_owned),
            open: true,
            draft: draft.draft,
            author: draft.author.to_owned(),
            head_owner: draft.head_owner.to_owned(),
            head_repo: Some(head_repo),
            head_ref: draft.head_ref.to_owned(),
            head_sha: draft.head_sha,
            base_ref: draft.base_ref.to_owned(),
            base_sha: repo.bare.tip(draft.base_ref).expect("the base branch"),
            created_at: at,
            updated_at: at,
            closed_at: None,
            merged_at: None,
            merged_by: None,
            merge_commit: None,
            labels: Vec::new(),
            assignees: Vec::new(),
            reviewers: Vec::new(),
            teams: Vec::new(),
            events: Vec::new(),
        };
        repo.bare.set_ref(&format!("refs/pull/{number}/head"), draft.head_sha);
        repo.pulls.insert(number, pull);
        number
    }

    /// Lets open pull requests follow the branches, as GitHub does after each push.
    pub fn follow(&mut self, name: &str, actor: &str) {
        let Some(repo) = self.repo(name).filter(|repo| repo.lag.is_none()) else { return };
        let (owner, bare) = (owner_of(name).to_owned(), Arc::clone(&repo.bare));
        let open: Vec<Pull> = repo.pulls.values().filter(|p| p.open).cloned().collect();
        for pull in open {
            let number = pull.number;
            let Some(base) = bare.tip(&pull.base_ref) else {
                self.note(name, number, actor, "base_ref_deleted");
                self.note(name, number, actor, "closed");
                continue;
            };
            let head = if pull.head_owner.eq_ignore_ascii_case(&owner) {
                bare.tip(&pull.head_ref)
            } else {
                Some(pull.head_sha)
            };
            let Some(head) = head else {
                self.note(name, number, actor, "closed");
                self.note(name, number, actor, "head_ref_deleted");
                continue;
            };
            let moved = head != pull.head_sha;
            if moved {
                if !bare.contains(&head.to_string(), pull.head_sha) {
                    self.note(name, number, actor, "head_ref_force_pushed");
                }
                let at = self.tick();
                bare.set_ref(&format!("refs/pull/{number}/head"), head);
                let pull = self.repo_mut(name).and_then(|r| r.pulls.get_mut(&number)).expect("the pull");
                (pull.head_sha, pull.base_sha, pull.updated_at) = (head, base, at);
                if let Some(entry) = self.queued(name, number) {
                    bare.delete_branch(&entry);
                    self.note(name, number, actor, "removed_from_merge_queue");
                }
            }
            if bare.contains(&base.to_string(), head) {
                // A head that was pushed into the base is merged; one that was moved there has nothing to say.
                if !moved {
                    self.note(name, number, actor, "merged");
                }
                self.note(name, number, actor, "closed");
            }
        }
    }
}

// === impl Repo ===

impl Repo {
    /// A private repository in which all is allowed and nobody collaborates.
    pub fn new(id: u64, bare: Arc<BareRepo>) -> Self {
        Self {
            id,
            bare,
            private: true,
            archived: false,
            has_pulls: true,
            actions_may_open: true,
            drafts: true,
            collaborators: BTreeSet::new(),
            teams: BTreeSet::new(),
            labels: BTreeMap::new(),
            pulls: BTreeMap::new(),
            board: Board::default(),
            statuses: Vec::new(),
            checks: Vec::new(),
            deployments: Vec::new(),
            rules: Vec::new(),
            single_sign_on: false,
            address_list: false,
            forbidden_kind: None,
            collaborators_only: false,
            pace: None,
            hidden: BTreeSet::new(),
            lag: None,
            merge_rule: None,
            squash_only: false,
            next_number: 1,
        }
    }

    pub fn take_number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number - 1
    }

    /// Lets the API show, for so many requests, what there is now.
    pub fn lag_for(&mut self, requests: u32) {
        let (branches, pulls) = (self.bare.branches(), self.pulls.clone());
        self.lag = Some(Lag { requests, branches, pulls });
    }

    /// Counts a request that an API that lags behind is asked.
    pub fn is_asked(&mut self) {
        let Some(lag) = &mut self.lag else { return };
        match lag.requests.checked_sub(1) {
            Some(left) => lag.requests = left,
            None => self.lag = None,
        }
    }

    /// The tip of a branch as the API sees it.
    pub fn tip(&self, branch: &str) -> Option<Oid> {
        match &self.lag {
            Some(lag) => lag.branches.get(branch).copied(),
            None => self.bare.tip(branch),
        }
    }

    /// The pull requests that a list shows.
    pub fn listed(&self) -> &BTreeMap<u64, Pull> {
        self.lag.as_ref().map_or(&self.pulls, |lag| &lag.pulls)
    }

    /// Returns a label, whatever the case of its name.
    pub fn label(&self, name: &str) -> Option<&Label> {
        self.labels.get(&name.to_lowercase())
    }
}

/// Returns the owner of `owner/name`, or all groups before the name.
pub fn owner_of(repo: &str) -> &str {
    repo.rsplit_once('/').map_or("", |(owner, _)| owner)
}

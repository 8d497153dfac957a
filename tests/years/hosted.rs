//! A Git server and the fake GitHub. What is to be killed is a process of its own, which the server ends at its n-th write.

use std::{
    collections::BTreeMap,
    env,
    fs::File,
    path::PathBuf,
    process::{Command, Stdio},
    rc::Rc,
    sync::Arc,
    thread,
    time::Duration,
};

use git2::Oid;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use uplinker::{
    propose::forge::github::{Address, GitHub as Forge},
    repo::{
        CommitId,
        git::{GitRemote, RemoteOptions},
    },
    report::RunReport,
    sys::http::Http,
};

use super::{
    fleet::{self, Released},
    place::{End, Files, Pass, Place, Pull},
};
use crate::support::{
    controls::{Entry, WriteFault},
    github::{GitHub, Level, Merge, Status, Token},
    process::Home,
    repo::{ADA, BEN, BareRepo, Change, EPOCH, put},
    scene::{LABELS, REPO, TOKEN},
};

/// What a process of its own is told.
const TOLD: &str = "UPLINKER_YEAR_PASS";
/// The test of hosted years, which begins with [`alone`].
pub const TEST: &str = "year::the_rules_hold_at_every_step_of_a_hosted_year";
/// What a process of its own says last.
const MADE: &str = "the pass was made";

pub struct Hosted {
    github: GitHub,
    repo: Arc<BareRepo>,
    home: Home,
    http: Http,
    now: std::cell::Cell<i64>,
}

/// A pass in a process of its own.
#[derive(Serialize, Deserialize)]
struct Told {
    url: String,
    api: String,
    cache: PathBuf,
    releases: Vec<Released>,
    now: i64,
    back: Option<String>,
}

fn id(oid: Oid) -> CommitId {
    CommitId(oid.as_bytes().try_into().expect("20 bytes"))
}

fn oid(id: CommitId) -> Oid {
    Oid::from_bytes(&id.0).expect("20 bytes")
}

/// Makes the pass that this process was started for, if it was started for one: a killed pass needs a process to kill.
pub fn alone() -> bool {
    let Ok(told) = env::var(TOLD) else { return false };
    let told: Told = serde_json::from_str(&told).expect("what is to be done");
    let http = Http::new(None).expect("a client");
    told.make(&http).expect("a pass");
    println!("{MADE}");
    true
}

// === impl Told ===

impl Told {
    fn make(&self, http: &Http) -> Result<RunReport, String> {
        let secret = || SecretString::from(TOKEN.to_owned());
        let options = RemoteOptions {
            cache: Some(self.cache.clone()),
            token: Some(secret()),
            ..RemoteOptions::default()
        };
        let remote = GitRemote::open(&self.url, options, http).expect("a remote");
        let api = self.api.parse().expect("a URL");
        let address = Address::of(&self.url, Some(&api)).expect("an address");
        let forge = Forge::new(http, address, Some(&secret())).expect("a forge");
        Pass { releases: &self.releases, now: self.now, back: self.back.as_deref(), end: None }
            .make(&remote, &forge)
    }
}

// === impl Hosted ===

impl Hosted {
    pub fn new(first: usize) -> Self {
        let github = GitHub::start();
        let repo = github.add(REPO, |path| {
            let repo = BareRepo::empty(path, "main");
            repo.set_clock(EPOCH);
            let files = fleet::files(first);
            let changes: Vec<_> = files.iter().map(|(path, text)| put(path, text)).collect();
            repo.commit("main", &ADA, "Begin", &changes);
            repo
        });
        let token = Token::actions().having("checks", Level::Read).having("deployments", Level::Read);
        github.token(TOKEN, token);
        github.labels(REPO, &LABELS);
        let http = Http::new(None).expect("a client");
        Self { github, repo, home: Home::new(), http, now: std::cell::Cell::new(EPOCH) }
    }

    /// Lets a process of its own make the pass; tells whether it came to its end.
    fn in_a_process(&self, told: &Told, end: End) -> bool {
        let writes = &self.github.controls().writes;
        let (n, fault) = match end {
            End::Before(n) => (n, WriteFault::KillBefore),
            End::After(n) => (n, WriteFault::KillAfter),
        };
        writes.plan(n, fault);
        let words = self.home.path().join("words");
        let file = File::create(&words).expect("a file");
        let child = Command::new(env::current_exe().expect("this test"))
            .args(["--exact", TEST, "--nocapture"])
            .env(TOLD, serde_json::to_string(told).expect("JSON"))
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("a file"))
            .stderr(file)
            .spawn()
            .expect("this test");
        let victim = writes.victim();
        victim.set(child);
        let status = loop {
            match victim.ended().expect("a status") {
                Some(status) => break status,
                None => thread::sleep(Duration::from_millis(3)),
            }
        };
        writes.clear();
        let said = || std::fs::read_to_string(&words).unwrap_or_default();
        let made = status.success() && said().contains(MADE);
        assert!(made || status.code().is_none(), "{}", said());
        made
    }

    fn git(&self) -> git2::Repository {
        self.repo.open()
    }
}

impl Place for Hosted {
    fn set_clock(&self, now: i64) {
        self.now.set(now);
        self.github.set_clock(now);
        self.repo.set_clock(now);
    }

    fn branches(&self) -> BTreeMap<String, CommitId> {
        let ours = |name: &String| !name.starts_with("gh-readonly-queue/");
        let all = self.repo.branches().into_iter().filter(|(name, _)| ours(name));
        all.map(|(name, commit)| (name, id(commit))).collect()
    }

    fn files(&self, commit: CommitId) -> Files {
        Rc::new(self.repo.files(&commit.to_string()))
    }

    fn line(&self) -> Vec<(CommitId, i64)> {
        let git = self.git();
        let mut next = self.repo.tip("main");
        let step = || {
            let commit = git.find_commit(next?).expect("a commit");
            next = commit.parent_id(0).ok();
            Some((id(commit.id()), commit.time().seconds()))
        };
        std::iter::from_fn(step).collect()
    }

    fn contains(&self, branch: &str, commit: CommitId) -> bool {
        self.repo.tip(branch).is_some() && self.repo.contains(branch, oid(commit))
    }

    fn pulls(&self) -> Vec<Pull> {
        let queue = self.repo.branches();
        let all = self.github.pulls(REPO).into_iter().map(|pull| Pull {
            queued: queue.keys().any(|branch| branch.starts_with(&entry_of(pull.number))),
            number: pull.number,
            open: pull.open,
            merged: pull.merged_at.is_some(),
            branch: pull.head_ref,
            head: id(pull.head_sha),
            title: pull.title,
            body: pull.body.unwrap_or_default(),
            labels: pull.labels,
        });
        all.collect()
    }

    fn writes(&self) -> usize {
        self.github.controls().writes.count()
    }

    fn asked(&self) -> Vec<String> {
        self.github.controls().log.take().iter().map(Entry::line).collect()
    }

    fn commit(&self, branch: &str, message: &str, changes: &[(String, String)]) -> CommitId {
        let changes: Vec<Change<'_>> = changes.iter().map(|(path, text)| put(path, text)).collect();
        let commit = self.repo.commit(branch, &BEN, message, &changes);
        // The pull request follows its branch.
        self.github.pulls(REPO);
        id(commit)
    }

    fn can_be_merged(&self, branch: &str) -> bool {
        let git = self.git();
        let commit = |name| git.find_commit(self.repo.tip(name)?).ok();
        let (Some(ours), Some(theirs)) = (commit("main"), commit(branch)) else { return false };
        git.merge_commits(&ours, &theirs, None).is_ok_and(|index| !index.has_conflicts())
    }

    fn is_linear(&self, branch: &str) -> bool {
        let git = self.git();
        let mut walk = git.revwalk().expect("a walk");
        walk.push(self.repo.tip(branch).expect("a branch")).expect("its tip");
        walk.hide(self.repo.tip("main").expect("main")).expect("its tip");
        walk.all(|id| git.find_commit(id.expect("an id")).expect("a commit").parent_count() == 1)
    }

    fn merge(&self, number: u64, how: Merge, delete: bool) {
        self.github.merge(REPO, number, how, "ada", delete);
    }

    fn close(&self, number: u64) {
        self.github.close(REPO, number, "ada");
    }

    fn update_branch(&self, number: u64) {
        self.github.update_branch(REPO, number, &ADA);
    }

    fn tick(&self, number: u64, words: &str) {
        let body = self.github.pull(REPO, number).body.unwrap_or_default();
        if body.lines().any(|line| line.contains("- [ ]") && line.contains(words)) {
            self.github.tick(REPO, number, words);
        }
    }

    fn enqueue(&self, number: u64) {
        self.github.enqueue(REPO, number, "ada");
    }

    fn merge_queued(&self, number: u64) {
        // What was tested on another tip is tested again.
        self.leave_queue(number);
        let head = self.github.pull(REPO, number).head_ref;
        if self.can_be_merged(&head) {
            self.enqueue(number);
            self.github.merge_queued(REPO, number);
        }
    }

    fn leave_queue(&self, number: u64) {
        let branches = self.repo.branches().into_keys();
        branches
            .filter(|branch| branch.starts_with(&entry_of(number)))
            .for_each(|branch| self.repo.delete_branch(&branch));
    }

    fn says(&self, context: &str, state: &str) {
        let (sha, at) = (self.repo.tip("main").expect("main").to_string(), self.now.get());
        self.github.settings(REPO, |repo| {
            repo.statuses.push(Status {
                id: 7,
                sha,
                state: state.to_owned(),
                context: context.to_owned(),
                description: None,
                target_url: None,
                creator: "flux".to_owned(),
                at,
            });
        });
    }

    fn run(&self, pass: Pass<'_>) -> Result<Option<RunReport>, String> {
        let told = Told {
            url: self.github.url(REPO),
            api: self.github.api(),
            cache: self.home.path().join("cache/git"),
            releases: pass.releases.to_vec(),
            now: pass.now,
            back: pass.back.map(str::to_owned),
        };
        // One that came to its end before its time makes another pass, to be looked at: there is nothing left to do in it.
        match pass.end {
            Some(end) if !self.in_a_process(&told, end) => Ok(None),
            _ => told.make(&self.http).map(Some),
        }
    }
}

fn entry_of(number: u64) -> String {
    format!("gh-readonly-queue/main/pr-{number}-")
}

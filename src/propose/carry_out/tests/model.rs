//! A small world for tests: a repository and a forge that keep the rules that matter here, and what people do there.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
};

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::{
    commit::{CommitId, CommitInfo, GitError, NewCommit, RefUpdate, Refs, Remote, Signature, TreeId},
    edit::{ChangeSet, FileChange},
    propose::{
        CheckBox, Closer, CommitParts, Desk, Extras, Forge, ForgeError, Message, NewPull, Options, Proposal,
        PullPatch, PullRequest, PullState, Status, Ticks, Wanted, Wish, ownership, wanted,
    },
    release::EdgeVersion,
    repo::{BlobId, Entry, Mode, RepoPath, Tree, TreeError},
    scan::Stage,
};

pub(super) const BRANCH: &str = "uplinker/default/platform";
pub(super) const PIN: &str = "pin.yaml";
const APP: &str = "app.yaml";

/// What somebody does while a run is between two requests.
pub(super) type Meanwhile = Box<dyn FnOnce(&World)>;

type Files = BTreeMap<String, String>;

/// What becomes of one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    KilledBefore,
    KilledAfter,
    AnswerLost,
    NotSent,
}

#[derive(Default)]
pub(super) struct World {
    commits: RefCell<BTreeMap<CommitId, CommitInfo>>,
    trees: RefCell<BTreeMap<TreeId, Files>>,
    pub(super) branches: RefCell<BTreeMap<String, CommitId>>,
    pub(super) pulls: RefCell<Vec<(PullRequest, Closer)>>,
    /// Commits of people on our branch.
    pub(super) persons: RefCell<BTreeSet<CommitId>>,
    pub(super) log: RefCell<Vec<String>>,
    pub(super) reads: Cell<usize>,
    pub(super) writes: Cell<usize>,
    pub(super) fault: Cell<Option<(usize, Fault)>>,
    /// Runs once, just before the n-th read of a single pull request.
    pub(super) meanwhile: RefCell<Option<Meanwhile>>,
    pub(super) forbid_pulls: Cell<bool>,
    clock: Cell<i64>,
}

pub(super) fn release(n: u32) -> EdgeVersion {
    format!("edge-26.8.{n}").parse().expect("a release")
}

fn hash(parts: &[String]) -> BlobId {
    let mut sha = Sha256::new();
    parts.iter().for_each(|p| sha.update(format!("{}:{p}", p.len())));
    let mut id = [0; 20];
    id.iter_mut().zip(sha.finalize()).for_each(|(to, from)| *to = from);
    BlobId(id)
}

// === impl World: the repository ===

impl World {
    pub(super) fn new() -> Self {
        let world = Self::default();
        let root = world.add(Files::from([(PIN.into(), "1".into()), (APP.into(), "0".into())]), &[], "Start");
        world.branches.borrow_mut().insert("main".into(), root);
        world
    }

    fn add(&self, files: Files, parents: &[CommitId], message: &str) -> CommitId {
        let tree = hash(&files.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>());
        self.trees.borrow_mut().insert(tree, files);
        self.clock.set(self.clock.get() + 1);
        let time = Timestamp::from_second(self.clock.get()).expect("a time");
        self.add_commit(tree, parents, message, time)
    }

    fn add_commit(&self, tree: TreeId, parents: &[CommitId], message: &str, time: Timestamp) -> CommitId {
        let id = hash(&[tree.to_string(), format!("{parents:?}"), message.into(), time.to_string()]);
        let info = CommitInfo { id, tree, parents: parents.to_vec(), message: message.into(), time };
        self.commits.borrow_mut().insert(id, info);
        id
    }

    pub(super) fn tip(&self, branch: &str) -> Option<CommitId> {
        self.branches.borrow().get(branch).copied()
    }

    pub(super) fn files(&self, id: CommitId) -> Files {
        self.trees.borrow()[&self.commits.borrow()[&id].tree].clone()
    }

    pub(super) fn info(&self, id: CommitId) -> CommitInfo {
        self.commits.borrow()[&id].clone()
    }

    pub(super) fn reaches(&self, descendant: CommitId, ancestor: CommitId) -> bool {
        let mut todo = vec![descendant];
        while let Some(id) = todo.pop() {
            if id == ancestor {
                return true;
            }
            todo.extend(self.info(id).parents);
        }
        false
    }

    /// Somebody commits on a branch.
    pub(super) fn commit(&self, branch: &str, path: &str, text: &str) -> CommitId {
        let tip = self.tip(branch).expect("the branch");
        let mut files = self.files(tip);
        files.insert(path.into(), text.into());
        let id = self.add(files, &[tip], &format!("By hand {}", self.clock.get()));
        self.set(branch, Some(id));
        if branch == BRANCH {
            self.persons.borrow_mut().insert(id);
        }
        id
    }

    pub(super) fn set(&self, branch: &str, tip: Option<CommitId>) {
        match tip {
            Some(tip) => drop(self.branches.borrow_mut().insert(branch.into(), tip)),
            None => drop(self.branches.borrow_mut().remove(branch)),
        }
        for (pull, closer) in self.pulls.borrow_mut().iter_mut().filter(|(p, _)| p.state == PullState::Open) {
            match tip.filter(|_| branch == BRANCH) {
                Some(tip) => pull.head = tip.to_string(),
                None if branch == BRANCH => {
                    (pull.state, *closer) = (PullState::Closed, Closer::Person("ada".into()))
                }
                None => {}
            }
        }
    }

    /// Somebody changes the message of our commit.
    pub(super) fn amend(&self) {
        let Some(tip) = self.tip(BRANCH) else { return };
        let info = self.info(tip);
        let message = info.message.replacen("Linkerd", "Linkerd (amended)", 1);
        let id = self.add_commit(info.tree, &info.parents, &message, info.time);
        if self.persons.borrow().contains(&tip) {
            self.persons.borrow_mut().insert(id);
        }
        self.set(BRANCH, Some(id));
    }

    /// Somebody presses *Update branch*.
    pub(super) fn update_branch(&self) {
        let (Some(tip), Some(base)) = (self.tip(BRANCH), self.tip("main")) else { return };
        if self.reaches(tip, base) {
            return;
        }
        let mut files = self.files(base);
        // Our changes are the pin; a person's are whatever else they wrote.
        for (path, text) in self.files(tip) {
            if path == PIN || path.starts_with("person") {
                files.insert(path, text);
            }
        }
        let id = self.add(files, &[tip, base], "Merge branch 'main'");
        if self.persons.borrow().contains(&tip) {
            self.persons.borrow_mut().insert(id);
        }
        self.set(BRANCH, Some(id));
    }
}

// === impl World: the forge ===

impl World {
    pub(super) fn open_pull(&self) -> Option<PullRequest> {
        self.pulls.borrow().iter().map(|(p, _)| p.clone()).find(|p| p.state == PullState::Open)
    }

    pub(super) fn close(&self, who: Closer) {
        for (pull, closer) in self.pulls.borrow_mut().iter_mut().filter(|(p, _)| p.state == PullState::Open) {
            (pull.state, *closer) = (PullState::Closed, who.clone());
        }
    }

    /// Somebody merges by squash and leaves the branch.
    pub(super) fn squash(&self) {
        let (Some(tip), Some(base), Some(_)) = (self.tip(BRANCH), self.tip("main"), self.open_pull()) else {
            return;
        };
        let mut files = self.files(base);
        files.extend(self.files(tip).into_iter().filter(|(p, _)| p == PIN || p.starts_with("person")));
        let id = self.add(files, &[base], "Squashed");
        self.set("main", Some(id));
        for (pull, _) in self.pulls.borrow_mut().iter_mut().filter(|(p, _)| p.state == PullState::Open) {
            pull.state = PullState::Merged;
        }
    }

    pub(super) fn reopen(&self) {
        let tip = self.tip(BRANCH).map(|t| t.to_string());
        if self.open_pull().is_some() {
            return;
        }
        let mut pulls = self.pulls.borrow_mut();
        let last =
            pulls.last_mut().filter(|(p, _)| p.state == PullState::Closed && Some(&p.head) == tip.as_ref());
        if let Some((pull, _)) = last {
            pull.state = PullState::Open;
        }
    }

    /// Somebody ticks the box whose line contains `words`, if there is one.
    pub(super) fn tick(&self, words: &str) {
        self.edit_body(|body| {
            let tick = |line: &str| match line.contains(words) {
                true => line.replacen("- [ ]", "- [x]", 1),
                false => line.to_owned(),
            };
            body.lines().map(tick).collect::<Vec<_>>().join("\r\n")
        });
    }

    pub(super) fn edit_body(&self, edit: impl Fn(&str) -> String) {
        for (pull, _) in self.pulls.borrow_mut().iter_mut().filter(|(p, _)| p.state == PullState::Open) {
            pull.body = edit(&pull.body);
        }
    }

    fn write<E>(&self, what: String, error: impl Fn(bool) -> E, apply: impl FnOnce()) -> Result<(), E> {
        self.writes.set(self.writes.get() + 1);
        let fault = self.fault.get().filter(|(n, _)| *n == self.writes.get()).map(|(_, fault)| fault);
        if !matches!(fault, Some(Fault::KilledBefore | Fault::NotSent)) {
            self.log.borrow_mut().push(what);
            apply();
        }
        match fault {
            Some(Fault::KilledBefore | Fault::KilledAfter) => Err(error(true)),
            Some(Fault::AnswerLost | Fault::NotSent) => Err(error(false)),
            None => Ok(()),
        }
    }

    fn forge_write(&self, what: String, apply: impl FnOnce()) -> Result<(), ForgeError> {
        let (host, reason) = ("forge", "broken");
        let error = |killed| match killed {
            true => ForgeError::Auth { host: host.into(), reason: "killed".into() },
            false => ForgeError::Temporary { host: host.into(), reason: reason.into() },
        };
        self.write(what, error, apply)
    }

    /// What a run would want now.
    pub(super) fn changes(&self, to: u32) -> Option<ChangeSet> {
        let pin = self.files(self.tip("main")?).get(PIN)?.clone();
        (pin != to.to_string()).then(|| ChangeSet {
            files: vec![FileChange {
                path: RepoPath::new(PIN).expect("a path"),
                mode: Mode::File,
                before_id: Some(hash(std::slice::from_ref(&pin))),
                before: pin.into_bytes(),
                after: Some(to.to_string().into_bytes()),
                rendered: false,
            }],
        })
    }

    pub(super) fn wish<'a>(&self, to: u32, changes: Option<&'a ChangeSet>) -> Wish<'a> {
        let (Some(changes), Some(onto)) = (changes, self.tip("main")) else { return Wish::Withdraw };
        let inputs = changes.files[0].before_id.expect("a blob").to_string();
        let wanted = Wanted {
            release: release(to),
            fingerprint: hash(&[inputs.clone(), to.to_string()]).to_string(),
            inputs,
            title: format!("Linkerd → {}", release(to)),
            text: format!("Goes to {}.", release(to)),
            extras: Extras { labels: vec!["linkerd".into()], ..Extras::default() },
            ..wanted::example()
        };
        let message = Message {
            subject: wanted.title.clone(),
            body: String::new(),
            release: wanted.release,
            fingerprint: wanted.fingerprint.clone(),
            charts: Vec::new(),
            sign_off: false,
        };
        Wish::Propose(Proposal {
            wanted,
            commit: CommitParts { onto, changes, message, author: None, published: None },
        })
    }

    pub(super) fn desk(&self, options: Options) -> Desk<'_> {
        Desk {
            forge: self,
            remote: self,
            branch: BRANCH.into(),
            base: "main".into(),
            target: "default".into(),
            stage: Stage::Platform,
            options,
            known: None,
        }
    }

    /// The rules that no push may break.
    fn check_push(&self, update: &RefUpdate) {
        assert_eq!(update.branch, BRANCH, "only our branch is written");
        let Some(old) = update.old.filter(|old| self.persons.borrow().contains(old)) else { return };
        // Ownership is by content: a person's empty commit that carries our trailers is no person's.
        if ownership::is_written_by_us(&self.info(old)) {
            return;
        }
        let pulls = self.pulls.borrow();
        let merged = pulls.iter().any(|(p, _)| p.state == PullState::Merged && p.head == old.to_string());
        let handed_back =
            |p: &PullRequest| p.state == PullState::Open && Ticks::read(&p.body).has(CheckBox::Retake);
        assert!(update.new.is_some(), "a person's branch is never deleted");
        assert!(merged || pulls.iter().any(|(p, _)| handed_back(p)), "pushed over a person's commit");
    }
}

// === impl Remote for World ===

struct ModelTree {
    entries: Vec<Entry>,
    blobs: BTreeMap<BlobId, String>,
}

impl Tree for ModelTree {
    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        let missing = || TreeError::new(id, "missing");
        self.blobs.get(&id).map(|text| text.clone().into_bytes()).ok_or_else(missing)
    }
}

impl Remote for World {
    fn refs(&self) -> Result<Refs, GitError> {
        self.reads.set(self.reads.get() + 1);
        Ok(Refs { default_branch: Some("main".into()), branches: self.branches.borrow().clone() })
    }

    fn fetch(&self, _: &[(&str, CommitId)]) -> Result<(), GitError> {
        self.log.borrow_mut().push("fetch".into());
        Ok(())
    }

    fn commit(&self, id: CommitId) -> Result<CommitInfo, GitError> {
        Ok(self.info(id))
    }

    fn tree(&self, id: CommitId) -> Result<Box<dyn Tree>, GitError> {
        let (mut entries, mut blobs) = (Vec::new(), BTreeMap::new());
        for (path, text) in self.files(id) {
            let blob = hash(std::slice::from_ref(&text));
            entries.push(Entry { path: RepoPath::new(path).expect("a path"), id: blob, mode: Mode::File });
            blobs.insert(blob, text);
        }
        Ok(Box::new(ModelTree { entries, blobs }))
    }

    fn is_ancestor(&self, ancestor: CommitId, _: &str, descendant: CommitId) -> Result<bool, GitError> {
        Ok(self.reaches(descendant, ancestor))
    }

    fn write(&self, commit: &NewCommit<'_>) -> Result<CommitId, GitError> {
        let mut files = self.files(commit.onto);
        for change in &commit.changes.files {
            let text = String::from_utf8(change.after.clone().expect("a text")).expect("UTF-8");
            files.insert(change.path.to_string(), text);
        }
        let tree = hash(&files.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>());
        self.trees.borrow_mut().insert(tree, files);
        let message = format!("{}Uplinker-Tree: {tree}\n", commit.message);
        Ok(self.add_commit(tree, &commit.parents, &message, commit.date))
    }

    fn push(&self, update: &RefUpdate) -> Result<(), GitError> {
        if self.tip(&update.branch) != update.old {
            return Err(GitError::Moved { branch: update.branch.clone() });
        }
        self.check_push(update);
        let error = |killed| match killed {
            true => GitError::Other("killed".into()),
            false => GitError::Temporary { url: "remote".into(), reason: "cut".into() },
        };
        let what = if update.new.is_some() { "push" } else { "delete" };
        World::write(self, what.into(), error, || self.set(&update.branch, update.new))
    }
}

// === impl Forge for World ===

impl Forge for World {
    fn pulls(&self, branch: &str) -> Result<Vec<PullRequest>, ForgeError> {
        assert_eq!(branch, BRANCH);
        self.reads.set(self.reads.get() + 1);
        Ok(self.pulls.borrow().iter().rev().map(|(p, _)| p.clone()).collect())
    }

    fn pull(&self, number: u64) -> Result<PullRequest, ForgeError> {
        if let Some(meanwhile) = self.meanwhile.take() {
            meanwhile(self);
        }
        self.reads.set(self.reads.get() + 1);
        let pulls = self.pulls.borrow();
        let found = pulls.iter().find(|(p, _)| p.number == number).map(|(p, _)| p.clone());
        found.ok_or_else(|| ForgeError::NotFound("pull".into()))
    }

    fn closer(&self, number: u64) -> Result<Closer, ForgeError> {
        self.reads.set(self.reads.get() + 1);
        let pulls = self.pulls.borrow();
        Ok(pulls.iter().find(|(p, _)| p.number == number).map_or(Closer::Unknown, |(_, c)| c.clone()))
    }

    fn open(&self, new: &NewPull) -> Result<PullRequest, ForgeError> {
        if self.forbid_pulls.get() {
            return Err(ForgeError::PullsForbidden { compare: self.compare_url(&new.base, &new.head) });
        }
        assert!(self.open_pull().is_none(), "a second pull request");
        let tip = self.tip(&new.head).expect("a head");
        assert!(!self.reaches(self.tip(&new.base).expect("a base"), tip), "no commits between");
        let pull = PullRequest {
            number: self.pulls.borrow().len() as u64 + 1,
            url: String::new(),
            state: PullState::Open,
            title: new.title.clone(),
            body: new.body.clone(),
            head: tip.to_string(),
            base: new.base.clone(),
            closed_at: None,
            labels: Vec::new(),
            draft: false,
        };
        let opened = pull.clone();
        self.forge_write("open".into(), || self.pulls.borrow_mut().push((opened, Closer::Unknown)))?;
        Ok(pull)
    }

    fn update(&self, number: u64, patch: &PullPatch) -> Result<(), ForgeError> {
        let what = if patch.state.is_some() { "close" } else { "update" };
        self.forge_write(what.into(), || {
            for (pull, closer) in self.pulls.borrow_mut().iter_mut().filter(|(p, _)| p.number == number) {
                pull.title = patch.title.clone().unwrap_or(pull.title.clone());
                pull.body = patch.body.clone().unwrap_or(pull.body.clone());
                if let Some(state) = patch.state {
                    (pull.state, *closer) = (state, Closer::Person("our token's user".into()));
                }
            }
        })
    }

    fn decorate(&self, pull: &PullRequest, extras: &Extras) -> Result<Vec<String>, ForgeError> {
        self.forge_write("decorate".into(), || {
            for (seen, _) in self.pulls.borrow_mut().iter_mut().filter(|(p, _)| p.number == pull.number) {
                seen.labels.extend(extras.labels.iter().cloned());
            }
        })?;
        Ok(vec!["nobody was asked".into()])
    }

    fn unlabel(&self, number: u64, label: &str) -> Result<(), ForgeError> {
        self.forge_write("unlabel".into(), || {
            for (seen, _) in self.pulls.borrow_mut().iter_mut().filter(|(p, _)| p.number == number) {
                seen.labels.retain(|l| l != label);
            }
        })
    }

    fn status(&self, commit: CommitId, _: &Status, _: Option<&str>) -> Result<(), ForgeError> {
        assert!(!self.persons.borrow().contains(&commit) || ownership::is_written_by_us(&self.info(commit)));
        self.forge_write("status".into(), || {})
    }

    fn identity(&self) -> Result<Option<Signature>, ForgeError> {
        Ok(None)
    }

    fn compare_url(&self, base: &str, branch: &str) -> Option<String> {
        Some(format!("{base}...{branch}"))
    }
}

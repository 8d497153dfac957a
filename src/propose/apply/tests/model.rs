//! A small world for tests: a repository and a forge that keep the rules that matter here, and what people do there.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
};

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::{
    explain::{Basis, Message},
    linkerd::EdgeVersion,
    pins::Stage,
    propose::{
        CommitParts, Intent, Options, Proposal, ProposalContext, Wanted,
        forge::{Closer, Extras, ForgeError, PullRequest, PullState},
        wanted,
    },
    repo::{ChangeSet, CommitId, CommitInfo, FileChange, Mode, RefUpdate, RepoPath, TreeId},
    verify::Stretch,
};

mod sides;

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
    /// Commits of people on our branch: those that a person's event made, whatever is written in them.
    pub(super) persons: RefCell<BTreeSet<CommitId>>,
    /// The trees that the program under test wrote.
    written: RefCell<BTreeSet<TreeId>>,
    /// Commits of people that they merged or handed back.
    released: RefCell<BTreeSet<CommitId>>,
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

fn hash<I: From<[u8; 20]>>(parts: &[String]) -> I {
    let mut sha = Sha256::new();
    parts.iter().for_each(|p| sha.update(format!("{}:{p}", p.len())));
    let mut id = [0; 20];
    id.iter_mut().zip(sha.finalize()).for_each(|(to, from)| *to = from);
    I::from(id)
}

/// What stands in a marker in place of a hash over inputs.
fn digest(parts: &[String]) -> String {
    hash::<TreeId>(parts).to_string()
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
        let tree: TreeId = hash(&files.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>());
        self.trees.borrow_mut().insert(tree, files);
        self.clock.set(self.clock.get() + 1);
        let time = Timestamp::from_second(self.clock.get()).expect("a time");
        self.add_commit(tree, parents, message, time)
    }

    fn add_commit(&self, tree: TreeId, parents: &[CommitId], message: &str, time: Timestamp) -> CommitId {
        let id: CommitId =
            hash(&[tree.to_string(), format!("{parents:?}"), message.into(), time.to_string()]);
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

    /// Somebody changes a file in our commit and keeps its message, with all that it says of our tree.
    pub(super) fn amend_file(&self, path: &str, text: &str) {
        let Some(tip) = self.tip(BRANCH) else { return };
        let (info, mut files) = (self.info(tip), self.files(tip));
        if files.insert(path.into(), text.into()).as_deref() == Some(text) {
            return;
        }
        // What the base branch has, with the same bytes, cannot be lost here.
        let is_all_on_base = info.parents.get(1).is_some_and(|base| files == self.files(*base));
        let id = self.add(files, &info.parents, &info.message);
        // Who takes a change of their own back leaves nothing of theirs.
        if !is_all_on_base && !self.written.borrow().contains(&self.info(id).tree) {
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
        let is_all_on_base = files == self.files(base);
        let id = self.add(files, &[tip, base], "Merge branch 'main'");
        if is_all_on_base {
            // What the base branch has, with the same bytes, cannot be lost here.
            let persons = self.persons.borrow();
            self.released.borrow_mut().extend(persons.iter().filter(|theirs| self.reaches(tip, **theirs)));
        } else if self.persons.borrow().contains(&tip) {
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

    pub(super) fn intent<'a>(&self, to: u32, changes: Option<&'a ChangeSet>) -> Intent<'a> {
        let (Some(changes), Some(onto)) = (changes, self.tip("main")) else { return Intent::Withdraw };
        let inputs = changes.files[0].before_id.expect("a blob").to_string();
        let wanted = Wanted {
            release: release(to),
            fingerprint: digest(&[inputs.clone(), to.to_string()]),
            title: format!("Linkerd → {}", release(to)),
            text: format!("Goes to {}.", release(to)),
            basis: Some(Basis {
                inputs: digest(&[to.to_string(), inputs.clone()]),
                stretch: Stretch {
                    since: Some(Timestamp::UNIX_EPOCH - jiff::Span::new().hours(1)),
                    until: Some(Timestamp::UNIX_EPOCH + jiff::Span::new().hours(1)),
                },
                ..Basis::example()
            }),
            inputs,
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
        Intent::Propose(Proposal {
            wanted,
            commit: CommitParts { onto, changes, message, author: None, published: None },
        })
    }

    pub(super) fn context(&self, options: Options) -> ProposalContext<'_> {
        ProposalContext {
            forge: self,
            remote: self,
            branch: BRANCH.into(),
            is_elsewhere: false,
            base: "main".into(),
            target: "default".into(),
            stage: Stage::Platform,
            options,
            known: None,
        }
    }

    /// The rules that no push may break. Whose a commit is, is known from who made it here, and what was handed back
    /// from the body's own text: nothing of the program under test is asked.
    fn check_push(&self, update: &RefUpdate) {
        assert_eq!(update.branch, BRANCH, "only our branch is written");
        let Some(old) = update.old else { return };
        let persons: Vec<CommitId> =
            self.persons.borrow().iter().copied().filter(|theirs| self.reaches(old, *theirs)).collect();
        let pulls = self.pulls.borrow();
        let merged = pulls.iter().any(|(p, _)| p.state == PullState::Merged && p.head == old.to_string());
        let ticked = |line: &str| line.starts_with("- [x]") && line.contains("<!-- uplinker:retake -->");
        let handed_back = |p: &PullRequest| p.state == PullState::Open && p.body.lines().any(ticked);
        if persons.contains(&old) {
            assert!(update.new.is_some(), "a person's branch is never deleted");
            assert!(merged || pulls.iter().any(|(p, _)| handed_back(p)), "pushed over a person's commit");
        }
        if merged || persons.contains(&old) {
            self.released.borrow_mut().extend(&persons);
        }
        for theirs in persons.iter().filter(|theirs| !self.released.borrow().contains(*theirs)) {
            let kept = update.new.is_some_and(|new| self.reaches(new, *theirs));
            assert!(kept, "a person's commit is no longer on the branch");
        }
    }
}

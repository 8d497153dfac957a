//! A tree and a forge in memory, which keep what Git and a forge promise: commits by their content, branches that move only
//! from where they were seen, pull requests that follow their branches. The program ends at its n-th write by unwinding, which
//! is caught outside of it: nothing that it did after that write is there.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet, HashMap},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    rc::Rc,
    sync::Arc,
};

use jiff::Timestamp;
use uplinker::{
    policy::{CheckState, StatusCheck},
    propose::forge::{Closer, PullRequest, PullState},
    repo::{CommitId, CommitInfo, TreeId, blob_id},
    report::RunReport,
};

use self::tree::{Snapshot, Texts, three_way};
use super::{
    fleet,
    place::{End, Files, Pass, Place, Pull},
};
use crate::support::{github::Merge, repo::EPOCH};

mod forge;
mod remote;
mod tree;

const BASE: &str = "main";

/// The program's end.
struct Killed;

/// A pull request with what the API does not show in it.
struct Kept {
    pull: PullRequest,
    branch: String,
    queued: bool,
    closer: Closer,
}

#[derive(Default)]
pub struct Memory {
    trees: RefCell<HashMap<TreeId, Arc<Snapshot>>>,
    /// With the order in which they were made, so that none comes before its parents.
    commits: RefCell<HashMap<CommitId, (usize, CommitInfo)>>,
    branches: RefCell<BTreeMap<String, CommitId>>,
    pulls: RefCell<Vec<Kept>>,
    checks: RefCell<Vec<(CommitId, StatusCheck)>>,
    clock: Cell<i64>,
    writes: Cell<usize>,
    end: Cell<Option<End>>,
    asked: RefCell<Vec<String>>,
}

// === impl Memory ===

impl Memory {
    pub fn new(first: usize) -> Self {
        let memory = Self::default();
        memory.clock.set(EPOCH);
        let files =
            fleet::files(first).into_iter().map(|(path, text)| (path, Arc::new(text.into_bytes()))).collect();
        let commit = memory.add(files, &[], "Begin", EPOCH);
        memory.branches.borrow_mut().insert(BASE.to_owned(), commit);
        memory
    }

    fn add(&self, files: Texts, parents: &[CommitId], message: &str, time: i64) -> CommitId {
        let (tree, snapshot) = Snapshot::of(files);
        self.trees.borrow_mut().entry(tree).or_insert_with(|| Arc::new(snapshot));
        self.of_tree(tree, parents, message, time)
    }

    fn of_tree(&self, tree: TreeId, parents: &[CommitId], message: &str, time: i64) -> CommitId {
        let id = CommitId(blob_id(format!("{tree} {parents:?} {time}\n{message}").as_bytes()).0);
        let (message, parents) = (message.to_owned(), parents.to_vec());
        let time = Timestamp::from_second(time).expect("a time");
        let mut commits = self.commits.borrow_mut();
        let order = commits.len();
        commits.entry(id).or_insert((order, CommitInfo { id, tree, parents, message, time }));
        id
    }

    fn now(&self) -> i64 {
        self.clock.set(self.clock.get() + 60);
        self.clock.get()
    }

    fn info(&self, id: CommitId) -> CommitInfo {
        self.commits.borrow()[&id].1.clone()
    }

    fn snapshot(&self, commit: CommitId) -> Arc<Snapshot> {
        Arc::clone(&self.trees.borrow()[&self.info(commit).tree])
    }

    fn at(&self, branch: &str) -> CommitId {
        self.branches.borrow()[branch]
    }

    fn ancestors(&self, of: CommitId) -> BTreeSet<CommitId> {
        let (mut seen, mut next) = (BTreeSet::new(), vec![of]);
        while let Some(id) = next.pop() {
            if seen.insert(id) {
                next.extend(&self.commits.borrow()[&id].1.parents);
            }
        }
        seen
    }

    /// Merges two commits file by file, and within a file as Git does.
    fn merged(&self, ours: CommitId, theirs: CommitId) -> Option<Texts> {
        let common = self.ancestors(ours);
        let order = |id: &CommitId| self.commits.borrow()[id].0;
        let base = self.ancestors(theirs).into_iter().filter(|id| common.contains(id)).max_by_key(order)?;
        three_way(&self.snapshot(base).files, &self.snapshot(ours).files, &self.snapshot(theirs).files)
    }

    /// Moves a branch; its pull request follows, and is closed where the branch goes.
    fn set(&self, branch: &str, to: Option<CommitId>) {
        let mut branches = self.branches.borrow_mut();
        match to {
            Some(to) => branches.insert(branch.to_owned(), to),
            None => branches.remove(branch),
        };
        let time = Timestamp::from_second(self.clock.get()).ok();
        for kept in self.pulls.borrow_mut().iter_mut().filter(|kept| kept.branch == branch) {
            match (kept.pull.state, to) {
                (PullState::Open, Some(to)) => {
                    kept.queued &= kept.pull.head == to.to_string();
                    kept.pull.head = to.to_string();
                }
                (PullState::Open, None) => {
                    (kept.pull.state, kept.pull.closed_at) = (PullState::Closed, time);
                    kept.closer = Closer::Bot("uplinker".to_owned());
                }
                _ => {}
            }
        }
    }

    fn change<T>(&self, number: u64, change: impl FnOnce(&mut Kept) -> T) -> T {
        let mut pulls = self.pulls.borrow_mut();
        change(pulls.iter_mut().find(|kept| kept.pull.number == number).expect("a pull request"))
    }

    /// A write of the program, which may be its last.
    fn write<T>(&self, what: String, apply: impl FnOnce() -> T) -> T {
        let n = self.writes.get() + 1;
        self.writes.set(n);
        self.asked.borrow_mut().push(what);
        match self.end.get() {
            Some(End::Before(end)) if end == n => resume_unwind(Box::new(Killed)),
            Some(End::After(end)) if end == n => {
                apply();
                resume_unwind(Box::new(Killed))
            }
            _ => apply(),
        }
    }

    fn close_as(&self, number: u64, state: PullState, closer: Closer) {
        let time = Timestamp::from_second(self.now()).ok();
        self.change(number, |kept| {
            (kept.pull.state, kept.pull.closed_at, kept.closer, kept.queued) = (state, time, closer, false);
        });
    }
}

impl Place for Memory {
    fn set_clock(&self, now: i64) {
        self.clock.set(now);
    }

    fn branches(&self) -> BTreeMap<String, CommitId> {
        self.branches.borrow().clone()
    }

    fn files(&self, commit: CommitId) -> Files {
        let files = &self.snapshot(commit).files;
        Rc::new(files.iter().map(|(path, text)| (path.clone(), text.to_vec())).collect())
    }

    fn line(&self) -> Vec<(CommitId, i64)> {
        let mut next = Some(self.at(BASE));
        let step = || {
            let commit = self.info(next?);
            next = commit.parents.first().copied();
            Some((commit.id, commit.time.as_second()))
        };
        std::iter::from_fn(step).collect()
    }

    fn contains(&self, branch: &str, commit: CommitId) -> bool {
        self.tip(branch).is_some_and(|tip| self.ancestors(tip).contains(&commit))
    }

    fn pulls(&self) -> Vec<Pull> {
        let pulls = self.pulls.borrow();
        let all = pulls.iter().map(|Kept { pull, branch, queued, .. }| Pull {
            number: pull.number,
            open: pull.state == PullState::Open,
            merged: pull.state == PullState::Merged,
            branch: branch.clone(),
            head: id(&pull.head),
            title: pull.title.clone(),
            body: pull.body.clone(),
            labels: pull.labels.clone(),
            queued: *queued,
        });
        all.collect()
    }

    fn writes(&self) -> usize {
        self.writes.get()
    }

    fn asked(&self) -> Vec<String> {
        self.asked.take()
    }

    fn commit(&self, branch: &str, message: &str, changes: &[(String, String)]) -> CommitId {
        let tip = self.at(branch);
        let mut files = self.snapshot(tip).files.clone();
        files.extend(changes.iter().map(|(path, text)| (path.clone(), Arc::new(text.clone().into_bytes()))));
        let commit = self.add(files, &[tip], message, self.now());
        self.set(branch, Some(commit));
        commit
    }

    fn can_be_merged(&self, branch: &str) -> bool {
        self.tip(branch).is_some_and(|theirs| self.merged(self.at(BASE), theirs).is_some())
    }

    fn is_linear(&self, branch: &str) -> bool {
        let known = self.ancestors(self.at(BASE));
        self.ancestors(self.at(branch)).difference(&known).all(|id| self.info(*id).parents.len() == 1)
    }

    fn merge(&self, number: u64, how: Merge, delete: bool) {
        let branch = self.change(number, |kept| kept.branch.clone());
        let (ours, theirs) = (self.at(BASE), self.at(&branch));
        let files = self.merged(ours, theirs).expect("no conflict");
        let commit = match how {
            Merge::Commit => {
                self.add(files, &[ours, theirs], &format!("Merge pull request #{number}"), self.now())
            }
            Merge::Squash => self.add(files, &[ours], &format!("A change (#{number})"), self.now()),
            Merge::Rebase => {
                let known = self.ancestors(ours);
                let mut new: Vec<CommitId> = self.ancestors(theirs).difference(&known).copied().collect();
                new.sort_by_key(|id| self.commits.borrow()[id].0);
                let last = new.len() - 1;
                let mut onto = ours;
                for (n, id) in new.into_iter().enumerate() {
                    let commit = self.info(id);
                    let parent = &self.snapshot(commit.parents[0]).files;
                    let one = three_way(parent, &self.snapshot(onto).files, &self.snapshot(id).files);
                    let one = if n == last { files.clone() } else { one.expect("no conflict") };
                    onto = self.add(one, &[onto], &commit.message, self.now());
                }
                onto
            }
        };
        self.close_as(number, PullState::Merged, Closer::Unknown);
        self.set(BASE, Some(commit));
        if delete {
            self.set(&branch, None);
        }
    }

    fn close(&self, number: u64) {
        self.close_as(number, PullState::Closed, Closer::Person("ada".to_owned()));
    }

    fn update_branch(&self, number: u64) {
        let branch = self.change(number, |kept| kept.branch.clone());
        let (ours, theirs) = (self.at(&branch), self.at(BASE));
        if self.ancestors(ours).contains(&theirs) {
            return;
        }
        let files = self.merged(ours, theirs).expect("no conflict");
        let message = format!("Merge branch '{BASE}' into {branch}");
        let commit = self.add(files, &[ours, theirs], &message, self.now());
        self.set(&branch, Some(commit));
    }

    fn tick(&self, number: u64, words: &str) {
        self.change(number, |kept| {
            let box_of = |line: &&str| line.contains("- [ ]") && line.contains(words);
            let line = kept.pull.body.lines().find(box_of).map(str::to_owned);
            if let Some(line) = line {
                kept.pull.body = kept.pull.body.replacen(&line, &line.replacen("- [ ]", "- [x]", 1), 1);
            }
        });
    }

    fn enqueue(&self, number: u64) {
        self.change(number, |kept| kept.queued = true);
    }

    fn merge_queued(&self, number: u64) {
        self.leave_queue(number);
        let branch = self.change(number, |kept| kept.branch.clone());
        if self.can_be_merged(&branch) {
            Place::merge(self, number, Merge::Commit, false);
        }
    }

    fn leave_queue(&self, number: u64) {
        self.change(number, |kept| kept.queued = false);
    }

    fn says(&self, context: &str, state: &str) {
        let state = match state {
            "success" => CheckState::Success,
            "pending" => CheckState::Pending,
            _ => CheckState::Failure,
        };
        let at = Timestamp::from_second(self.clock.get()).expect("a time");
        let check = StatusCheck { name: context.to_owned(), state, at };
        self.checks.borrow_mut().push((self.at(BASE), check));
    }

    fn run(&self, pass: Pass<'_>) -> Result<Option<RunReport>, String> {
        let so_far = self.writes.get();
        self.end.set(pass.end.map(|end| match end {
            End::Before(n) => End::Before(so_far + n),
            End::After(n) => End::After(so_far + n),
        }));
        let done = catch_unwind(AssertUnwindSafe(|| pass.make(self, self)));
        self.end.set(None);
        match done {
            Ok(report) => report.map(Some),
            Err(end) if <dyn Any>::is::<Killed>(end.as_ref()) => Ok(None),
            Err(defect) => resume_unwind(defect),
        }
    }
}

fn id(hex: &str) -> CommitId {
    let byte = |n: usize| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).expect("hexadecimal");
    CommitId(std::array::from_fn(byte))
}

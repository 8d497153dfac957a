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
    propose::forge::{
        Closer, Extras, Forge, ForgeError, NewPull, OpenPulls, PullPatch, PullRequest, PullState, Status,
    },
    repo::{
        BlobId, ChangeSet, CommitId, CommitInfo, Entry, GitError, Mode, NewCommit, RefUpdate, Refs, Remote,
        RepoPath, Signature, Stretch, Tree, TreeError, TreeId, Upstream, blob_id, git,
    },
    report::RunReport,
};

use super::{
    fleet,
    place::{End, Files, Pass, Place, Pull},
};
use crate::support::{github::Merge, repo::EPOCH};

const BASE: &str = "main";

/// The program's end.
struct Killed;

/// A tree of files, with its listing.
struct Snapshot {
    files: Files2,
    entries: Vec<Entry>,
    blobs: HashMap<BlobId, Arc<Vec<u8>>>,
}

type Files2 = BTreeMap<String, Arc<Vec<u8>>>;

struct TreeOf(Arc<Snapshot>);

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

// === impl Tree ===

impl Snapshot {
    fn of(files: Files2) -> (TreeId, Self) {
        let entry = |(path, text): (&String, &Arc<Vec<u8>>)| Entry {
            path: RepoPath::new(path.clone()).expect("a path"),
            id: blob_id(text),
            mode: Mode::File,
        };
        let entries: Vec<Entry> = files.iter().map(entry).collect();
        let blobs = entries.iter().map(|entry| entry.id).zip(files.values().cloned()).collect();
        let listing: String = entries.iter().map(|entry| format!("{} {}\n", entry.id, entry.path)).collect();
        (blob_id(listing.as_bytes()), Self { files, entries, blobs })
    }
}

impl Tree for TreeOf {
    fn entries(&self) -> &[Entry] {
        &self.0.entries
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        let text = self.0.blobs.get(&id);
        text.map(|text| text.to_vec()).ok_or_else(|| TreeError::new(id, "there is no such blob"))
    }
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

    fn add(&self, files: Files2, parents: &[CommitId], message: &str, time: i64) -> CommitId {
        let (tree, snapshot) = Snapshot::of(files);
        self.trees.borrow_mut().entry(tree).or_insert_with(|| Arc::new(snapshot));
        self.of_tree(tree, parents, message, time)
    }

    fn of_tree(&self, tree: TreeId, parents: &[CommitId], message: &str, time: i64) -> CommitId {
        let id = blob_id(format!("{tree} {parents:?} {time}\n{message}").as_bytes());
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
    fn merged(&self, ours: CommitId, theirs: CommitId) -> Option<Files2> {
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

fn three_way(base: &Files2, ours: &Files2, theirs: &Files2) -> Option<Files2> {
    let paths: BTreeSet<&String> = base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
    let mut merged = Files2::new();
    for path in paths {
        let (base, ours, theirs) = (base.get(path), ours.get(path), theirs.get(path));
        let text = match (base, ours, theirs) {
            _ if ours == theirs || base == theirs => ours.cloned(),
            _ if base == ours => theirs.cloned(),
            (Some(base), Some(ours), Some(theirs)) => Some(Arc::new(git::merge(base, ours, theirs).ok()??)),
            _ => return None,
        };
        merged.extend(text.map(|text| (path.clone(), text)));
    }
    Some(merged)
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
    BlobId(std::array::from_fn(byte))
}

impl Remote for Memory {
    fn refs(&self) -> Result<Refs, GitError> {
        Ok(Refs { default_branch: Some(BASE.to_owned()), branches: self.branches.borrow().clone() })
    }

    fn fetch(&self, branches: &[(&str, CommitId)]) -> Result<(), GitError> {
        match branches.iter().find(|(branch, id)| self.branches.borrow().get(*branch) != Some(id)) {
            Some((branch, _)) => Err(GitError::Moved { branch: (*branch).to_owned() }),
            None => Ok(()),
        }
    }

    fn commit(&self, id: CommitId) -> Result<CommitInfo, GitError> {
        Ok(self.info(id))
    }

    fn tree(&self, id: CommitId) -> Result<Box<dyn Tree>, GitError> {
        Ok(Box::new(TreeOf(self.snapshot(id))))
    }

    fn is_ancestor(&self, ancestor: CommitId, _: &str, descendant: CommitId) -> Result<bool, GitError> {
        Ok(self.ancestors(descendant).contains(&ancestor))
    }

    fn write(&self, commit: &NewCommit<'_>) -> Result<CommitId, GitError> {
        let mut files = self.snapshot(commit.onto).files.clone();
        for change in &commit.changes.files {
            let path = change.path.to_string();
            assert_eq!(files.get(&path).map(|text| blob_id(text)), change.before_id, "{path} is another one");
            match &change.after {
                Some(text) => files.insert(path, Arc::new(text.clone())),
                None => files.remove(&path),
            };
        }
        let (tree, snapshot) = Snapshot::of(files);
        self.trees.borrow_mut().entry(tree).or_insert_with(|| Arc::new(snapshot));
        let message = format!("{}\nUplinker-Tree: {tree}\n", commit.message.trim_end());
        Ok(self.of_tree(tree, &commit.parents, &message, commit.date.as_second()))
    }

    fn push(&self, update: &RefUpdate) -> Result<(), GitError> {
        assert!(update.branch.starts_with("uplinker/"), "{update:?}");
        if self.tip(&update.branch) != update.old {
            return Err(GitError::Moved { branch: update.branch.clone() });
        }
        self.write(format!("push {}", update.branch), || self.set(&update.branch, update.new));
        Ok(())
    }
}

impl Upstream for Memory {
    fn url(&self) -> String {
        "https://forge.example/acme/config.git".to_owned()
    }

    fn write_under(&self, _: &str) -> Result<(), GitError> {
        Ok(())
    }

    fn patch(&self, _: CommitId, _: &ChangeSet) -> Result<String, GitError> {
        Err(GitError::Other("this forge asks for no patch".to_owned()))
    }

    fn landed(
        &self,
        _: &str,
        tip: CommitId,
        file: &RepoPath,
        text: &str,
    ) -> Result<Option<Timestamp>, GitError> {
        let holds = |commit: &CommitInfo| {
            let snapshot = &self.trees.borrow()[&commit.tree];
            let found = snapshot.files.get(file.as_str());
            found.is_some_and(|found| String::from_utf8_lossy(found).contains(text))
        };
        Ok(self.stretch_of(tip, &holds).map(|stretch| stretch.since))
    }

    fn stretch(&self, _: &str, last: CommitId, files: &[RepoPath]) -> Result<Option<Stretch>, GitError> {
        let trees = self.trees.borrow();
        let wanted = &trees[&self.info(last).tree].files;
        let same = |commit: &CommitInfo| {
            let there = &trees[&commit.tree].files;
            files.iter().all(|file| there.get(file.as_str()) == wanted.get(file.as_str()))
        };
        Ok(self.stretch_of(last, &same))
    }
}

impl Memory {
    /// The commits by first parents for which something holds.
    fn stretch_of(&self, last: CommitId, holds: &dyn Fn(&CommitInfo) -> bool) -> Option<Stretch> {
        let (mut commits, mut since, mut next) = (Vec::new(), None, Some(last));
        while let Some(id) = next {
            let commit = self.info(id);
            if !holds(&commit) {
                break;
            }
            commits.push(id);
            since = Some(commit.time);
            next = commit.parents.first().copied();
        }
        Some(Stretch { commits, since: since?, before: next })
    }
}

impl Forge for Memory {
    fn pulls(&self, branch: &str) -> Result<Vec<PullRequest>, ForgeError> {
        let pulls = self.pulls.borrow();
        Ok(pulls.iter().rev().filter(|kept| kept.branch == branch).map(|kept| kept.pull.clone()).collect())
    }

    fn open_pulls(&self, branches: &[String]) -> Result<Option<OpenPulls>, ForgeError> {
        let mut open = OpenPulls::new();
        for kept in self.pulls.borrow().iter().filter(|kept| kept.pull.state == PullState::Open) {
            if branches.contains(&kept.branch) {
                open.entry(kept.branch.clone()).or_default().push(kept.pull.clone());
            }
        }
        Ok(Some(open))
    }

    fn pull(&self, number: u64) -> Result<PullRequest, ForgeError> {
        Ok(self.change(number, |kept| kept.pull.clone()))
    }

    fn closer(&self, number: u64) -> Result<Closer, ForgeError> {
        Ok(self.change(number, |kept| kept.closer.clone()))
    }

    fn is_queued(&self, pull: &PullRequest, _: &Refs) -> bool {
        self.change(pull.number, |kept| kept.queued)
    }

    fn open(&self, new: &NewPull) -> Result<PullRequest, ForgeError> {
        let is_open = |kept: &Kept| kept.branch == new.head && kept.pull.state == PullState::Open;
        if self.pulls.borrow().iter().any(is_open) {
            let reason = format!("A pull request already exists for {}.", new.head);
            return Err(ForgeError::Rejected { what: "cannot open the pull request".to_owned(), reason });
        }
        let number = self.pulls.borrow().len() as u64 + 1;
        let pull = PullRequest {
            number,
            url: format!("https://forge.example/acme/config/pull/{number}"),
            state: PullState::Open,
            title: new.title.clone(),
            body: new.body.clone(),
            head: self.at(&new.head).to_string(),
            base: new.base.clone(),
            closed_at: None,
            labels: Vec::new(),
            draft: false,
        };
        let kept =
            Kept { pull: pull.clone(), branch: new.head.clone(), queued: false, closer: Closer::Unknown };
        self.write(format!("open {}", new.head), || self.pulls.borrow_mut().push(kept));
        Ok(pull)
    }

    fn update(&self, number: u64, patch: &PullPatch) -> Result<(), ForgeError> {
        self.write(format!("update #{number}"), || {
            self.change(number, |kept| {
                kept.pull.title = patch.title.clone().unwrap_or_else(|| kept.pull.title.clone());
                kept.pull.body = patch.body.clone().unwrap_or_else(|| kept.pull.body.clone());
            });
            if patch.state == Some(PullState::Closed)
                && self.change(number, |kept| kept.pull.state) == PullState::Open
            {
                self.close_as(number, PullState::Closed, Closer::Bot("uplinker".to_owned()));
            }
        });
        Ok(())
    }

    fn add_labels_and_reviewers(
        &self,
        pull: &PullRequest,
        extras: &Extras,
    ) -> Result<Vec<String>, ForgeError> {
        self.write(format!("label #{}", pull.number), || {
            self.change(pull.number, |kept| {
                let new = extras.labels.iter().filter(|label| !kept.pull.labels.contains(label));
                let new: Vec<String> = new.cloned().collect();
                kept.pull.labels.extend(new);
            });
        });
        Ok(Vec::new())
    }

    fn unlabel(&self, number: u64, label: &str) -> Result<(), ForgeError> {
        self.write(format!("unlabel #{number}"), || {
            self.change(number, |kept| kept.pull.labels.retain(|own| own != label));
        });
        Ok(())
    }

    fn status(&self, commit: CommitId, _: &Status, _: Option<&str>) -> Result<(), ForgeError> {
        self.write(format!("status {commit}"), || ());
        Ok(())
    }

    fn status_checks(&self, commits: &[CommitId]) -> Result<Option<Vec<StatusCheck>>, ForgeError> {
        // The last word of each name on each commit.
        let mut last = BTreeMap::new();
        for (commit, check) in self.checks.borrow().iter().filter(|(commit, _)| commits.contains(commit)) {
            last.insert((*commit, check.name.clone()), check.clone());
        }
        Ok(Some(last.into_values().collect()))
    }

    fn identity(&self) -> Result<Option<Signature>, ForgeError> {
        Ok(None)
    }

    fn compare_url(&self, _: &str, _: &str) -> Option<String> {
        None
    }
}

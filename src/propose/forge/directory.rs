//! Step 10, propose: the forge without a forge, a folder in which each proposal is a folder.
//!
//! In: a folder and a view of the remote beside it. Out: [`Forge`]. A proposal is `<number>/pull.json`, `body.md` and
//! `changes.patch`; a person merges its branch in the remote, or writes `"state": "closed"`. Every file is replaced
//! in one step, and one process writes at a time. It never moves a branch.
#![allow(clippy::disallowed_methods, reason = "this forge is a folder")]

mod record;

use std::{
    cell::RefCell,
    fs::{self, File},
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use self::record::{Record, Verdict, directory_error, io_error, read_text, replace};
use super::{
    Closer, Extras, Forge, ForgeError, MakePatch, NewPull, PullPatch, PullRequest, PullState, Status,
};
use crate::repo::{CommitId, GitError, Remote, Signature, git::GitRemote};

/// Holds the lock, and the last number that was given.
const LOCK: &str = ".uplinker-lock";
/// A proposal that is being made.
const UNFINISHED: &str = ".unfinished-";
/// What a proposal changes, as `git apply` reads it.
const PATCH: &str = "changes.patch";
/// Who closed a proposal, as it is noted.
const BY_US: &str = "uplinker";
const BY_REMOVAL: &str = "branch removed";

/// What the forge has to know of the remote that its branches are in.
pub trait RemoteView {
    /// Returns where a branch is.
    fn tip(&self, branch: &str) -> Result<Option<CommitId>, ForgeError>;
    /// Tells whether a branch has what a head would bring: then the proposal is merged.
    fn contains(&self, branch: &str, head: CommitId) -> Result<bool, ForgeError>;
}

/// Whether what is observed may be noted in the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing is written, not even a lock: for `plan`.
    Read,
    /// Proposals are made and changed.
    Write,
}

/// Proposals as folders.
pub struct DirectoryForge<'a> {
    folder: PathBuf,
    remote: &'a dyn RemoteView,
    access: Access,
    /// What was said of a commit before a proposal was made of it.
    said: RefCell<Option<Verdict>>,
}

/// The lock on the folder; the system frees it with the process.
struct Lock(File);

// === impl RemoteView ===

impl RemoteView for GitRemote<'_> {
    fn tip(&self, branch: &str) -> Result<Option<CommitId>, ForgeError> {
        let observed = GitRemote::tip(self, branch).map_err(of_remote)?;
        if observed.is_some() {
            return Ok(observed);
        }
        // Another run may have made the branch since the branches were listed: it is not gone for that.
        Ok(self.refs().map_err(of_remote)?.branches.get(branch).copied())
    }

    fn contains(&self, branch: &str, head: CommitId) -> Result<bool, ForgeError> {
        GitRemote::contains(self, branch, head).map_err(of_remote)
    }
}

fn of_remote(error: GitError) -> ForgeError {
    match error {
        GitError::Temporary { url, reason } => ForgeError::Temporary { host: url, reason },
        GitError::NotFound { url } => ForgeError::NotFound(url),
        error => ForgeError::Rejected { what: "reading the remote".into(), reason: error.to_string() },
    }
}

// === impl DirectoryForge ===

impl<'a> DirectoryForge<'a> {
    /// Names the folder; it is made with the first proposal.
    pub fn new(folder: &Path, remote: &'a dyn RemoteView, access: Access) -> Self {
        Self { folder: folder.to_owned(), remote, access, said: RefCell::default() }
    }

    fn lock(&self) -> Result<Option<Lock>, ForgeError> {
        match self.access {
            Access::Read => Ok(None),
            Access::Write => Lock::take(&self.folder).map(Some),
        }
    }

    fn writable(&self) -> Result<Lock, ForgeError> {
        self.lock()?.ok_or_else(|| directory_error(&self.folder, "was opened to be read only"))
    }

    fn place(&self, number: u64) -> PathBuf {
        self.folder.join(number.to_string())
    }

    /// Returns the numbers of all proposals, newest first.
    fn numbers(&self) -> Result<Vec<u64>, ForgeError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io_error(&self.folder, "cannot be read", &error)),
        };
        let mut numbers = Vec::new();
        for entry in entries {
            let name = entry.map_err(|e| io_error(&self.folder, "cannot be read", &e))?.file_name();
            let name = name.to_str().filter(|name| !name.starts_with(['0', '+']));
            numbers.extend(name.and_then(|name| name.parse::<u64>().ok()));
        }
        numbers.sort_unstable_by_key(|number| std::cmp::Reverse(*number));
        Ok(numbers)
    }

    /// Reads a proposal and brings it up to date with the remote; what changed is noted where that is allowed.
    fn observe(&self, number: u64) -> Result<Record, ForgeError> {
        let place = self.place(number);
        let mut record = Record::read(&place, number)?;
        let before = record.clone();
        if record.state == PullState::Open {
            self.follow(&mut record)?;
        }
        match record.state {
            PullState::Open => record.reopen(),
            PullState::Closed | PullState::Merged => {
                // A person wrote the state and nothing else: the file's own date tells when.
                let written = || record::modified(&place).unwrap_or_else(Timestamp::now);
                record.closed_at.get_or_insert_with(written);
            }
        }
        if record != before && self.access == Access::Write {
            record.write(&place)?;
        }
        Ok(record)
    }

    /// Looks what became of an open proposal's branch.
    fn follow(&self, record: &mut Record) -> Result<(), ForgeError> {
        let tip = self.remote.tip(&record.head)?;
        if let Some(tip) = tip {
            record.commit = tip.to_string();
        }
        let head = record.commit_id(&self.place(record.number))?;
        if self.remote.contains(&record.base, head)? {
            record.end(PullState::Merged, None, Timestamp::now());
        } else if tip.is_none() {
            record.end(PullState::Closed, Some(BY_REMOVAL), Timestamp::now());
        }
        Ok(())
    }

    fn pull_request(&self, record: Record) -> Result<PullRequest, ForgeError> {
        let body = self.place(record.number).join("body.md");
        Ok(PullRequest {
            number: record.number,
            url: body.display().to_string(),
            state: record.state,
            title: record.title,
            body: read_text(&body)?,
            head: record.commit,
            base: record.base,
            closed_at: record.closed_at,
            labels: record.labels,
            draft: record.draft,
        })
    }

    /// Changes the record of a proposal.
    fn edit(&self, number: u64, change: impl FnOnce(&mut Record)) -> Result<(), ForgeError> {
        let _lock = self.writable()?;
        let place = self.place(number);
        let mut record = Record::read(&place, number)?;
        let before = record.clone();
        change(&mut record);
        if record == before { Ok(()) } else { record.write(&place) }
    }

    /// Makes the folder of a new proposal; it appears whole or not at all.
    fn make(&self, record: &Record, body: &str) -> Result<(), ForgeError> {
        let unfinished = self.folder.join(format!("{UNFINISHED}{}", record.number));
        let failed = |path: &Path, error: &std::io::Error| io_error(path, "cannot be made", error);
        fs::create_dir(&unfinished).map_err(|e| failed(&unfinished, &e))?;
        replace(&unfinished.join("body.md"), body)?;
        record.write(&unfinished)?;
        let place = self.place(record.number);
        fs::rename(&unfinished, &place).map_err(|e| failed(&place, &e))
    }

    /// Removes what a process that was killed left unfinished.
    fn clean(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().filter_map(Result::ok);
        for entry in entries.filter(|e| e.file_name().to_string_lossy().starts_with(UNFINISHED)) {
            if let Err(error) = fs::remove_dir_all(entry.path()) {
                tracing::debug!(%error, path = %entry.path().display(), "left as it is");
            }
        }
    }
}

impl Forge for DirectoryForge<'_> {
    fn pulls(&self, branch: &str) -> Result<Vec<PullRequest>, ForgeError> {
        let numbers = self.numbers()?;
        let _lock = if numbers.is_empty() { None } else { self.lock()? };
        let mut pulls = Vec::new();
        for number in numbers {
            if Record::read(&self.place(number), number)?.head == branch {
                pulls.push(self.observe(number).and_then(|record| self.pull_request(record))?);
            }
        }
        Ok(pulls)
    }

    fn pull(&self, number: u64) -> Result<PullRequest, ForgeError> {
        let _lock = self.lock()?;
        self.observe(number).and_then(|record| self.pull_request(record))
    }

    fn closer(&self, number: u64) -> Result<Closer, ForgeError> {
        let record = Record::read(&self.place(number), number)?;
        Ok(match record.closed_by.as_deref() {
            Some(BY_US) => Closer::Bot(BY_US.into()),
            _ if self.remote.tip(&record.base)?.is_none() => Closer::BaseGone,
            _ => Closer::Person("somebody with access to the folder".into()),
        })
    }

    fn open(&self, pull: &NewPull) -> Result<PullRequest, ForgeError> {
        let rejected = |reason: String| ForgeError::Rejected { what: "opening a proposal".into(), reason };
        fs::create_dir_all(&self.folder).map_err(|e| io_error(&self.folder, "cannot be made", &e))?;
        let mut lock = self.writable()?;
        self.clean();
        let numbers = self.numbers()?;
        for number in &numbers {
            let other = self.observe(*number)?;
            if other.state == PullState::Open && other.head == pull.head && other.base == pull.base {
                // Another run was faster; it becomes ours, as on a forge that refuses the second.
                return self.pull_request(other);
            }
        }
        let tip = self.remote.tip(&pull.head)?;
        let tip = tip.ok_or_else(|| rejected(format!("the remote has no branch `{}`", pull.head)))?;
        let number = lock.next(numbers.first().copied(), &self.folder)?;
        let said = self.said.borrow().clone().filter(|said| said.commit == tip.to_string());
        let mut record = Record::new(number, pull, tip);
        record.verify = said;
        self.make(&record, &pull.body)?;
        self.pull_request(record)
    }

    fn update(&self, number: u64, patch: &PullPatch) -> Result<(), ForgeError> {
        self.edit(number, |record| {
            if let Some(title) = &patch.title {
                record.title.clone_from(title);
            }
            match patch.state {
                Some(PullState::Open) => {
                    record.state = PullState::Open;
                    record.reopen();
                }
                // What a person decided meanwhile stands.
                Some(state) if record.state == PullState::Open => {
                    record.end(state, Some(BY_US), Timestamp::now());
                }
                _ => {}
            }
            // A body is written for changes whose patch is still to be laid beside it.
            record.patch = record.patch.take().filter(|_| patch.body.is_none());
        })?;
        // Last, since its marker says that all the rest is done.
        if let Some(body) = &patch.body {
            let _lock = self.writable()?;
            replace(&self.place(number).join("body.md"), body)?;
        }
        Ok(())
    }

    fn add_labels_and_reviewers(
        &self,
        pull: &PullRequest,
        extras: &Extras,
    ) -> Result<Vec<String>, ForgeError> {
        self.edit(pull.number, |record| {
            let lists = [
                (&mut record.labels, &extras.labels),
                (&mut record.reviewers, &extras.reviewers),
                (&mut record.assignees, &extras.assignees),
            ];
            for (there, wanted) in lists {
                let absent: Vec<String> = wanted.iter().filter(|w| !there.contains(w)).cloned().collect();
                there.extend(absent);
            }
        })?;
        Ok(Vec::new())
    }

    fn unlabel(&self, number: u64, label: &str) -> Result<(), ForgeError> {
        self.edit(number, |record| record.labels.retain(|l| l != label))
    }

    fn status(&self, commit: CommitId, status: &Status, _: Option<&str>) -> Result<(), ForgeError> {
        let verdict = Verdict {
            commit: commit.to_string(),
            success: status.success,
            description: status.description.clone(),
        };
        let numbers = self.numbers()?;
        let _lock = if numbers.is_empty() { None } else { self.lock()? };
        for number in numbers {
            // The branch may have been moved a moment ago, by us.
            let mut record = self.observe(number)?;
            if record.state == PullState::Open
                && record.commit == verdict.commit
                && record.verify.as_ref() != Some(&verdict)
            {
                record.verify = Some(verdict.clone());
                record.write(&self.place(number))?;
            }
        }
        *self.said.borrow_mut() = Some(verdict);
        Ok(())
    }

    fn identity(&self) -> Result<Option<Signature>, ForgeError> {
        Ok(None)
    }

    fn compare_url(&self, _base: &str, _branch: &str) -> Option<String> {
        None
    }

    fn attach(&self, number: u64, patch: MakePatch<'_>) -> Result<(), ForgeError> {
        let patch = patch()?;
        let path = self.place(number).join(PATCH);
        {
            let _lock = self.writable()?;
            if !fs::read(&path).is_ok_and(|there| there == patch.as_bytes()) {
                replace(&path, &patch)?;
            }
        }
        self.edit(number, |record| record.patch = Some(record::digest(patch.as_bytes())))
    }

    fn is_attached(&self, number: u64) -> Result<bool, ForgeError> {
        let place = self.place(number);
        let laid = Record::read(&place, number)?.patch;
        let there = fs::read(place.join(PATCH)).ok().map(|patch| record::digest(&patch));
        Ok(there.is_some() && there == laid)
    }
}

// === impl Lock ===

impl Lock {
    /// Waits until no other process writes. A folder that is not there has nothing to lock, and is not made.
    fn take(folder: &Path) -> Result<Self, ForgeError> {
        let path = folder.join(LOCK);
        let file = File::options().create(true).truncate(false).read(true).write(true).open(&path);
        let file = file.map_err(|e| io_error(&path, "cannot be written", &e))?;
        file.lock().map_err(|e| io_error(&path, "cannot be locked", &e))?;
        Ok(Self(file))
    }

    /// Gives a number that no proposal had, also none whose folder was removed.
    fn next(&mut self, newest: Option<u64>, folder: &Path) -> Result<u64, ForgeError> {
        let failed = |e: std::io::Error| io_error(&folder.join(LOCK), "cannot be written", &e);
        let mut text = String::new();
        // Text that is no number is as good as none: the folders still tell the newest.
        if Read::by_ref(&mut self.0).take(32).read_to_string(&mut text).is_err() {
            text.clear();
        }
        let last = text.trim().parse::<u64>().unwrap_or(0).max(newest.unwrap_or(0));
        let next =
            last.checked_add(1).ok_or_else(|| directory_error(folder, "has no number left to give"))?;
        self.0.set_len(0).map_err(failed)?;
        self.0.rewind().map_err(failed)?;
        self.0.write_all(format!("{next}\n").as_bytes()).map_err(failed)?;
        self.0.sync_all().map_err(failed)?;
        Ok(next)
    }
}

#[cfg(test)]
mod tests;

//! Step 3, repo: a remote that is a folder of this machine.
//!
//! In: a path. Out: its branches, read where they are, and branches moved under the repository's own locks. Nothing
//! is copied to be read. Hooks of the folder are not run: a program of the repository is never started.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use git2::{BranchType, ErrorCode, Repository, RepositoryOpenFlags};

use crate::repo::{
    CommitId, GitError, RefUpdate, Refs,
    git::{
        store::{self, Store, id, oid},
        wire::Pushed,
    },
};

/// What is written beside a moved ref where the repository keeps a log.
const LOG: &str = "uplinker";

/// How long a branch's lock is waited for. Git holds one for milliseconds: one that stays the same for so long was
/// left by a process that was killed.
const LOCKED: Duration = Duration::from_secs(2);
/// The pause between two looks at a lock.
const PAUSE: Duration = Duration::from_millis(50);

/// A repository on this machine.
pub struct LocalRemote {
    repo: Repository,
    path: PathBuf,
}

// === impl LocalRemote ===

impl LocalRemote {
    /// Opens exactly this folder; a folder above it is not looked at.
    pub fn open(path: &Path) -> Result<Self, GitError> {
        let repo = open_repository(path)?;
        Ok(Self { repo, path: path.to_owned() })
    }

    /// Returns the path as it may be printed.
    pub fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns where its objects are; a linked worktree has them elsewhere.
    pub fn objects(&self) -> PathBuf {
        self.repo.commondir().join("objects")
    }

    /// Lists the branches.
    pub fn refs(&self) -> Result<Refs, GitError> {
        let mut refs = Refs::default();
        for branch in self.repo.branches(Some(BranchType::Local)).map_err(|e| self.failed(&e))? {
            let (branch, _) = branch.map_err(|e| self.failed(&e))?;
            // One that stands for another branch is where that is, as a server tells it.
            let target = branch.get().target().or_else(|| branch.get().resolve().ok()?.target());
            // A name that is not UTF-8 is none of ours, and no base branch either.
            if let (Ok(Some(name)), Some(target)) = (branch.name(), target) {
                refs.branches.insert(name.to_owned(), id(target));
            }
        }
        let head = self.repo.find_reference("HEAD").ok();
        refs.default_branch = head
            .as_ref()
            .and_then(|head| head.symbolic_target().ok().flatten())
            .and_then(|name| name.strip_prefix("refs/heads/"))
            .filter(|name| refs.branches.contains_key(*name))
            .map(str::to_owned);
        Ok(refs)
    }

    /// Moves a branch from the value that was observed; the ref's lock makes it one step.
    pub fn push(&self, store: &Store, update: &RefUpdate) -> Result<Pushed, GitError> {
        if self.at(&update.branch) == update.new {
            return Ok(Pushed::Done);
        }
        if self.at(&update.branch) != update.old {
            return Ok(Pushed::Moved);
        }
        let name = format!("refs/heads/{}", update.branch);
        let moved = match (update.old, update.new) {
            (None, None) => return Ok(Pushed::Done),
            (Some(old), None) => self.under_lock(&name, || {
                let mut there = self.repo.find_reference(&name)?;
                // libgit2 compares with what was read just now, which must still be what was observed.
                match there.target().map(id) == Some(old) {
                    true => there.delete(),
                    false => Err(git2::Error::from_str("it moved, or is no branch of its own")),
                }
            }),
            (old, Some(new)) => {
                self.refuse_checked_out(&name, &update.branch)?;
                self.send_objects(store, new)?;
                let new = oid(new)?;
                let old = old.map(oid).transpose()?;
                self.under_lock(&name, || match old {
                    Some(old) => self.repo.reference_matching(&name, new, true, old, LOG).map(drop),
                    None => self.repo.reference(&name, new, false, LOG).map(drop),
                })
            }
        };
        match moved {
            Ok(()) => Ok(Pushed::Done),
            Err(_) if self.at(&update.branch) == update.new => Ok(Pushed::Done),
            Err(_) if self.at(&update.branch) != update.old => Ok(Pushed::Moved),
            Err(error) if error.code() == ErrorCode::Locked => Err(GitError::Temporary {
                url: self.shown(),
                reason: format!("another process writes there: {}", error.message()),
            }),
            Err(error) => Ok(Pushed::Rejected(error.message().to_owned())),
        }
    }

    /// Writes a ref, and waits for whoever holds its lock; one that a killed process left is taken away.
    fn under_lock(&self, name: &str, write: impl Fn() -> Result<(), git2::Error>) -> Result<(), git2::Error> {
        let lock = self.repo.commondir().join(format!("{name}.lock"));
        let made = || fs::symlink_metadata(&lock).and_then(|lock| lock.modified()).ok();
        let mut first = None;
        let start = Instant::now();
        loop {
            let result = write();
            match &result {
                Err(error) if error.code() == ErrorCode::Locked => {}
                _ => return result,
            }
            first = first.or_else(made);
            if start.elapsed() < LOCKED {
                std::thread::sleep(PAUSE);
            } else if first.is_some() && made() == first && fs::remove_file(&lock).is_ok() {
                tracing::debug!(path = %lock.display(), "took a lock away that nobody holds");
                return write();
            } else {
                return result;
            }
        }
    }

    fn at(&self, branch: &str) -> Option<CommitId> {
        self.repo.refname_to_id(&format!("refs/heads/{branch}")).ok().map(id)
    }

    /// Writes what the remote lacks as one pack, before any ref names it.
    fn send_objects(&self, store: &Store, new: CommitId) -> Result<(), GitError> {
        if self.repo.is_shallow() {
            return Err(GitError::Shallow { url: self.shown() });
        }
        let send = || -> Result<(), git2::Error> {
            let mut walk = store.repo().revwalk()?;
            walk.push(git2::Oid::from_bytes(&new.0)?)?;
            for branch in self.repo.branches(Some(BranchType::Local))? {
                if let Some(target) = branch?.0.get().target() {
                    walk.hide(target)?;
                }
            }
            let mut pack = store.repo().packbuilder()?;
            pack.insert_walk(&mut walk)?;
            if pack.object_count() == 0 {
                return Ok(());
            }
            let odb = self.repo.odb()?;
            let mut writer = odb.packwriter()?;
            let mut failure = None;
            pack.foreach(|bytes| match std::io::Write::write_all(&mut writer, bytes) {
                Ok(()) => true,
                Err(error) => {
                    failure = Some(error);
                    false
                }
            })
            .map_err(|error| failure.map_or(error, |f| git2::Error::from_str(&f.to_string())))?;
            writer.commit().map(drop)
        };
        send().map_err(|e| self.failed(&e))
    }

    /// A branch that somebody has checked out would differ from the files beside it.
    fn refuse_checked_out(&self, name: &str, branch: &str) -> Result<(), GitError> {
        let held = |repo: &Repository| {
            repo.head().is_ok_and(|head| !repo.is_bare() && head.name().ok() == Some(name))
        };
        let worktrees = self.repo.worktrees().map_err(|e| self.failed(&e))?;
        let linked = worktrees.iter().flatten().flatten().any(|worktree| {
            let worktree = self.repo.find_worktree(worktree);
            worktree.and_then(|w| Repository::open_from_worktree(&w)).is_ok_and(|repo| held(&repo))
        });
        if held(&self.repo) || linked {
            let reason = "it is checked out there; switch to another branch".to_owned();
            return Err(GitError::Refused { branch: branch.to_owned(), reason, rules: Vec::new() });
        }
        Ok(())
    }

    fn failed(&self, error: &git2::Error) -> GitError {
        GitError::Other(format!("{}: {}", self.path.display(), error.message()))
    }
}

/// Fails where a folder is no repository that can be opened; reads nothing of it.
pub fn check_path(path: &Path) -> Result<(), GitError> {
    open_repository(path).map(drop)
}

/// Says what to give in place of a folder that is no repository: the one that it lies in, where it lies in one.
fn no_top(path: &Path) -> String {
    let above = Repository::discover(path).ok();
    let above = above.as_ref().and_then(Repository::workdir);
    let give = match above {
        Some(top) => format!("give `{}`", top.display()),
        None => "give the folder that holds `.git`, or a bare repository".to_owned(),
    };
    format!("it is not the top folder of a Git repository; {give}")
}

/// Opens a repository on this machine: bare, with a working tree, or a linked worktree. Its folder must be given,
/// not one inside it.
pub fn open_repository(path: &Path) -> Result<Repository, GitError> {
    let none: [&std::ffi::OsStr; 0] = [];
    let url = path.display().to_string();
    Repository::open_ext(path, RepositoryOpenFlags::NO_SEARCH, none).map_err(|error| match error.code() {
        ErrorCode::NotFound if path.exists() => GitError::Address { url, reason: no_top(path) },
        ErrorCode::NotFound => GitError::Address {
            url,
            reason: "there is no such folder; give the path of a clone or of a bare repository".into(),
        },
        ErrorCode::Owner => GitError::Address {
            reason: format!(
                "it belongs to another user; if you trust it: git config --global --add safe.directory {url}"
            ),
            url,
        },
        _ => {
            let GitError::Other(reason) = store::other(&error) else { return store::other(&error) };
            GitError::Address { url, reason: format!("cannot be opened: {reason}") }
        }
    })
}

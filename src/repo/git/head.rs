//! Step 3, repo: the HEAD commit of a clone on this machine.
//!
//! In: the folder of a repository. Out: the commit that HEAD names, its tree, and the address of `origin`. Files of
//! the working tree are not looked at, nothing is contacted and nothing is written.

use std::path::{Path, PathBuf};

use crate::repo::{
    CommitId, CommitInfo, GitError, GitTree,
    git::{
        address::{self, Address},
        local::open_repository,
        object::parse_commit,
        store::{id, other},
    },
};

/// A clone as it was committed last.
pub struct LocalHead {
    /// The commit that HEAD names.
    pub commit: CommitInfo,
    /// The branch that is checked out; `None` for a detached HEAD.
    pub branch: Option<String>,
    /// The commit's tree.
    pub tree: GitTree,
    /// The address of the remote `origin` as its configuration resolves it, without credentials.
    pub origin: Option<String>,
    /// Whether it has no working tree: such a folder is a remote.
    pub is_bare: bool,
    /// The clone itself, for questions about its history.
    pub clone: LocalClone,
}

/// A clone on this machine, at a commit.
pub struct LocalClone {
    pub(super) path: PathBuf,
    pub(super) tip: CommitId,
}

/// Reads the HEAD commit of a repository with or without a working tree, or of a linked worktree.
pub fn open_path(path: &Path) -> Result<LocalHead, GitError> {
    let repo = open_repository(path)?;
    let head = match repo.head() {
        Ok(head) => head,
        Err(error) if matches!(error.code(), git2::ErrorCode::UnbornBranch | git2::ErrorCode::NotFound) => {
            return Err(GitError::Empty { url: path.display().to_string() });
        }
        Err(error) => return Err(other(&error)),
    };
    let target = head.peel_to_commit().map_err(|e| other(&e))?.id();
    let odb = repo.odb().map_err(|e| other(&e))?;
    let object = odb.read(target).map_err(|e| other(&e))?;
    let commit = parse_commit(id(target), object.data())
        .ok_or_else(|| GitError::Other(format!("{}: commit {target} is malformed", path.display())))?;
    let tree = GitTree::from_objects(&[repo.commondir().join("objects")], commit.tree)
        .map_err(|e| GitError::Other(format!("{}: {e}", path.display())))?;
    let name = head.is_branch().then(|| head.shorthand().ok().map(str::to_owned)).flatten();
    let origin = repo.find_remote("origin").ok();
    let clone = LocalClone { path: path.to_owned(), tip: commit.id };
    let origin = origin.and_then(|remote| remote.url().ok().map(|url| resolved(url, &repo)));
    Ok(LocalHead { commit, branch: name, tree, origin, is_bare: repo.is_bare(), clone })
}

/// Drops user and password where they are credentials (in `ssh://git@host` the user is a part of the address), and
/// makes a path whole: Git reads it from the top folder.
fn resolved(url: &str, repo: &git2::Repository) -> String {
    if url.starts_with("http://") || url.starts_with("https://") {
        return address::shown(url);
    }
    match Address::parse(url, false, false) {
        Ok(Address::Local(path)) if path.is_relative() => {
            repo.workdir().unwrap_or(repo.path()).join(path).display().to_string()
        }
        _ => url.to_owned(),
    }
}

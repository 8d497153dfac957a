//! Step 3, repo: since when a text stands in a file of a branch.
//!
//! In: a tip, a file, a text. Out: the time of the first commit, on the tip's first-parent line, from which on the file
//! has held the text. History is deepened only as far as the question needs.

use std::path::Path;

use git2::{ObjectType, Oid, Repository};
use jiff::Timestamp;

use crate::repo::{
    CommitId, GitError, RepoPath,
    git::{
        DEPTHS, GitRemote, Link, LocalClone,
        local::open_repository,
        store::{oid, other},
    },
};

/// How many commits are read before the oldest of them is taken for an answer.
const MAX_COMMITS: usize = 20_000;

/// What the history that is here says.
enum Walk {
    /// The text came with the commit of this time.
    Since(Option<Timestamp>),
    /// The history ends before the text does.
    Cut(Option<Timestamp>),
}

// === impl GitRemote, LocalClone ===

impl GitRemote<'_> {
    /// Returns since when `file` has held `text` on `branch`, whose tip was fetched; `None` where it does not now.
    pub fn landed(
        &self,
        branch: &str,
        tip: CommitId,
        file: &RepoPath,
        text: &str,
    ) -> Result<Option<Timestamp>, GitError> {
        let look = || walk(self.store().repo(), oid(tip)?, file, text);
        let mut seen = look()?;
        for depth in DEPTHS {
            if matches!(seen, Walk::Since(_)) || matches!(self.link, Link::Local(_)) {
                break;
            }
            self.transfer_once(&[(branch, None)], depth)?;
            seen = look()?;
        }
        let (Walk::Since(at) | Walk::Cut(at)) = seen;
        Ok(at)
    }
}

impl LocalClone {
    /// Returns since when `file` has held `text` in the history of the commit; `None` where it does not now.
    pub fn landed(&self, file: &RepoPath, text: &str) -> Result<Option<Timestamp>, GitError> {
        let repo = open_repository(&self.path)?;
        let (Walk::Since(at) | Walk::Cut(at)) = walk(&repo, oid(self.tip)?, file, text)?;
        Ok(at)
    }
}

fn walk(repo: &Repository, tip: Oid, file: &RepoPath, text: &str) -> Result<Walk, GitError> {
    let mut since = None;
    let mut next = Some(tip);
    for _ in 0..MAX_COMMITS {
        let Some(id) = next else { return Ok(Walk::Since(since)) };
        let commit = match repo.find_commit(id) {
            Ok(commit) => commit,
            Err(e) if e.code() == git2::ErrorCode::NotFound => return Ok(Walk::Cut(since)),
            Err(e) => return Err(other(&e)),
        };
        if !holds(repo, &commit, file, text) {
            return Ok(Walk::Since(since));
        }
        since = Timestamp::from_second(commit.time().seconds()).ok();
        next = commit.parent_ids().next();
    }
    Ok(Walk::Since(since))
}

/// A file that cannot be read at a commit does not hold the text there.
fn holds(repo: &Repository, commit: &git2::Commit<'_>, file: &RepoPath, text: &str) -> bool {
    let entry = commit.tree().and_then(|tree| tree.get_path(Path::new(file.as_str())));
    let Ok(entry) = entry else { return false };
    let blob = (entry.kind() == Some(ObjectType::Blob)).then(|| repo.find_blob(entry.id()).ok()).flatten();
    blob.is_some_and(|blob| memchr::memmem::find(blob.content(), text.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use git2::{Signature, Time};

    use super::*;

    fn commit(repo: &Repository, content: &str, seconds: i64) -> Oid {
        let blob = repo.blob(content.as_bytes()).unwrap();
        let mut tree = repo.treebuilder(None).unwrap();
        tree.insert("cp.yaml", blob, 0o100_644).unwrap();
        let tree = repo.find_tree(tree.write().unwrap()).unwrap();
        let who = Signature::new("a", "a@b.c", &Time::new(seconds, 0)).unwrap();
        let parent = repo.head().ok().and_then(|h| h.peel_to_commit().ok());
        let parents: Vec<_> = parent.iter().collect();
        repo.commit(Some("HEAD"), &who, &who, "m", &tree, &parents).unwrap()
    }

    #[test]
    fn the_first_commit_of_the_last_stretch_counts() {
        let folder = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(folder.path()).unwrap();
        let contents = ["2026.8.2", "2026.8.3", "2026.8.2 again", "2026.8.3", "2026.8.3 # and a comment"];
        let tip = contents.iter().zip(1..).map(|(text, n)| commit(&repo, text, n * 100)).last().unwrap();
        let file = RepoPath::new("cp.yaml").unwrap();
        let since = |text: &str| match walk(&repo, tip, &file, text).unwrap() {
            Walk::Since(at) => at.map(Timestamp::as_second),
            Walk::Cut(_) => panic!("the history is whole"),
        };
        assert_eq!(since("2026.8.3"), Some(400));
        assert_eq!(since("comment"), Some(500));
        assert_eq!(since("2026.9.1"), None);
        assert_eq!(since("2026"), Some(100));
    }
}

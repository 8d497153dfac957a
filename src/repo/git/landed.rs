//! Step 3, repo: since when files of a branch are as they are.
//!
//! In: a commit, and files; or a file and a text. Out: the first commit, on the first-parent line, from which on the files
//! have stayed as they are, or the file has held the text. History is deepened only as far as the question needs.

use std::path::Path;

use git2::{ObjectType, Oid, Repository, Tree};

use crate::repo::{
    CommitId, CommitInfo, GitError, GitTree, RepoPath, Stretch,
    git::{
        DEPTHS, GitRemote, Link, LocalClone,
        local::open_repository,
        store::{find_commit, oid, other},
    },
};

/// How many commits are read before the oldest of them is taken for an answer.
const MAX_COMMITS: usize = 20_000;

/// What the history that is here says.
enum Walk {
    /// The whole stretch; none where not even its last commit has what is asked for.
    Known(Option<Stretch>),
    /// The history that is here ends before the stretch does.
    Cut(Option<Stretch>),
}

// === impl GitRemote, LocalClone ===

impl GitRemote<'_> {
    pub(super) fn landed_in(
        &self,
        branch: &str,
        tip: CommitId,
        file: &RepoPath,
        text: &str,
    ) -> Result<Option<Stretch>, GitError> {
        self.deepened(branch, || walk(self.store().repo(), tip, &holding(file, text)))
    }

    pub(super) fn stretch_in(
        &self,
        branch: &str,
        last: CommitId,
        files: &[RepoPath],
    ) -> Result<Option<Stretch>, GitError> {
        self.deepened(branch, || same_files(self.store().repo(), last, files))
    }

    fn deepened(
        &self,
        branch: &str,
        look: impl Fn() -> Result<Walk, GitError>,
    ) -> Result<Option<Stretch>, GitError> {
        let mut seen = look()?;
        for depth in DEPTHS {
            if matches!(seen, Walk::Known(_)) || matches!(self.link, Link::Local(_)) {
                break;
            }
            self.transfer_once(&[(branch, None)], depth)?;
            seen = look()?;
        }
        Ok(seen.stretch())
    }
}

impl LocalClone {
    /// Returns the commit that HEAD names.
    pub fn tip(&self) -> CommitId {
        self.tip
    }

    /// Returns the commits since `file` has held `text` in the history of the commit; `None` where it does not now.
    pub fn landed(&self, file: &RepoPath, text: &str) -> Result<Option<Stretch>, GitError> {
        Ok(walk(&open_repository(&self.path)?, self.tip, &holding(file, text))?.stretch())
    }

    /// Returns the commits, the last of them `last`, in which `files` have been as they are in that one.
    pub fn stretch(&self, last: CommitId, files: &[RepoPath]) -> Result<Option<Stretch>, GitError> {
        Ok(same_files(&open_repository(&self.path)?, last, files)?.stretch())
    }

    /// Opens the tree of a commit.
    pub fn tree(&self, commit: CommitId) -> Result<GitTree, GitError> {
        let fail =
            |reason: &dyn std::fmt::Display| GitError::Other(format!("{}: {reason}", self.path.display()));
        let repo = open_repository(&self.path)?;
        let commit =
            find_commit(&repo, commit)?.ok_or_else(|| fail(&format!("commit {commit} is not here")))?;
        GitTree::from_objects(&[repo.commondir().join("objects")], commit.tree).map_err(|e| fail(&e))
    }
}

// === impl Walk ===

impl Walk {
    /// What is still cut here is cut on the remote as well.
    fn stretch(self) -> Option<Stretch> {
        let (Self::Known(stretch) | Self::Cut(stretch)) = self;
        stretch
    }
}

/// Whether a commit of this content belongs to a stretch.
type Belongs<'a> = &'a dyn Fn(&Repository, &Tree<'_>) -> bool;

fn walk(repo: &Repository, last: CommitId, belongs: Belongs<'_>) -> Result<Walk, GitError> {
    let (mut commits, mut oldest): (Vec<CommitId>, Option<CommitInfo>) = (Vec::new(), None);
    let mut next = Some(last);
    for _ in 0..MAX_COMMITS {
        let Some(current) = next else { return stretch(repo, commits, oldest, None).map(Walk::Known) };
        let Some(commit) = find_commit(repo, current)? else {
            return stretch(repo, commits, oldest, None).map(Walk::Cut);
        };
        let tree = repo.find_tree(oid(commit.tree)?).map_err(|e| other(&e))?;
        if !belongs(repo, &tree) {
            return stretch(repo, commits, oldest, Some(&commit)).map(Walk::Known);
        }
        commits.push(current);
        next = commit.parents.first().copied();
        oldest = Some(commit);
    }
    stretch(repo, commits, oldest, None).map(Walk::Known)
}

/// Makes a stretch of its commits, of the oldest of them, and of the one before that.
fn stretch(
    repo: &Repository,
    commits: Vec<CommitId>,
    oldest: Option<CommitInfo>,
    before: Option<&CommitInfo>,
) -> Result<Option<Stretch>, GitError> {
    let Some(oldest) = oldest else { return Ok(None) };
    let mut made_on = None;
    for parent in oldest.parents {
        made_on = made_on.max(find_commit(repo, parent)?.map(|parent| parent.time));
    }
    let (older, before) = (before.map(|before| before.time), before.map(|before| before.id));
    Ok(Some(Stretch { commits, since: oldest.time, older, made_on, before }))
}

fn same_files(repo: &Repository, last: CommitId, files: &[RepoPath]) -> Result<Walk, GitError> {
    let Some(commit) = find_commit(repo, last)? else { return Ok(Walk::Cut(None)) };
    let wanted = repo.find_tree(oid(commit.tree)?).map_err(|e| other(&e))?;
    let wanted = contents(&wanted, files);
    walk(repo, last, &|_, tree| contents(tree, files) == wanted)
}

fn contents(tree: &Tree<'_>, files: &[RepoPath]) -> Vec<Option<Oid>> {
    files.iter().map(|file| tree.get_path(Path::new(file.as_str())).ok().map(|entry| entry.id())).collect()
}

fn holding<'a>(file: &'a RepoPath, text: &'a str) -> impl Fn(&Repository, &Tree<'_>) -> bool + 'a {
    move |repo, tree| holds(repo, tree, file, text)
}

/// A file that cannot be read does not hold the text.
fn holds(repo: &Repository, tree: &Tree<'_>, file: &RepoPath, text: &str) -> bool {
    let Ok(entry) = tree.get_path(Path::new(file.as_str())) else { return false };
    let blob = (entry.kind() == Some(ObjectType::Blob)).then(|| repo.find_blob(entry.id()).ok()).flatten();
    blob.is_some_and(|blob| memchr::memmem::find(blob.content(), text.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use git2::{Signature, Time};

    use super::*;
    use crate::repo::git::store::id;

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
        let since = |text: &str| match walk(&repo, id(tip), &holding(&file, text)).unwrap() {
            Walk::Known(stretch) => stretch.map(|stretch| stretch.since.as_second()),
            Walk::Cut(_) => panic!("the history is whole"),
        };
        assert_eq!(since("2026.8.3"), Some(400));
        assert_eq!(since("comment"), Some(500));
        assert_eq!(since("2026.9.1"), None);
        assert_eq!(since("2026"), Some(100));
    }

    #[test]
    fn stretches_follow_one_another_back_to_the_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(folder.path()).unwrap();
        let contents = ["2026.8.2", "2026.8.3", "2026.8.3", "2026.8.2"];
        let all: Vec<Oid> = contents.iter().zip(1..).map(|(text, n)| commit(&repo, text, n * 100)).collect();
        let files = [RepoPath::new("cp.yaml").unwrap(), RepoPath::new("gone.yaml").unwrap()];
        let mut seen = Vec::new();
        let mut last = all.last().copied().map(id);
        while let Some(commit) = last {
            let stretch = same_files(&repo, commit, &files).unwrap().stretch().unwrap();
            seen.push((stretch.commits, stretch.since.as_second()));
            last = stretch.before;
        }
        let commits = |positions: &[usize]| positions.iter().map(|n| id(all[*n])).collect::<Vec<_>>();
        assert_eq!(seen, [(commits(&[3]), 400), (commits(&[2, 1]), 200), (commits(&[0]), 100)]);
    }

    #[test]
    fn what_a_slow_clock_dates_came_no_earlier_than_what_it_was_made_on() {
        let folder = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(folder.path()).unwrap();
        let at = |seconds| jiff::Timestamp::from_second(seconds).unwrap();
        commit(&repo, "2026.8.2", 500);
        let slow = commit(&repo, "2026.8.3", 100);
        let files = [RepoPath::new("cp.yaml").unwrap()];
        let came = same_files(&repo, id(slow), &files).unwrap().stretch().unwrap();
        assert_eq!((came.since, came.made_on), (at(100), Some(at(500))));
        assert_eq!(came.not_before_its_parents(came.since, at(900)), at(500));
        assert_eq!(
            came.not_before_its_parents(came.since, at(400)),
            at(100),
            "that one is ahead of the time"
        );
    }
}

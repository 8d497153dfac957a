//! Bare repositories for tests: made from files or folders, changed as people and forges change them.
//!
//! All dates come from a counter, so the same calls make the same commit ids.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::atomic::{AtomicI64, Ordering},
};

use git2::{
    BranchType, Commit, ObjectType, Oid, Repository, RepositoryInitOptions, Signature, Time, TreeWalkMode,
    TreeWalkResult, build::TreeUpdateBuilder,
};

/// The date of a repository's first commit: 2026-08-01T12:00:00Z.
pub const EPOCH: i64 = 1_785_585_600;

/// Someone who commits.
#[derive(Clone, Copy, Debug)]
pub struct Person {
    pub name: &'static str,
    pub email: &'static str,
}

/// The platform engineer of the tests.
pub const ADA: Person = Person { name: "Ada Platform", email: "ada@example.com" };
/// A reviewer.
pub const BEN: Person = Person { name: "Ben Reviewer", email: "ben@example.com" };
/// The committer of what a forge's buttons make.
pub const FORGE: Person = Person { name: "GitHub", email: "noreply@github.com" };

/// A change to one path.
#[derive(Clone, Debug)]
pub enum Change<'a> {
    /// Writes a file.
    Put(&'a str, &'a [u8]),
    /// Writes a file that may be executed.
    PutExecutable(&'a str, &'a [u8]),
    /// Writes a symbolic link.
    Link(&'a str, &'a str),
    /// Writes a submodule that points to a commit.
    Submodule(&'a str, Oid),
    /// Removes a file.
    Remove(&'a str),
}

/// A bare repository on disk.
#[derive(Debug)]
pub struct BareRepo {
    path: PathBuf,
    clock: AtomicI64,
}

// === impl Change ===

/// Writes text to a path.
pub fn put<'a>(path: &'a str, text: &'a str) -> Change<'a> {
    Change::Put(path, text.as_bytes())
}

// === impl BareRepo ===

impl BareRepo {
    /// Makes an empty repository whose HEAD names `branch`.
    pub fn empty(path: impl Into<PathBuf>, branch: &str) -> Self {
        let path = path.into();
        let mut options = RepositoryInitOptions::new();
        options.bare(true).initial_head(branch).external_template(false);
        let repo = Repository::init_opts(&path, &options).expect("a bare repository");
        let mut config = repo.config().expect("its configuration");
        for (key, value) in [
            ("http.receivepack", "true"),
            // As on GitHub: any commit that the server has may be asked for.
            ("uploadpack.allowAnySHA1InWant", "true"),
            ("uploadpack.allowFilter", "true"),
            ("receive.autogc", "false"),
            ("receive.hideRefs", "refs/pull"),
            ("gc.auto", "0"),
            ("core.logAllRefUpdates", "true"),
        ] {
            config.set_str(key, value).expect("a setting");
        }
        Self { path, clock: AtomicI64::new(EPOCH) }
    }

    /// Makes a repository with one commit on `branch`.
    pub fn with_files(path: impl Into<PathBuf>, branch: &str, files: &[(&str, &str)]) -> Self {
        let repo = Self::empty(path, branch);
        let changes: Vec<_> = files.iter().map(|(path, text)| put(path, text)).collect();
        repo.commit(branch, &ADA, "Set the cluster up", &changes);
        repo
    }

    /// Makes a repository with one commit on `branch` that holds the files under a folder.
    pub fn from_folder(path: impl Into<PathBuf>, branch: &str, folder: &Path) -> Self {
        let repo = Self::empty(path, branch);
        let mut files = Vec::new();
        read_folder(folder, "", &mut files);
        let changes: Vec<_> = files.iter().map(|(path, bytes)| Change::Put(path, bytes)).collect();
        repo.commit(branch, &ADA, "Set the cluster up", &changes);
        repo
    }

    /// Returns the folder of the repository.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the repository.
    pub fn open(&self) -> Repository {
        Repository::open_bare(&self.path).expect("the bare repository")
    }

    fn now(&self, who: &Person) -> Signature<'static> {
        let seconds = self.clock.fetch_add(60, Ordering::SeqCst);
        Signature::new(who.name, who.email, &Time::new(seconds, 0)).expect("a signature")
    }

    /// Moves the date of the commits to come.
    pub fn set_clock(&self, seconds: i64) {
        self.clock.store(seconds, Ordering::SeqCst);
    }

    // --- reading ---

    /// Returns the commit of a branch.
    pub fn tip(&self, branch: &str) -> Option<Oid> {
        self.open().refname_to_id(&format!("refs/heads/{branch}")).ok()
    }

    /// Returns all refs with the commit that each points to.
    pub fn refs(&self) -> BTreeMap<String, Oid> {
        let repo = self.open();
        let references = repo.references().expect("the refs");
        references
            .filter_map(Result::ok)
            .filter_map(|r| Some((r.name().ok()?.to_owned(), r.resolve().ok()?.target()?)))
            .collect()
    }

    /// Returns the branches with their commits.
    pub fn branches(&self) -> BTreeMap<String, Oid> {
        let refs = self.refs().into_iter();
        refs.filter_map(|(name, id)| Some((name.strip_prefix("refs/heads/")?.to_owned(), id))).collect()
    }

    /// Returns the branch that HEAD names.
    pub fn default_branch(&self) -> String {
        let repo = self.open();
        let head = repo.find_reference("HEAD").expect("HEAD");
        let target = head.symbolic_target().ok().flatten().expect("a HEAD that names a branch").to_owned();
        target.trim_start_matches("refs/heads/").to_owned()
    }

    /// Returns the files of a commit or branch.
    pub fn files(&self, rev: &str) -> BTreeMap<String, Vec<u8>> {
        let repo = self.open();
        let tree = find(&repo, rev).tree().expect("its tree");
        let mut files = BTreeMap::new();
        tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
            if entry.kind() == Some(ObjectType::Blob)
                && let Ok(blob) = repo.find_blob(entry.id())
            {
                let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
                files.insert(format!("{folder}{name}"), blob.content().to_vec());
            }
            TreeWalkResult::Ok
        })
        .expect("a walk over the tree");
        files
    }

    /// Returns the text of a file.
    pub fn read(&self, rev: &str, path: &str) -> Option<String> {
        let bytes = self.files(rev).remove(path)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the paths that differ between two commits or branches.
    pub fn changed(&self, old: &str, new: &str) -> Vec<String> {
        let (old, new) = (self.files(old), self.files(new));
        let mut paths: Vec<String> =
            old.keys().chain(new.keys()).filter(|p| old.get(*p) != new.get(*p)).cloned().collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Returns the message of a commit or branch.
    pub fn message(&self, rev: &str) -> String {
        let repo = self.open();
        String::from_utf8_lossy(find(&repo, rev).message_bytes()).into_owned()
    }

    /// Returns the parents of a commit or branch.
    pub fn parents(&self, rev: &str) -> Vec<Oid> {
        let repo = self.open();
        find(&repo, rev).parent_ids().collect()
    }

    /// Returns the tree of a commit or branch.
    pub fn tree_id(&self, rev: &str) -> Oid {
        let repo = self.open();
        find(&repo, rev).tree_id()
    }

    /// Tells whether `new` holds everything of `old`.
    pub fn contains(&self, new: &str, old: Oid) -> bool {
        let repo = self.open();
        let new = find(&repo, new).id();
        new == old || repo.graph_descendant_of(new, old).expect("both commits")
    }

    /// Counts the commits that are on `head` and not on `base`.
    pub fn ahead(&self, base: &str, head: &str) -> usize {
        let repo = self.open();
        let (base, head) = (find(&repo, base).id(), find(&repo, head).id());
        repo.graph_ahead_behind(head, base).expect("both commits").0
    }

    // --- refs ---

    /// Points a branch to a commit, wherever it was.
    pub fn set_tip(&self, branch: &str, commit: Oid) {
        self.set_ref(&format!("refs/heads/{branch}"), commit);
    }

    /// Points a ref to a commit, wherever it was.
    pub fn set_ref(&self, name: &str, commit: Oid) {
        self.open().reference(name, commit, true, "test").expect("a ref");
    }

    /// Makes a branch at another's commit.
    pub fn branch(&self, name: &str, from: &str) -> Oid {
        let tip = self.tip(from).expect("the branch to start from");
        self.set_tip(name, tip);
        tip
    }

    /// Removes a branch.
    pub fn delete_branch(&self, name: &str) {
        let repo = self.open();
        repo.find_reference(&format!("refs/heads/{name}")).expect("the branch").delete().expect("to delete");
    }

    /// Renames a branch; HEAD follows when it named the old one.
    pub fn rename_branch(&self, old: &str, new: &str) {
        let follow = self.default_branch() == old;
        let repo = self.open();
        repo.find_branch(old, BranchType::Local)
            .expect("the branch")
            .into_reference()
            .rename(&format!("refs/heads/{new}"), true, "test")
            .expect("to rename");
        if follow {
            self.set_default_branch(new);
        }
    }

    /// Makes HEAD name another branch.
    pub fn set_default_branch(&self, name: &str) {
        self.open().set_head(&format!("refs/heads/{name}")).expect("HEAD");
    }

    // --- commits ---

    /// Commits changes on a branch, which may be new.
    pub fn commit(&self, branch: &str, who: &Person, message: &str, changes: &[Change<'_>]) -> Oid {
        let repo = self.open();
        let parent = self.tip(branch).map(|id| repo.find_commit(id).expect("the tip"));
        let tree = apply(&repo, parent.as_ref(), changes);
        let parents: Vec<&Commit<'_>> = parent.iter().collect();
        self.write(&repo, branch, (who, message), tree, &parents)
    }

    /// Replaces the last commit of a branch, as `git commit --amend` does.
    pub fn amend(&self, branch: &str, who: &Person, message: Option<&str>, changes: &[Change<'_>]) -> Oid {
        let repo = self.open();
        let tip = find(&repo, branch);
        let tree = apply(&repo, Some(&tip), changes);
        let parents: Vec<Commit<'_>> = tip.parents().collect();
        let old = String::from_utf8_lossy(tip.message_bytes()).into_owned();
        let now = self.now(who);
        let tree = repo.find_tree(tree).expect("the tree");
        let parents: Vec<&Commit<'_>> = parents.iter().collect();
        let id = repo
            .commit(None, &tip.author(), &now, message.unwrap_or(&old), &tree, &parents)
            .expect("a commit");
        self.set_tip(branch, id);
        id
    }

    /// Merges `from` into `into`; what GitHub's *Update branch* makes of the base branch.
    ///
    /// Fails where both sides changed the same lines, as the button does.
    pub fn merge(&self, into: &str, from: &str, who: &Person, message: &str) -> Result<Oid, String> {
        let repo = self.open();
        let (ours, theirs) = (find(&repo, into), find(&repo, from));
        let tree = merge_trees(&repo, &ours, &theirs)?;
        Ok(self.write(&repo, into, (who, message), tree, &[&ours, &theirs]))
    }

    /// Puts all that `head` adds onto `base` as one commit.
    pub fn squash(&self, base: &str, head: &str, who: &Person, message: &str) -> Result<Oid, String> {
        let repo = self.open();
        let (ours, theirs) = (find(&repo, base), find(&repo, head));
        let tree = merge_trees(&repo, &ours, &theirs)?;
        Ok(self.write(&repo, base, (who, message), tree, &[&ours]))
    }

    /// Puts each commit that `head` adds onto `base`, one by one. As on GitHub, not where a merge would give something else: a
    /// merge on the branch is left out of it, with what it changed.
    pub fn rebase(&self, base: &str, head: &str, who: &Person) -> Result<Oid, String> {
        let repo = self.open();
        let mut walk = repo.revwalk().expect("a walk");
        walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::REVERSE).expect("an order");
        walk.push(find(&repo, head).id()).expect("the head");
        walk.hide(find(&repo, base).id()).expect("the base");
        let start = find(&repo, base).id();
        let merged = merge_trees(&repo, &find(&repo, base), &find(&repo, head))?;
        let refused = |why: &str| {
            self.set_tip(base, start);
            Err(format!("this branch cannot be rebased {why}"))
        };
        let (mut last, mut tree) = (start, find(&repo, base).tree_id());
        for id in walk.filter_map(Result::ok) {
            let commit = repo.find_commit(id).expect("a commit of the walk");
            if commit.parent_count() > 1 {
                continue;
            }
            let onto = repo.find_commit(last).expect("the last commit");
            let mut index = repo.cherrypick_commit(&commit, &onto, 0, None).map_err(|e| e.to_string())?;
            if index.has_conflicts() {
                return refused("due to conflicts");
            }
            tree = index.write_tree_to(&repo).expect("a tree");
            let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
            last = self.write(&repo, base, (who, &message), tree, &[&onto]);
        }
        if tree == merged { Ok(last) } else { refused("safely") }
    }

    /// Writes a commit; `repo` is the handle that the parents came from, since libgit2 drops those of another.
    fn write(
        &self,
        repo: &Repository,
        branch: &str,
        (who, message): (&Person, &str),
        tree: Oid,
        parents: &[&Commit<'_>],
    ) -> Oid {
        let now = self.now(who);
        let tree = repo.find_tree(tree).expect("the tree");
        let id = repo.commit(None, &now, &now, message, &tree, parents).expect("a commit");
        self.set_tip(branch, id);
        id
    }

    // --- hooks ---

    /// Installs a hook, a shell script without its first line, such as `pre-receive` or `update`.
    pub fn install_hook(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = self.path.join("hooks");
        std::fs::create_dir_all(&folder).expect("the hooks folder");
        let file = folder.join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("the hook");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    }

    /// Removes a hook.
    pub fn remove_hook(&self, name: &str) {
        let _ = std::fs::remove_file(self.path.join("hooks").join(name));
    }
}

fn find<'r>(repo: &'r Repository, rev: &str) -> Commit<'r> {
    let named = repo.refname_to_id(&format!("refs/heads/{rev}"));
    let id = named.or_else(|_| repo.revparse_single(rev).map(|object| object.id()));
    repo.find_commit(id.unwrap_or_else(|e| panic!("no commit `{rev}`: {e}"))).expect("a commit")
}

fn apply(repo: &Repository, parent: Option<&Commit<'_>>, changes: &[Change<'_>]) -> Oid {
    let base = match parent {
        Some(commit) => commit.tree().expect("its tree"),
        None => {
            let empty = repo.treebuilder(None).and_then(|builder| builder.write()).expect("the empty tree");
            repo.find_tree(empty).expect("the empty tree")
        }
    };
    let mut update = TreeUpdateBuilder::new();
    let blob = |bytes: &[u8]| repo.blob(bytes).expect("a blob");
    for change in changes {
        match change {
            Change::Put(path, bytes) => update.upsert(*path, blob(bytes), git2::FileMode::Blob),
            Change::PutExecutable(path, bytes) => {
                update.upsert(*path, blob(bytes), git2::FileMode::BlobExecutable)
            }
            Change::Link(path, to) => update.upsert(*path, blob(to.as_bytes()), git2::FileMode::Link),
            Change::Submodule(path, commit) => update.upsert(*path, *commit, git2::FileMode::Commit),
            Change::Remove(path) => update.remove(*path),
        };
    }
    update.create_updated(repo, &base).expect("the new tree")
}

fn merge_trees(repo: &Repository, ours: &Commit<'_>, theirs: &Commit<'_>) -> Result<Oid, String> {
    let mut index = repo.merge_commits(ours, theirs, None).map_err(|e| e.to_string())?;
    if index.has_conflicts() {
        return Err("merge conflict".to_owned());
    }
    index.write_tree_to(repo).map_err(|e| e.to_string())
}

fn read_folder(folder: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name().into_string().expect("a file name in UTF-8");
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        if entry.path().is_dir() {
            read_folder(&entry.path(), &path, files);
        } else {
            files.push((path, std::fs::read(entry.path()).expect("a file that can be read")));
        }
    }
}

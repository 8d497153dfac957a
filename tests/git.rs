//! The Git adapter against a real Git server on loopback and against folders: what it asks, writes and refuses.

mod cache;
mod folders;
mod history;
mod reading;
mod signing;
mod ssh;
mod writing;

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::support::{
    controls::{Fault, WriteFault},
    git_server::{Access, GitServer, Refusal, hermetic_git},
    http::Response,
    repo::{ADA, BEN, BareRepo, Change, put},
};
use git2::Oid;
use tempfile::TempDir;
use uplinker::{
    repo::{
        BlobId, ChangeSet, CommitId, FileChange, GitError, Mode, NewCommit, RefUpdate, Remote, RepoPath,
        Signature, Tree, Upstream,
        git::{GitRemote, Limits, RemoteOptions, open_path},
    },
    sys::{
        git_options::{GitOptions, apply},
        http::Http,
    },
};

const BRANCH: &str = "uplinker/default/platform";
const NAME: &str = "acme/config";

/// A server with one repository, and what a client needs.
struct Scene {
    server: GitServer,
    repo: Arc<BareRepo>,
    http: Http,
}

impl Scene {
    fn new() -> Self {
        let server = GitServer::start();
        let repo = server.repo(NAME, &[("a/crds.yaml", "version: 2026.8.2\n"), ("b.txt", "keep\n")]);
        Self { server, repo, http: http() }
    }

    fn open(&self) -> GitRemote<'_> {
        self.with(RemoteOptions::default())
    }

    fn with(&self, options: RemoteOptions) -> GitRemote<'_> {
        GitRemote::open(&self.server.url(NAME), options, &self.http).unwrap()
    }

    fn with_token(&self, token: &str) -> GitRemote<'_> {
        self.with(RemoteOptions { token: Some(token.to_owned().into()), ..RemoteOptions::default() })
    }

    fn cached(&self, cache: &Path) -> GitRemote<'_> {
        self.with(RemoteOptions { cache: Some(cache.to_owned()), ..RemoteOptions::default() })
    }

    fn lines(&self) -> Vec<String> {
        self.server.controls().log.take().iter().map(|e| e.line().replace("/acme/config.git", "")).collect()
    }
}

fn http() -> Http {
    // The limit of the silent server; the same for every test, since libgit2 has one for the process.
    apply(&GitOptions { silence_timeout: Duration::from_secs(3), ..GitOptions::default() }).unwrap();
    Http::new(None).unwrap()
}

fn id<I: From<[u8; 20]>>(oid: Oid) -> I {
    I::from(oid.as_bytes().try_into().unwrap())
}

fn tip(repo: &BareRepo, branch: &str) -> Option<CommitId> {
    repo.tip(branch).map(id)
}

/// Reads and fetches the default branch.
fn base(remote: &GitRemote<'_>) -> CommitId {
    let refs = remote.refs().unwrap();
    let name = refs.default_branch.unwrap();
    let commit = refs.branches[&name];
    remote.fetch(&[(&name, commit)]).unwrap();
    commit
}

/// The change of one file of a commit.
fn change(remote: &GitRemote<'_>, onto: CommitId, path: &str, after: Option<&str>) -> FileChange {
    let tree = remote.tree(onto).unwrap();
    let entry = tree.entries().iter().find(|e| e.path.as_str() == path);
    FileChange {
        path: RepoPath::new(path).unwrap(),
        mode: entry.map_or(Mode::File, |e| e.mode),
        before_id: entry.map(|e| e.id),
        before: entry.map(|e| tree.read(e.id).unwrap()).unwrap_or_default(),
        after: after.map(|text| text.as_bytes().to_vec()),
        rendered: false,
    }
}

fn write(remote: &GitRemote<'_>, onto: CommitId, files: Vec<FileChange>) -> Result<CommitId, GitError> {
    remote.write(&NewCommit {
        onto,
        parents: vec![onto],
        changes: &ChangeSet { files },
        message: "Linkerd edge-26.8.3\n\nLinkerd-Version: edge-26.8.3\n".into(),
        author: Signature { name: "uplinker".into(), email: "bot@example.com".into() },
        date: "2026-08-20T10:00:00Z".parse().unwrap(),
    })
}

/// Commits a bump of the CRDs onto the default branch, here only.
fn bump(remote: &GitRemote<'_>) -> CommitId {
    let onto = base(remote);
    write(remote, onto, vec![change(remote, onto, "a/crds.yaml", Some("version: 2026.8.3\n"))]).unwrap()
}

fn update(old: Option<CommitId>, new: Option<CommitId>) -> RefUpdate {
    RefUpdate { branch: BRANCH.into(), old, new }
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = hermetic_git(folder)
        .current_dir(folder)
        .args(["-c", "user.name=Cleo", "-c", "user.email=cleo@example.com"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

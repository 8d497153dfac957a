//! The Git adapter against a real Git server on loopback and against folders: what it asks, writes and refuses.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use git2::Oid;
use support::{
    controls::{Fault, WriteFault},
    git_server::{Access, GitServer, Refusal, hermetic_git},
    http::Response,
    repo::{ADA, BEN, BareRepo, Change, put},
};
use tempfile::TempDir;
use uplinker::{
    commit::{
        CommitId, GitError, NewCommit, RefUpdate, Remote, Signature,
        git::{GitRemote, Limits, RemoteOptions, open_path},
    },
    edit::{ChangeSet, FileChange},
    scan::{BlobId, Mode, RepoPath, Tree},
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

fn id(oid: Oid) -> CommitId {
    BlobId(oid.as_bytes().try_into().unwrap())
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

// --- reading ---

#[test]
fn branches_cost_one_request_also_with_a_token() {
    let scene = Scene::new();
    scene.server.gate().allow("t0ken", "bot", Access::Write);
    scene.repo.rename_branch("main", "trunk");
    let remote = scene.with_token("t0ken");
    let refs = remote.refs().unwrap();
    assert_eq!(refs.default_branch.as_deref(), Some("trunk"));
    assert_eq!(refs.branches["trunk"], tip(&scene.repo, "trunk").unwrap());
    assert_eq!(scene.lines(), ["GET /info/refs?service=git-upload-pack"]);
}

#[test]
fn an_empty_repository_has_no_branches() {
    let server = GitServer::start();
    BareRepo::empty(server.path_of(NAME), "main");
    let http = http();
    let refs = GitRemote::open(&server.url(NAME), RemoteOptions::default(), &http).unwrap().refs().unwrap();
    assert_eq!((refs.default_branch, refs.branches.len()), (None, 0));
}

#[test]
fn a_fetch_is_one_commit_and_what_is_here_is_not_asked_for() {
    let scene = Scene::new();
    for n in 0..20 {
        scene.repo.commit("main", &ADA, "More", &[put("b.txt", &format!("{n}\n"))]);
    }
    let cache = TempDir::new().unwrap();
    let remote = scene.cached(cache.path());
    let head = base(&remote);
    let info = remote.commit(head).unwrap();
    assert_eq!(info.parents, [id(scene.repo.parents("main")[0])], "the real parent, though it is not here");
    assert!(remote.commit(info.parents[0]).is_err());
    assert_eq!(info.message, "More");
    assert_eq!(remote.tree(head).unwrap().entries().len(), 2);
    let first = scene.lines();
    assert!(first.len() >= 3 && first.iter().all(|line| line.contains("upload-pack")), "{first:?}");
    drop(remote);

    let again = scene.cached(cache.path());
    assert_eq!(base(&again), head);
    assert_eq!(scene.lines(), ["GET /info/refs?service=git-upload-pack"], "a warm cache fetches nothing");
}

#[test]
fn a_moved_base_brings_only_what_is_new() {
    let scene = Scene::new();
    // Text that does not compress, so that bytes can be compared.
    let mut seed = 1_u64;
    let noise: String = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!("{seed:x}")
    })
    .take(20_000)
    .collect();
    scene.repo.commit("main", &ADA, "Big", &[put("big.txt", &noise)]);
    let cache = TempDir::new().unwrap();
    base(&scene.cached(cache.path()));
    let bytes = |scene: &Scene| scene.server.controls().log.take().iter().map(|e| e.bytes_out).sum::<usize>();
    let whole = bytes(&scene);
    scene.repo.commit("main", &ADA, "Small", &[put("b.txt", "new\n")]);
    let remote = scene.cached(cache.path());
    let head = base(&remote);
    assert_eq!(remote.tree(head).unwrap().entries().len(), 3);
    let part = bytes(&scene);
    assert!(part * 20 < whole, "{part} of {whole} bytes");
}

#[test]
fn a_branch_that_moved_between_list_and_fetch_is_told() {
    let scene = Scene::new();
    let remote = scene.open();
    let refs = remote.refs().unwrap();
    scene.repo.commit("main", &ADA, "Meanwhile", &[put("b.txt", "x")]);
    let error = remote.fetch(&[("main", refs.branches["main"])]).unwrap_err();
    assert!(matches!(error, GitError::Moved { branch } if branch == "main"));
}

#[test]
fn odd_names_links_and_submodules_are_only_listed() {
    let scene = Scene::new();
    let submodule = Oid::from_bytes(&[7; 20]).unwrap();
    scene.repo.commit(
        "main",
        &ADA,
        "Odd",
        &[
            Change::Link("link.yaml", "../../etc/passwd"),
            Change::Submodule("vendor/sub", submodule),
            Change::PutExecutable("run me.sh", b"#!/bin/sh\n"),
            put("größe/名前 🚀.yaml", "a: 1\n"),
        ],
    );
    let raw = scene.repo.open();
    let commit = raw.find_commit(scene.repo.tip("main").unwrap()).unwrap();
    let mut bytes = raw.odb().unwrap().read(commit.tree_id()).unwrap().data().to_vec();
    bytes.extend_from_slice(b"100644 z\xff.yaml\0");
    bytes.extend_from_slice(raw.blob(b"linkerd").unwrap().as_bytes());
    let tree = raw.odb().unwrap().write(git2::ObjectType::Tree, &bytes).unwrap();
    let text = format!(
        "tree {tree}\nparent {}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nOdd",
        commit.id()
    );
    let odd = raw.odb().unwrap().write(git2::ObjectType::Commit, text.as_bytes()).unwrap();
    scene.repo.set_tip("main", odd);

    let remote = scene.open();
    let head = base(&remote);
    let tree = remote.tree(head).unwrap();
    let modes: Vec<_> = tree.entries().iter().map(|e| (e.path.as_str(), e.mode)).collect();
    assert_eq!(
        modes,
        [
            ("a/crds.yaml", Mode::File),
            ("b.txt", Mode::File),
            ("größe/名前 🚀.yaml", Mode::File),
            ("link.yaml", Mode::Symlink),
            ("run me.sh", Mode::Executable),
            ("vendor/sub", Mode::Submodule),
        ]
    );
    assert_eq!(tree.odd_names(), ["z\u{fffd}.yaml"]);

    // They all survive a commit of ours, byte for byte.
    let ours =
        write(&remote, head, vec![change(&remote, head, "run me.sh", Some("#!/bin/sh\n:\n"))]).unwrap();
    remote.push(&update(None, Some(ours))).unwrap();
    let old = raw.find_tree(tree_of(&raw, odd)).unwrap();
    let new = raw.find_tree(tree_of(&raw, scene.repo.tip(BRANCH).unwrap())).unwrap();
    let diff = raw.diff_tree_to_tree(Some(&old), Some(&new), None).unwrap();
    assert_eq!(diff.deltas().len(), 1);
    assert_eq!(new.get_name("run me.sh").unwrap().filemode(), 0o100_755);
    let refused = change(&remote, head, "link.yaml", Some("x"));
    assert!(write(&remote, head, vec![refused]).unwrap_err().to_string().contains("no file"));
}

fn tree_of(repo: &git2::Repository, commit: Oid) -> Oid {
    repo.find_commit(commit).unwrap().tree_id()
}

#[test]
fn who_is_at_fault_is_told_when_the_server_refuses() {
    let scene = Scene::new();
    scene.server.gate().allow("reader", "bot", Access::Read);
    let auth = |error: GitError, words: &str| match error {
        GitError::Auth { reason, .. } => assert!(reason.contains(words), "{reason}"),
        other => panic!("{other}"),
    };
    auth(scene.open().refs().unwrap_err(), "none was given");
    auth(scene.with_token("wrong").refs().unwrap_err(), "wrong or has expired");
    // A wrong token is tried once, not over and over.
    scene.lines();
    let _ = scene.with_token("wrong").fetch(&[("main", tip(&scene.repo, "main").unwrap())]).unwrap_err();
    assert!(scene.lines().len() <= 3);

    let reader = scene.with_token("reader");
    let ours = bump(&reader);
    auth(reader.push(&update(None, Some(ours))).unwrap_err(), "Write access to repository not granted");
    assert_eq!(scene.repo.tip(BRANCH), None);

    let gone = scene.server.url("acme/gone");
    let options = RemoteOptions { token: Some("reader".to_owned().into()), ..RemoteOptions::default() };
    let error = GitRemote::open(&gone, options, &scene.http).unwrap().refs().unwrap_err();
    assert!(matches!(&error, GitError::NotFound { url } if *url == gone), "{error}");
}

#[test]
fn what_is_no_git_server_and_what_is_down_are_told() {
    let scene = Scene::new();
    let rules = &scene.server.controls().rules;
    let page = Response::text(200, "<html>Sign in</html>").with("Content-Type", "text/html");
    rules.fault("GET", "*", Fault::Answer(page));
    let error = scene.open().refs().unwrap_err();
    assert!(
        matches!(&error, GitError::Address { reason, .. } if reason.contains("no Git repository")),
        "{error}"
    );
    for fault in [
        Fault::Answer(Response::text(502, "Bad Gateway")),
        Fault::Answer(Response::text(429, "slow down")),
        Fault::DropBefore,
        Fault::CutAnswer(40),
    ] {
        rules.clear();
        // Once is not enough: a read that fails is done once more.
        rules.fault("GET", "*", fault.clone());
        scene.open().refs().unwrap();
        rules.fault_nth("GET", "*", 0, 2, fault.clone());
        let error = scene.open().refs().unwrap_err();
        assert!(matches!(error, GitError::Temporary { .. }), "{fault:?}: {error}");
    }
}

#[test]
fn a_token_does_not_follow_a_redirect_to_another_host() {
    let scene = Scene::new();
    scene.server.gate().allow("t0ken", "bot", Access::Write);
    let elsewhere = Scene::new();
    let to = format!("{}/info/refs?service=git-upload-pack", elsewhere.server.url(NAME));
    let answer = Response::text(301, "").with("Location", to);
    scene.server.controls().rules.fault("GET", "*", Fault::Answer(answer));
    let error = scene.with_token("t0ken").refs().unwrap_err();
    assert!(matches!(&error, GitError::Address { reason, .. } if reason.contains("redirects to")), "{error}");
    assert!(elsewhere.lines().is_empty(), "the other host heard nothing");
}

#[test]
fn a_renamed_repository_is_followed_on_its_host() {
    let scene = Scene::new();
    scene.server.gate().allow("t0ken", "bot", Access::Write);
    let answer =
        Response::text(301, "").with("Location", "/acme/config.git/info/refs?service=git-upload-pack");
    scene.server.controls().rules.fault("GET", "/acme/old.git/*", Fault::Answer(answer));
    let options = RemoteOptions { token: Some("t0ken".to_owned().into()), ..RemoteOptions::default() };
    let remote = GitRemote::open(&scene.server.url("acme/old"), options, &scene.http).unwrap();
    let ours = bump(&remote);
    remote.push(&update(None, Some(ours))).unwrap();
    assert_eq!(tip(&scene.repo, BRANCH), Some(ours));
    assert_eq!(remote.url(), scene.server.url(NAME));
}

#[test]
fn a_server_that_goes_silent_in_mid_pack_ends_by_the_time_limit() {
    let scene = Scene::new();
    // Only a read that fails quickly is done once more, and a silence is not quick.
    scene.server.controls().rules.fault("POST", "*/git-upload-pack", Fault::Silent(60));
    let start = Instant::now();
    let remote = scene.open();
    let head = remote.refs().unwrap().branches["main"];
    let error = remote.fetch(&[("main", head)]).unwrap_err();
    assert!(matches!(error, GitError::Temporary { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    // Nothing half done: the next try is whole.
    remote.fetch(&[("main", head)]).unwrap();
    assert_eq!(remote.tree(head).unwrap().entries().len(), 2);
}

#[test]
fn a_fetch_over_its_ceilings_ends() {
    let scene = Scene::new();
    let limits = Limits { pack_bytes: 10, ..Limits::default() };
    let remote = scene.with(RemoteOptions { limits, ..RemoteOptions::default() });
    let head = remote.refs().unwrap().branches["main"];
    let error = remote.fetch(&[("main", head)]).unwrap_err();
    assert!(error.to_string().contains("more than 10 bytes"), "{error}");

    let slow = Fault::Slow { bytes: 40, pause: Duration::from_millis(200) };
    scene.server.controls().rules.fault_nth("POST", "*/git-upload-pack", 0, usize::MAX, slow);
    let limits = Limits { time: Duration::from_millis(500), ..Limits::default() };
    let remote = scene.with(RemoteOptions { limits, ..RemoteOptions::default() });
    let error = remote.fetch(&[("main", head)]).unwrap_err();
    assert!(matches!(&error, GitError::Temporary { reason, .. } if reason.contains("not done")), "{error}");
}

// --- the cache ---

#[test]
fn a_broken_cache_is_made_again() {
    let scene = Scene::new();
    let cache = TempDir::new().unwrap();
    let head = base(&scene.cached(cache.path()));
    let folder = std::fs::read_dir(cache.path().join("git")).unwrap();
    let repo = folder.filter_map(Result::ok).map(|e| e.path()).find(|p| p.is_dir()).unwrap();
    let breakages: [&dyn Fn(); 5] = [
        &|| std::fs::remove_file(repo.join("HEAD")).unwrap(),
        &|| std::fs::write(repo.join("config"), "[core\nbroken").unwrap(),
        &|| std::fs::remove_dir_all(repo.join("objects")).unwrap(),
        &|| {
            for entry in std::fs::read_dir(repo.join("objects/pack")).unwrap() {
                let path = entry.unwrap().path();
                std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
                let bytes = std::fs::read(&path).unwrap();
                std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
            }
        },
        &|| {
            std::fs::remove_dir_all(&repo).unwrap();
            std::fs::write(&repo, "a file in its place").unwrap();
        },
    ];
    for (n, damage) in breakages.iter().enumerate() {
        damage();
        let remote = scene.cached(cache.path());
        assert_eq!(base(&remote), head, "breakage {n}");
        let tree = remote.tree(head).unwrap();
        for entry in tree.entries() {
            tree.read(entry.id).unwrap_or_else(|e| panic!("breakage {n}: {e}"));
        }
    }
}

#[test]
fn a_cache_that_lost_an_old_pack_is_made_again() {
    let scene = Scene::new();
    let cache = TempDir::new().unwrap();
    base(&scene.cached(cache.path()));
    let packs = std::fs::read_dir(cache.path().join("git")).unwrap().filter_map(Result::ok);
    let packs = packs.map(|e| e.path().join("objects/pack")).find(|p| p.is_dir()).unwrap();
    let old: Vec<_> = std::fs::read_dir(&packs).unwrap().map(|e| e.unwrap().path()).collect();
    scene.repo.commit("main", &ADA, "More", &[put("b.txt", "new\n"), put("a/new.yaml", "x\n")]);
    let head = base(&scene.cached(cache.path()));
    old.iter().for_each(|path| std::fs::remove_file(path).unwrap());

    // The commit and all of its folders are in the new pack; `a/crds.yaml` was only in the old one.
    let remote = scene.cached(cache.path());
    assert_eq!(base(&remote), head);
    let tree = remote.tree(head).unwrap();
    assert!(tree.entries().iter().all(|e| tree.read(e.id).is_ok()));
}

#[test]
fn two_at_once_do_not_share_a_cache_and_no_secret_is_stored() {
    let scene = Scene::new();
    scene.server.gate().allow("t0ken-5ecret", "bot", Access::Write);
    let cache = TempDir::new().unwrap();
    let options = || RemoteOptions {
        cache: Some(cache.path().to_owned()),
        token: Some("t0ken-5ecret".to_owned().into()),
        ..RemoteOptions::default()
    };
    let (one, two) = (scene.with(options()), scene.with(options()));
    let (a, b) = (bump(&one), bump(&two));
    assert_eq!(a, b, "the same inputs make the same commit");
    one.push(&update(None, Some(a))).unwrap();
    two.push(&update(None, Some(b))).unwrap();
    assert_eq!(tip(&scene.repo, BRANCH), Some(a));
    drop((one, two));

    let mut stack = vec![cache.path().to_owned()];
    while let Some(folder) = stack.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                stack.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            for secret in ["5ecret", "x-access-token", "dDBrZW4"] {
                let found = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
                assert!(!found, "{secret} in {}", path.display());
            }
        }
    }
}

#[test]
fn what_stands_in_a_cache_s_configuration_has_no_say() {
    let scene = Scene::new();
    let cache = TempDir::new().unwrap();
    base(&scene.cached(cache.path()));
    let folders = std::fs::read_dir(cache.path().join("git")).unwrap().filter_map(Result::ok);
    let repo = folders.map(|e| e.path()).find(|p| p.is_dir()).unwrap();
    let url = scene.server.url(NAME);
    git(&repo, &["config", "url.http://127.0.0.1:1/.insteadOf", &url]);
    git(&repo, &["config", "http.proxy", "http://127.0.0.1:1"]);
    let head = id(scene.repo.commit("main", &ADA, "More", &[put("b.txt", "new\n")]));
    let remote = scene.cached(cache.path());
    assert_eq!(base(&remote), head);
    let ours = bump(&remote);
    remote.push(&update(None, Some(ours))).unwrap();
}

#[test]
fn a_cache_that_cannot_be_written_is_done_without() {
    let scene = Scene::new();
    let file = tempfile::NamedTempFile::new().unwrap();
    let remote = scene.cached(file.path());
    assert_eq!(base(&remote), tip(&scene.repo, "main").unwrap());
}

// --- writing ---

#[test]
fn a_commit_is_pushed_in_two_requests_and_can_be_made_again() {
    let scene = Scene::new();
    let remote = scene.open();
    let ours = bump(&remote);
    assert_eq!(scene.server.controls().writes.count(), 0, "nothing leaves before the push");
    scene.lines();
    remote.push(&update(None, Some(ours))).unwrap();
    assert_eq!(scene.lines(), ["GET /info/refs?service=git-receive-pack", "POST /git-receive-pack"]);

    assert_eq!(tip(&scene.repo, BRANCH), Some(ours));
    assert_eq!(scene.repo.changed("main", BRANCH), ["a/crds.yaml"]);
    let tree = scene.repo.tree_id(BRANCH);
    let message = scene.repo.message(BRANCH);
    assert_eq!(
        message,
        format!("Linkerd edge-26.8.3\n\nLinkerd-Version: edge-26.8.3\nUplinker-Tree: {tree}\n")
    );
    let info = remote.commit(ours).unwrap();
    assert_eq!(info.tree, id(tree));
    assert_eq!(info.time.to_string(), "2026-08-20T10:00:00Z");
    assert_eq!(bump(&scene.open()), ours, "the same inputs make the same commit");
    git(scene.repo.path(), &["fsck", "--strict"]);
    assert_eq!(remote.tip(BRANCH).unwrap(), Some(ours), "our own move is remembered");
}

#[test]
fn files_and_folders_come_and_go_and_the_proof_refuses_stale_changes() {
    let scene = Scene::new();
    let remote = scene.open();
    let onto = base(&remote);
    let new = |path: &str| change(&remote, onto, path, Some("new\n"));
    let ours = write(
        &remote,
        onto,
        vec![change(&remote, onto, "a/crds.yaml", None), new("c/d/e.yaml"), new("c/f.yaml"), new("zz")],
    )
    .unwrap();
    let tree = remote.tree(ours).unwrap();
    let paths: Vec<_> = tree.entries().iter().map(|e| e.path.as_str()).collect();
    assert_eq!(paths, ["b.txt", "c/d/e.yaml", "c/f.yaml", "zz"]);

    let mut stale = change(&remote, onto, "b.txt", Some("x"));
    stale.before_id = Some(BlobId([1; 20]));
    let mut clash = new("c.yaml");
    clash.path = RepoPath::new("b.txt/under-a-file").unwrap();
    let mut exists = change(&remote, onto, "b.txt", Some("x"));
    exists.before_id = None;
    let mut link = new("link");
    link.mode = Mode::Symlink;
    let absent = FileChange { before_id: Some(BlobId([1; 20])), ..new("absent") };
    let folder = FileChange { before_id: None, ..new("a") };
    for refused in [stale, clash, exists, link, absent, folder] {
        let path = refused.path.clone();
        let error = write(&remote, onto, vec![refused]).unwrap_err();
        assert!(matches!(error, GitError::Other(_)), "{path}: {error}");
    }
}

#[test]
fn a_merge_of_the_base_keeps_both_parents_and_pushes_little() {
    let scene = Scene::new();
    let remote = scene.open();
    let first = bump(&remote);
    remote.push(&update(None, Some(first))).unwrap();
    scene.repo.commit("main", &ADA, "Base moves", &[put("b.txt", "moved\n")]);

    let remote = scene.open();
    let onto = base(&remote);
    remote.fetch(&[(BRANCH, first)]).unwrap();
    let changes =
        ChangeSet { files: vec![change(&remote, onto, "a/crds.yaml", Some("version: 2026.8.3\n"))] };
    let second = remote
        .write(&NewCommit {
            onto,
            parents: vec![first, onto],
            changes: &changes,
            message: "Again".into(),
            author: Signature { name: "uplinker".into(), email: "bot@example.com".into() },
            date: "2026-08-21T10:00:00Z".parse().unwrap(),
        })
        .unwrap();
    scene.server.controls().log.take();
    remote.push(&update(Some(first), Some(second))).unwrap();
    let sent: usize = scene.server.controls().log.take().iter().map(|e| e.bytes_in).sum();
    assert!(sent < 2500, "{sent} bytes");
    assert_eq!(scene.repo.parents(BRANCH).into_iter().map(id).collect::<Vec<_>>(), [first, onto]);
    assert_eq!(scene.repo.changed("main", BRANCH), ["a/crds.yaml"]);
}

#[test]
fn a_replacement_is_pushed_under_the_lease_and_a_branch_can_be_removed() {
    let scene = Scene::new();
    let remote = scene.open();
    let first = bump(&remote);
    remote.push(&update(None, Some(first))).unwrap();
    let onto = base(&remote);
    let other = write(&remote, onto, vec![change(&remote, onto, "b.txt", Some("other\n"))]).unwrap();
    assert!(matches!(remote.push(&update(None, Some(other))), Err(GitError::Moved { .. })));
    assert!(matches!(remote.push(&update(Some(onto), Some(other))), Err(GitError::Moved { .. })));
    remote.push(&update(Some(first), Some(other))).unwrap();
    assert_eq!(tip(&scene.repo, BRANCH), Some(other));

    assert!(matches!(remote.push(&update(Some(first), None)), Err(GitError::Moved { .. })));
    remote.push(&update(Some(other), None)).unwrap();
    assert_eq!(scene.repo.tip(BRANCH), None);
    remote.push(&update(Some(other), None)).unwrap();
}

#[test]
fn a_person_s_commit_between_read_and_push_is_kept() {
    for (method, pattern) in [("GET", "*service=git-receive-pack"), ("POST", "*/git-receive-pack")] {
        let scene = Scene::new();
        let remote = scene.open();
        let first = bump(&remote);
        remote.push(&update(None, Some(first))).unwrap();
        let onto = base(&remote);
        let second = write(&remote, onto, vec![change(&remote, onto, "b.txt", Some("ours\n"))]).unwrap();
        let repo = Arc::clone(&scene.repo);
        scene.server.controls().rules.before(method, pattern, move |_| {
            repo.commit(BRANCH, &BEN, "Theirs", &[put("theirs.txt", "x\n")]);
        });
        let error = remote.push(&update(Some(first), Some(second))).unwrap_err();
        assert!(matches!(&error, GitError::Moved { branch } if branch == BRANCH), "{method}: {error}");
        assert_eq!(scene.repo.message(BRANCH), "Theirs");
    }
}

#[test]
fn a_refusal_carries_the_server_s_words() {
    let scene = Scene::new();
    scene.server.gate().refuse_pushes(
        "refs/heads/uplinker/",
        Refusal {
            words: vec!["error: GH013: Repository rule violations found".into()],
            reason: "push declined due to repository rule violations".into(),
        },
    );
    let remote = scene.open();
    let ours = bump(&remote);
    match remote.push(&update(None, Some(ours))).unwrap_err() {
        GitError::Refused { branch, reason } => {
            assert_eq!(branch, BRANCH);
            assert!(reason.contains("rule violations") && reason.contains("GH013"), "{reason}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_hook_s_refusal_and_its_words_are_told() {
    let scene = Scene::new();
    scene.repo.install_hook("pre-receive", "echo 'Freeze until Monday' >&2; exit 1");
    let remote = scene.open();
    let ours = bump(&remote);
    match remote.push(&update(None, Some(ours))).unwrap_err() {
        GitError::Refused { reason, .. } => {
            assert!(reason.contains("Freeze until Monday") && reason.contains("hook"), "{reason}");
        }
        other => panic!("{other}"),
    }
    assert_eq!(scene.repo.tip(BRANCH), None);
}

#[test]
fn an_archived_repository_says_so() {
    let scene = Scene::new();
    let words = "remote: This repository was archived so it is read-only.";
    let answer = Fault::Answer(Response::text(403, words));
    scene.server.controls().rules.fault_nth("GET", "*git-receive-pack", 0, 9, answer);
    let remote = scene.open();
    let ours = bump(&remote);
    assert!(matches!(remote.push(&update(None, Some(ours))), Err(GitError::Archived { .. })));
}

#[test]
fn a_cut_push_is_temporary_and_after_a_lost_answer_the_same_push_is_done() {
    let scene = Scene::new();
    let remote = scene.open();
    let ours = bump(&remote);
    let rules = &scene.server.controls().rules;
    rules.fault("POST", "*/git-receive-pack", Fault::CutUpload(100));
    let error = remote.push(&update(None, Some(ours))).unwrap_err();
    assert!(matches!(error, GitError::Temporary { .. }), "{error}");
    assert_eq!(scene.repo.tip(BRANCH), None, "nothing is half done");

    let lost = |fault, update: &RefUpdate| {
        scene.server.controls().writes.plan(1, fault);
        assert!(matches!(remote.push(update), Err(GitError::Temporary { .. })));
        // The move took effect, so that the same move again is done already.
        remote.push(update).unwrap();
    };
    lost(WriteFault::LoseAnswer, &update(None, Some(ours)));
    assert_eq!(tip(&scene.repo, BRANCH), Some(ours));

    // A 502 after the write took effect.
    let onto = base(&remote);
    let next = write(&remote, onto, vec![change(&remote, onto, "b.txt", Some("next\n"))]).unwrap();
    lost(WriteFault::BadGatewayAfter, &update(Some(ours), Some(next)));
    assert_eq!(tip(&scene.repo, BRANCH), Some(next));
}

#[test]
fn a_status_that_is_no_text_is_no_panic() {
    let scene = Scene::new();
    let remote = scene.open();
    let ours = bump(&remote);
    let report =
        [b"000eunpack ok\n".as_slice(), b"0031ng refs/heads/uplinker/default/platform \xff\xfe\n0000"]
            .concat();
    let mut body = format!("{:04x}\x01", report.len() + 5).into_bytes();
    body.extend(report);
    body.extend(b"0000");
    let answer = Response { status: 200, body, ..Response::default() }
        .with("Content-Type", "application/x-git-receive-pack-result");
    scene.server.controls().rules.fault("POST", "*/git-receive-pack", Fault::Answer(answer));
    let error = remote.push(&update(None, Some(ours))).unwrap_err();
    assert!(matches!(&error, GitError::Refused { reason, .. } if reason.contains("UTF-8")), "{error}");
}

#[test]
fn only_branches_under_the_prefix_are_written() {
    let scene = Scene::new();
    let remote = scene.open();
    let ours = bump(&remote);
    scene.repo.branch("uplinker/base", "main");
    scene.repo.set_default_branch("uplinker/base");
    remote.refs().unwrap();
    scene.lines();
    let main = tip(&scene.repo, "main");
    for branch in
        ["main", "uplinker/base", "uplinker/", "other/x", "uplinker/a b", "uplinker/*", "uplinker/../main"]
    {
        let update = RefUpdate { branch: branch.into(), old: main, new: Some(ours) };
        let error = remote.push(&update).unwrap_err();
        assert!(matches!(error, GitError::Refused { .. }), "{branch}: {error}");
    }
    assert!(scene.lines().is_empty(), "refused before any request");
    assert!(remote.write_under("").is_err() && remote.write_under("a..b/").is_err());
    remote.write_under("bots/linkerd-").unwrap();
    remote.push(&RefUpdate { branch: "bots/linkerd-x".into(), old: None, new: Some(ours) }).unwrap();
    assert!(remote.push(&update(None, Some(ours))).is_err());
    // Without an observation there is no value to move from.
    let unread = scene.open();
    assert!(matches!(unread.push(&update(None, Some(ours))), Err(GitError::Refused { .. })));
}

// --- history ---

#[test]
fn ancestry_is_told_by_deepening_as_far_as_needed() {
    let scene = Scene::new();
    let root = tip(&scene.repo, "main").unwrap();
    for n in 0..100 {
        scene.repo.commit("main", &ADA, "More", &[put("b.txt", &format!("{n}\n"))]);
    }
    let side = id(scene.repo.commit("side", &BEN, "Aside", &[put("c.txt", "x")]));
    let cache = TempDir::new().unwrap();
    let remote = scene.cached(cache.path());
    let head = base(&remote);
    scene.lines();
    assert!(remote.is_ancestor(head, "main", head).unwrap());
    assert!(scene.lines().is_empty(), "what is known is not asked for");
    let parent = remote.commit(head).unwrap().parents[0];
    assert!(remote.is_ancestor(parent, "main", head).unwrap());
    assert_eq!(remote.tree(parent).unwrap().entries().len(), 2, "after a yes it can be read");
    assert!(remote.commit(remote.commit(parent).unwrap().parents[0]).is_err(), "no deeper than needed");
    assert!(remote.is_ancestor(root, "main", head).unwrap());
    assert!(!remote.is_ancestor(side, "main", head).unwrap());
    // A deep cache still fetches and pushes.
    scene.repo.commit("main", &ADA, "After", &[put("b.txt", "after\n")]);
    let remote = scene.cached(cache.path());
    let ours = bump(&remote);
    remote.push(&update(None, Some(ours))).unwrap();
    assert_eq!(tip(&scene.repo, BRANCH), Some(ours));
}

#[test]
fn a_head_is_contained_once_it_was_merged_squashed_or_rebased() {
    type Take = fn(&BareRepo);
    let takes: [(&str, Take, bool); 6] = [
        ("open", |_| {}, false),
        (
            "base moved",
            |repo| {
                repo.commit("main", &ADA, "Other", &[put("z.txt", "z")]);
            },
            false,
        ),
        (
            "merged",
            |repo| {
                repo.merge("main", BRANCH, &BEN, "Merge").unwrap();
            },
            true,
        ),
        (
            "squashed",
            |repo| {
                repo.squash("main", BRANCH, &BEN, "Squash").unwrap();
            },
            true,
        ),
        (
            "squashed onto a moved base",
            |repo| {
                repo.commit("main", &ADA, "Other", &[put("z.txt", "z")]);
                repo.squash("main", BRANCH, &BEN, "Squash").unwrap();
            },
            true,
        ),
        (
            "merged and the branch removed",
            |repo| {
                repo.merge("main", BRANCH, &BEN, "Merge").unwrap();
                repo.delete_branch(BRANCH);
            },
            true,
        ),
    ];
    for (name, take, merged) in takes {
        let scene = Scene::new();
        let remote = scene.open();
        let ours = bump(&remote);
        remote.push(&update(None, Some(ours))).unwrap();
        take(&scene.repo);
        let over_http = scene.open();
        assert_eq!(over_http.contains("main", ours).unwrap(), merged, "{name}, over HTTP");
        let path = scene.repo.path().to_str().unwrap();
        let local = GitRemote::open(path, RemoteOptions::default(), &scene.http).unwrap();
        assert_eq!(local.contains("main", ours).unwrap(), merged, "{name}, in a folder");
    }
}

// --- folders ---

#[test]
fn a_folder_is_a_remote_and_nothing_is_copied_to_read_it() {
    let scene = Scene::new();
    for url in [scene.repo.path().display().to_string(), format!("file://{}", scene.repo.path().display())] {
        let remote = GitRemote::open(&url, RemoteOptions::default(), &scene.http).unwrap();
        let ours = bump(&remote);
        let old = tip(&scene.repo, BRANCH);
        remote.push(&update(old, Some(ours))).unwrap();
        assert_eq!(tip(&scene.repo, BRANCH), Some(ours));
        let root = id(scene.repo.parents(BRANCH)[0]);
        assert!(remote.is_ancestor(root, BRANCH, ours).unwrap());
        let file = change(&remote, root, "a/crds.yaml", Some("version: 2026.8.3\n"));
        let patch = remote.patch(root, &ChangeSet { files: vec![file] }).unwrap();
        assert!(patch.contains("-version: 2026.8.2\n+version: 2026.8.3\n"), "{patch}");
    }
    assert!(scene.lines().is_empty());
    git(scene.repo.path(), &["fsck", "--strict"]);
}

#[test]
fn a_folder_s_branch_moves_only_from_the_observed_value() {
    let scene = Scene::new();
    let remote =
        GitRemote::open(scene.repo.path().to_str().unwrap(), RemoteOptions::default(), &scene.http).unwrap();
    let ours = bump(&remote);
    let theirs = id(scene.repo.commit(BRANCH, &BEN, "Theirs", &[put("x", "x")]));
    assert!(matches!(remote.push(&update(None, Some(ours))), Err(GitError::Moved { .. })));
    let main = tip(&scene.repo, "main");
    assert!(matches!(remote.push(&update(main, Some(ours))), Err(GitError::Moved { .. })));
    assert!(matches!(remote.push(&update(main, None)), Err(GitError::Moved { .. })));
    assert_eq!(scene.repo.message(BRANCH), "Theirs");
    remote.push(&update(Some(theirs), Some(ours))).unwrap();
    remote.push(&update(Some(theirs), Some(ours))).unwrap();
    remote.push(&update(Some(ours), None)).unwrap();
    assert_eq!(scene.repo.tip(BRANCH), None);
    // A branch named like our folder leaves no room for ours.
    scene.repo.branch("uplinker", "main");
    assert!(matches!(remote.push(&update(None, Some(ours))), Err(GitError::Refused { .. })));
}

#[test]
fn a_name_that_stands_for_another_branch_is_not_written_through() {
    let scene = Scene::new();
    let remote =
        GitRemote::open(scene.repo.path().to_str().unwrap(), RemoteOptions::default(), &scene.http).unwrap();
    let ours = bump(&remote);
    let main = tip(&scene.repo, "main");
    let repo = scene.repo.open();
    let name = format!("refs/heads/{BRANCH}");
    repo.reference_symbolic(&name, "refs/heads/main", false, "a trap").unwrap();
    for new in [Some(ours), None] {
        let pushed = remote.push(&update(main, new));
        assert_eq!(tip(&scene.repo, "main"), main, "{pushed:?}");
        assert!(matches!(pushed, Err(GitError::Refused { .. })), "{pushed:?}");
        let stays = repo.find_reference(&name).unwrap();
        assert_eq!(stays.symbolic_target().unwrap(), Some("refs/heads/main"));
    }
}

#[test]
fn a_folder_that_is_no_repository_is_told_from_one_that_is_not_there() {
    let http = http();
    let open =
        |path: &Path| GitRemote::open(path.to_str().unwrap(), RemoteOptions::default(), &http).err().unwrap();
    let folder = TempDir::new().unwrap();
    assert!(matches!(open(folder.path()), GitError::Address { .. }));
    let gone = open(&folder.path().join("gone"));
    assert!(matches!(&gone, GitError::Address { reason, .. } if reason.contains("no such folder")), "{gone}");
}

/// A clone with a working tree.
fn clone(scene: &Scene) -> TempDir {
    let folder = TempDir::new().unwrap();
    git(folder.path(), &["clone", "--quiet", &scene.server.url(NAME), "work"]);
    folder
}

#[test]
fn a_path_is_read_at_its_head_commit_and_nothing_else() {
    let scene = Scene::new();
    let folder = clone(&scene);
    let work = folder.path().join("work");
    std::fs::write(work.join("b.txt"), "dirty\n").unwrap();
    std::fs::write(work.join("untracked.yaml"), "x\n").unwrap();
    git(&work, &["add", "untracked.yaml"]);
    let head = open_path(&work).unwrap();
    assert_eq!(head.commit.id, tip(&scene.repo, "main").unwrap());
    assert_eq!(head.branch.as_deref(), Some("main"));
    assert_eq!(head.origin.as_deref(), Some(scene.server.url(NAME).as_str()));
    let paths: Vec<_> = head.tree.entries().iter().map(|e| e.path.as_str()).collect();
    assert_eq!(paths, ["a/crds.yaml", "b.txt"]);
    assert_eq!(head.tree.read(head.tree.entries()[1].id).unwrap(), b"keep\n");

    git(&work, &["checkout", "--quiet", "-b", "topic"]);
    git(&work, &["commit", "--quiet", "-am", "Topic"]);
    git(&work, &["worktree", "add", "--quiet", "../linked", "main"]);
    let linked = open_path(&folder.path().join("linked")).unwrap();
    assert_eq!(linked.branch.as_deref(), Some("main"));
    assert_eq!(linked.commit.id, tip(&scene.repo, "main").unwrap());
    git(&work, &["checkout", "--quiet", "--detach"]);
    assert_eq!(open_path(&work).unwrap().branch, None);

    git(&work, &["remote", "set-url", "origin", "https://user:s3cret@git.example.com/o/r?t=s3cret"]);
    assert_eq!(open_path(&work).unwrap().origin.as_deref(), Some("https://git.example.com/o/r"));
    git(&work, &["remote", "set-url", "origin", "git@git.example.com:o/r.git"]);
    assert_eq!(open_path(&work).unwrap().origin.as_deref(), Some("git@git.example.com:o/r.git"));

    git(&work, &["remote", "set-url", "origin", "../config.git"]);
    let origin = open_path(&work).unwrap().origin.unwrap();
    assert!(Path::new(&origin).is_absolute() && origin.ends_with("work/../config.git"), "{origin}");

    let bare = open_path(scene.repo.path()).unwrap();
    assert_eq!((bare.origin, bare.branch.as_deref()), (None, Some("main")));
}

#[test]
fn a_path_that_cannot_be_read_says_why() {
    let scene = Scene::new();
    let folder = clone(&scene);
    let inside = open_path(&folder.path().join("work/a")).err().unwrap();
    assert!(matches!(&inside, GitError::Address { reason, .. } if reason.contains("top folder")), "{inside}");
    let gone = open_path(&folder.path().join("gone")).err().unwrap();
    assert!(matches!(&gone, GitError::Address { reason, .. } if reason.contains("no such folder")), "{gone}");
    let empty = BareRepo::empty(folder.path().join("empty.git"), "main");
    assert!(matches!(open_path(empty.path()).err().unwrap(), GitError::Empty { .. }));
}

#[test]
fn a_checked_out_branch_of_a_clone_is_not_moved_under_a_person() {
    let scene = Scene::new();
    let folder = clone(&scene);
    let work = folder.path().join("work");
    let remote = GitRemote::open(work.to_str().unwrap(), RemoteOptions::default(), &scene.http).unwrap();
    let ours = bump(&remote);
    remote.push(&update(None, Some(ours))).unwrap();
    git(&work, &["checkout", "--quiet", BRANCH]);
    git(&work, &["branch", "--quiet", "uplinker/base", "main"]);
    git(&work, &["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    let onto = remote.refs().unwrap().branches["main"];
    let next = write(&remote, onto, vec![change(&remote, onto, "b.txt", Some("next\n"))]).unwrap();
    let error = remote.push(&update(Some(ours), Some(next))).unwrap_err();
    assert!(matches!(error, GitError::Refused { .. }), "{error}");
    git(&work, &["checkout", "--quiet", "main"]);
    git(&work, &["worktree", "add", "--quiet", "../linked", BRANCH]);
    remote.refs().unwrap();
    assert!(remote.push(&update(Some(ours), Some(next))).is_err());
}

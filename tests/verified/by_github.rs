//! Commits that GitHub makes and signs: what is asked of it, what is not taken over, and that the lease stays Git's.

use std::sync::Arc;

use serde_json::json;
use uplinker::{
    propose::forge::{Unsigned, kind::Opening, kinds},
    repo::{
        ChangeSet, FileChange, Mode, NewCommit, Remote, RepoPath, Signature,
        git::{GitRemote, RemoteOptions},
    },
    sys::http::Http,
};

use crate::support::{
    controls::Fault,
    feed::release,
    flavor::Flavor,
    git_server::hermetic_git,
    github::{
        Token,
        rules::{Form, Kind},
    },
    http::Response,
    mesh::{MESH, mesh_and},
    process::Run,
    repo::{ADA, BareRepo, Change, put},
    scene::{PLATFORM, REPO, Scene, TOKEN},
};

/// A scene whose commits GitHub is to sign.
fn scene() -> Scene {
    Scene::on(Flavor::Signing, |path| BareRepo::with_files(path, "main", MESH))
}

/// The author and the committer of our branch's tip, and whether it is signed.
fn head(scene: &Scene) -> (String, String, bool) {
    let repo = scene.repo.open();
    let commit = repo.find_commit(scene.repo.tip(PLATFORM).unwrap()).unwrap();
    let name = |who: &git2::Signature<'_>| who.name().unwrap().to_owned();
    (name(&commit.author()), name(&commit.committer()), commit.header_field_bytes("gpgsig").is_ok())
}

const BY_GITHUB: (&str, &str) = ("github-actions[bot]", "GitHub");

fn is_by_github(scene: &Scene) -> bool {
    let (author, committer, signed) = head(scene);
    signed && (author.as_str(), committer.as_str()) == BY_GITHUB
}

/// What was asked of the Git data API.
fn of_git_data(scene: &Scene) -> Vec<String> {
    let root = format!("/api/v3/repos/{REPO}");
    let lines = scene.requests().into_iter().map(|line| line.replace(&root, ""));
    lines.filter(|line| line.contains("/git/") || line == "POST /acme/config.git/git-receive-pack").collect()
}

const TREES: &str = "POST /git/trees";
const COMMITS: &str = "POST /git/commits";
const PUSH: &str = "POST /acme/config.git/git-receive-pack";

#[test]
fn github_signs_what_a_rule_asks_to_be_signed() {
    let scene = scene();
    scene.github.rule(REPO, "refs/heads/uplinker/", Kind::Unsigned, Form::Ruleset);
    let _ = scene.run().done().exits(0).prints(&["opened http://"]).never_says("not signed");
    assert_eq!(of_git_data(&scene), [TREES, COMMITS, PUSH]);
    assert!(is_by_github(&scene), "{:?}", head(&scene));
    let fsck =
        hermetic_git(scene.home.path()).current_dir(scene.repo.path()).args(["fsck", "--strict"]).output();
    assert!(fsck.unwrap().status.success());
    // A run with nothing to do asks for nothing, from a cache or without.
    for _ in 0..2 {
        let _ = scene.run().done().exits(0);
        assert_eq!(of_git_data(&scene), [""; 0]);
        scene.home.forget();
    }
    scene.feed.publish(release("edge-26.8.4", "2026-08-22T09:00:00Z"));
    let _ = scene.run().done().exits(0).prints(&["updated http://"]);
    assert_eq!(of_git_data(&scene), [TREES, COMMITS, PUSH]);
    assert!(is_by_github(&scene));
    let doctor = scene.command("doctor").done();
    let _ = doctor.prints(&["will be verified: GitHub makes and signs them"]);
}

/// Runs with another token or configuration, and says why GitHub signs nothing, by the run and by the doctor.
fn says(scene: &Scene, run: impl Fn(&str) -> Run, note: Option<&str>, doctor: &str) {
    let done = run("run").done().exits(0).prints(&["opened http://"]);
    let _ = match note {
        Some(note) => done.prints(&[note]),
        None => done.never_says("not signed"),
    };
    assert!(!head(scene).2, "{:?}", head(scene));
    let _ = run("doctor").done().prints(&[doctor]);
}

#[test]
fn where_github_does_not_sign_the_commit_is_pushed_as_ever_and_why_is_said() {
    // A person's token is not asked with.
    let scene_of_ada = scene();
    let pat = "github_pat_TheTokenOfAda0123456789";
    scene_of_ada.github.token(pat, Token::fine_grained("ada"));
    let run = |name: &str| scene_of_ada.command(name).env("UPLINKER_TOKEN", pat);
    says(&scene_of_ada, run, None, "are not verified, because GitHub does not sign them: it signs for Apps");
    assert!(!of_git_data(&scene_of_ada).iter().any(|line| line.contains("/git/")));
    // Another author is not GitHub's to sign for.
    let config = "version: 1\ncommit:\n  author: Mesh Bot <mesh@example.com>\n";
    let of_another = Scene::on(Flavor::Signing, |path| {
        BareRepo::with_files(path, "main", &mesh_and(&[("uplinker.yaml", config)]))
    });
    says(&of_another, |name| of_another.command(name), None, "`commit.author` names somebody");
    assert!(!of_git_data(&of_another).iter().any(|line| line.contains("/git/")));
    // A server that does not sign, as an Enterprise Server may be set up.
    let unsigned = scene();
    unsigned.github.token(TOKEN, Token::fine_grained("ada"));
    let note = "the commit was not signed by GitHub: it gave no signature";
    says(&unsigned, |name| unsigned.command(name), Some(note), "will be verified");
}

#[test]
fn what_github_makes_of_something_else_is_not_taken() {
    let other = |body: serde_json::Value| Fault::AnswerAfter(Response::json(201, &body));
    let id = "1".repeat(40);
    let payload = format!("tree {id}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nOther");
    let verified = json!({"verified": true, "reason": "valid", "signature": "x", "payload": payload});
    for (path, fault, why) in [
        ("*/git/trees", other(json!({"sha": id})), "another tree came of the changes"),
        ("*/git/commits", other(json!({"sha": id, "verification": verified})), "it made another one of it"),
        (
            "*/git/trees",
            Fault::Answer(Response::json(422, &json!({"message": "GitRPC::BadObjectState"}))),
            "BadObjectState",
        ),
        (
            "*/git/commits",
            Fault::Answer(Response::json(403, &json!({"message": "Resource not accessible by integration"}))),
            "lacks the permission `contents: write`",
        ),
    ] {
        let scene = scene();
        scene.github.controls().rules.fault("POST", path, fault);
        let done = scene.run().done().exits(0).prints(&["opened http://"]);
        let _ = done.prints(&["note: the commit was not signed by GitHub", why]);
        assert!(!head(&scene).2, "{why}");
        assert_eq!(scene.github.pulls(REPO).len(), 1);
    }
}

#[test]
fn a_commit_that_a_person_pushes_while_github_signs_is_kept() {
    let scene = scene();
    let _ = scene.run().done().exits(0);
    scene.feed.publish(release("edge-26.8.4", "2026-08-22T09:00:00Z"));
    let repo = Arc::clone(&scene.repo);
    scene.github.controls().rules.before("POST", "*/git/commits", move |_| {
        repo.commit(PLATFORM, &ADA, "Mine", &[put("notes.txt", "mine\n")]);
    });
    let _ = scene.run().done().exits(0).prints(&["has commits of a person"]);
    assert_eq!(scene.repo.read(PLATFORM, "notes.txt").as_deref(), Some("mine\n"));
    assert_eq!(scene.github.pulls(REPO).len(), 1);
}

#[test]
fn a_base_that_moves_while_github_signs_is_followed() {
    let scene = scene();
    let repo = Arc::clone(&scene.repo);
    scene.github.controls().rules.before("POST", "*/git/trees", move |_| {
        repo.commit("main", &ADA, "Elsewhere", &[put("docs/notes.md", "Something.\n")]);
    });
    let _ = scene.run().done().exits(0).prints(&["opened http://"]);
    assert!(is_by_github(&scene));
    let _ = scene.run().done().exits(0);
    assert_eq!(scene.github.pulls(REPO).len(), 1);
}

#[test]
fn every_kind_of_change_is_made_as_git_makes_it() {
    let scene = Scene::on(Flavor::Signing, |path| {
        let repo =
            BareRepo::with_files(path, "main", &[("a/gone.yaml", "x: 1\n"), ("a/kept.yaml", "y: 1\n")]);
        let executable = Change::PutExecutable("run.sh", b"#!/bin/sh\n");
        repo.commit("main", &ADA, "More", &[executable, Change::Put("image.bin", &[0, 159, 146, 150])]);
        repo
    });
    let http = Http::new(None).unwrap();
    let options = RemoteOptions { token: Some(TOKEN.to_owned().into()), ..RemoteOptions::default() };
    let git_url = scene.github.url(REPO);
    let remote = GitRemote::open(&git_url, options, &http).unwrap();
    let onto = remote.refs().unwrap().branches["main"];
    remote.fetch(&[("main", onto)]).unwrap();
    let tree = remote.tree(onto).unwrap();
    let change = |path: &str, after: Option<&[u8]>| {
        let entry = tree.entry(path);
        FileChange {
            path: RepoPath::new(path).unwrap(),
            mode: entry.map_or(Mode::File, |entry| entry.mode),
            before_id: entry.map(|entry| entry.id),
            before: Vec::new(),
            after: after.map(<[u8]>::to_vec),
            rendered: false,
        }
    };
    let changes = ChangeSet {
        files: vec![
            change("a/gone.yaml", None),
            change("b/c/new.yaml", Some("ä: 1\r\n".as_bytes())),
            change("image.bin", Some(&[0, 1, 255])),
            change("null.txt", Some(b"a\0b")),
            change("run.sh", Some(b"#!/bin/sh\ntrue\n")),
        ],
    };
    let commit = NewCommit {
        onto,
        parents: vec![onto],
        changes: &changes,
        message: "Subject\n\nUplinker-Plan: 1\n".to_owned(),
        author: Signature { name: "A".to_owned(), email: "a@example.com".to_owned() },
        date: jiff::Timestamp::UNIX_EPOCH,
    };
    let ours = remote.write(&commit).unwrap();
    let api = url::Url::parse(&scene.github.api()).unwrap();
    let token = TOKEN.to_owned().into();
    let opening = Opening { http: &http, git_url: &git_url, api: &api, token: Some(&token), signs: true };
    let forge = (kinds::named("github").unwrap().open)(opening).unwrap();
    let (info, base) = (remote.commit(ours).unwrap(), remote.commit(onto).unwrap().tree);
    let signed = forge.sign(&Unsigned { base, changes: &changes, commit: &info }).unwrap().expect("signed");
    let theirs = remote.adopt(&signed, ours).unwrap().expect("the same commit");
    let taken = remote.commit(theirs).unwrap();
    assert_ne!(theirs, ours);
    assert_eq!(
        (taken.tree, taken.parents, taken.message.trim_end()),
        (info.tree, info.parents, info.message.trim_end())
    );
    // One whose parent is a merge's second one, with nothing of its own.
    let merge = NewCommit { parents: vec![theirs, onto], changes: &ChangeSet::default(), ..commit };
    let empty = remote.write(&merge).unwrap();
    let info = remote.commit(empty).unwrap();
    let error = forge.sign(&Unsigned { base, changes: &ChangeSet::default(), commit: &info });
    assert!(error.unwrap().is_some(), "GitHub knows the commit that it made");
}

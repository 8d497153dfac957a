//! Commits that are made and branches that are moved, and what keeps them from it.

use super::*;

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
    assert_eq!(scene.repo.parents(BRANCH).into_iter().map(id).collect::<Vec<CommitId>>(), [first, onto]);
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
        GitError::Refused { branch, reason, .. } => {
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

#[test]
fn an_author_begins_no_header_of_a_commit() {
    let scene = Scene::new();
    let remote = scene.open();
    let onto = base(&remote);
    let changes = ChangeSet { files: vec![change(&remote, onto, "b.txt", Some("x\n"))] };
    for (name, email) in
        [("A\nparent 0000", "a@example.com"), ("A", "a@example.com>\ncommitter B <b@c"), ("A\0", "a@b")]
    {
        let author = Signature { name: name.into(), email: email.into() };
        let message = "Linkerd\n".to_owned();
        let date = "2026-08-20T10:00:00Z".parse().unwrap();
        let error = remote
            .write(&NewCommit { onto, parents: vec![onto], changes: &changes, message, author, date })
            .unwrap_err();
        assert!(error.to_string().contains("is no author"), "{error}");
    }
}

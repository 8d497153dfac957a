//! Remotes and clones that are folders of this machine.

use super::*;

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
    git(&work, &["remote", "set-url", "origin", "https-mirror.git"]);
    assert!(open_path(&work).unwrap().origin.unwrap().ends_with("work/https-mirror.git"));

    let bare = open_path(scene.repo.path()).unwrap();
    assert_eq!((bare.origin, bare.branch.as_deref()), (None, Some("main")));
}

#[test]
fn a_path_that_cannot_be_read_says_why() {
    let scene = Scene::new();
    let folder = clone(&scene);
    let inside = open_path(&folder.path().join("work/a")).err().unwrap();
    assert!(
        matches!(&inside, GitError::Address { reason, .. } if reason.contains("top folder") && reason.contains("/work")),
        "{inside}"
    );
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

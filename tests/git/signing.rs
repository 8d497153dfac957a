//! Commits that a key of SSH signs, as Git itself checks them.

use uplinker::repo::git::SigningKey;

use super::*;
use crate::support::ssh_server::make_key;

/// Makes a key, and lists it for Git as that of the author.
fn key(folder: &Path, name: &str) -> Arc<SigningKey> {
    make_key(&folder.join(name));
    let public = std::fs::read_to_string(folder.join(format!("{name}.pub"))).unwrap();
    std::fs::write(folder.join(format!("{name}.signers")), format!("bot@example.com {public}")).unwrap();
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    Arc::new(SigningKey::of(&text.into()).unwrap())
}

/// Whether Git finds a commit to be signed by a listed key.
fn is_verified(repo: &BareRepo, folder: &Path, name: &str, rev: CommitId) -> bool {
    let signers = format!("gpg.ssh.allowedSignersFile={}", folder.join(format!("{name}.signers")).display());
    let mut command = hermetic_git(folder);
    command.current_dir(repo.path()).args(["-c", &signers, "verify-commit", &rev.to_string()]);
    command.output().unwrap().status.success()
}

#[test]
fn git_verifies_a_signed_commit_which_can_be_made_again() {
    let scene = Scene::new();
    let folder = TempDir::new().unwrap();
    let [ours, other] = ["key", "other"].map(|name| key(folder.path(), name));
    let signing = |key: &Arc<SigningKey>| {
        scene.with(RemoteOptions { signing_key: Some(Arc::clone(key)), ..RemoteOptions::default() })
    };
    let remote = signing(&ours);
    let commit = bump(&remote);
    remote.push(&update(None, Some(commit))).unwrap();
    assert_eq!(bump(&signing(&ours)), commit, "the same inputs and the same key make the same commit");
    assert!(is_verified(&scene.repo, folder.path(), "key", commit));
    assert!(!is_verified(&scene.repo, folder.path(), "other", commit), "another key's");
    git(scene.repo.path(), &["fsck", "--strict"]);
    let info = remote.commit(commit).unwrap();
    assert!(info.message.starts_with("Linkerd edge-26.8.3\n\nLinkerd-Version: edge-26.8.3\nUplinker-Tree: "));

    // Without a key, and with another one, it is another commit with the same tree.
    let unsigned = scene.open();
    let plain = bump(&unsigned);
    assert_eq!(unsigned.commit(plain).unwrap().tree, info.tree);
    unsigned.push(&RefUpdate { branch: "uplinker/plain".into(), old: None, new: Some(plain) }).unwrap();
    assert!(!is_verified(&scene.repo, folder.path(), "key", plain));
    let theirs = bump(&signing(&other));
    assert!(theirs != plain && theirs != commit);
}

#[test]
fn the_fingerprint_is_the_one_that_ssh_prints() {
    let folder = TempDir::new().unwrap();
    let ours = key(folder.path(), "key");
    let printed =
        std::process::Command::new("ssh-keygen").arg("-lf").arg(folder.path().join("key.pub")).output();
    let printed = String::from_utf8(printed.unwrap().stdout).unwrap();
    assert_eq!(printed.split(' ').nth(1), Some(ours.fingerprint().as_str()));
}

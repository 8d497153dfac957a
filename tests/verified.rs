//! Commits that a key of the operator signs, or GitHub, end to end: what a rule lets through, and what nobody sees.

mod by_github;
mod rows;

use std::path::PathBuf;

use crate::support::{
    git_server::hermetic_git,
    github::rules::{Form, Kind},
    mesh::MESH,
    scene::{PLATFORM, REPO, Scene},
    ssh_server::make_key,
};

/// A scene on which commits have to be signed, and a key.
fn scene() -> (Scene, PathBuf) {
    let scene = Scene::new(MESH);
    scene.github.rule(REPO, "refs/heads/uplinker/", Kind::Unsigned, Form::Ruleset);
    let key = scene.home.path().join("signing-key");
    make_key(&key);
    (scene, key)
}

#[test]
fn a_key_signs_what_a_rule_asks_to_be_signed() {
    let (scene, key) = scene();
    let _ = scene.run().done().exits(1).complains(&["commits are not signed", "`uplinker doctor` says how"]);
    let text = std::fs::read_to_string(&key).unwrap();
    let secret = text.lines().nth(2).unwrap();
    let run = || scene.run().arg("--signing-key-file").arg(&key);
    let _ = run().done().exits(0).prints(&["opened http://"]).never_says(secret);
    // As Git itself checks it.
    let author = "41898282+github-actions[bot]@users.noreply.github.com";
    let signers = scene.home.path().join("signers");
    let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    std::fs::write(&signers, format!("{author} {public}")).unwrap();
    let verified = hermetic_git(scene.home.path())
        .current_dir(scene.repo.path())
        .args(["-c", &format!("gpg.ssh.allowedSignersFile={}", signers.display()), "verify-commit", PLATFORM])
        .output()
        .unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    let head = scene.repo.tip(PLATFORM);
    // As a variable, in one line; and nothing is made again, with the key or without.
    let _ =
        scene.run().env("UPLINKER_SIGNING_KEY", text.replace('\n', "\\n")).done().exits(0).never_says(secret);
    let _ = scene.run().done().exits(0);
    assert_eq!(scene.repo.tip(PLATFORM), head);
    let doctor = scene.command("doctor").arg("--signing-key-file").arg(&key).done();
    let _ = doctor.prints(&["will be verified where GitHub has SHA256:"]).never_says(secret);
    let _ = scene.command("doctor").done().prints(&["are not verified, because nothing signs them"]);
}

#[test]
fn a_key_that_cannot_be_used_is_told_before_anything_is_done() {
    let (scene, key) = scene();
    let run = || scene.run().arg("--signing-key-file").arg(&key);
    std::fs::write(&key, "s3cret").unwrap();
    let hint = "ssh-keygen -t ed25519";
    let _ = run().done().exits(2).complains(&["the signing key cannot be used", hint]).never_says("s3cret");
    std::fs::remove_file(&key).unwrap();
    let _ = run().done().exits(2).complains(&["signing-key"]);
    let sealed = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "s3cret", "-C", "", "-f"])
        .arg(&key)
        .status();
    assert!(sealed.is_ok_and(|status| status.success()));
    let _ = run().done().exits(2).complains(&["it has a passphrase", hint]);
    std::fs::remove_file(&key).unwrap();
    let other = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "ecdsa", "-N", "", "-C", "", "-f"])
        .arg(&key)
        .status();
    assert!(other.is_ok_and(|status| status.success()));
    let _ = run().done().exits(2).complains(&["it is no Ed25519 key", hint]);
    assert!(scene.github.pulls(REPO).is_empty() && scene.requests().is_empty());
}

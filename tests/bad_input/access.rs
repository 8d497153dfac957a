//! Tokens, permissions, rules and hooks that stand in the way.

use crate::bad_input::{mesh, writes_nothing};
use crate::support::{
    github::{Level, Token},
    repo::{ADA, put},
    scene::{PLATFORM, REPO, Scene, TOKEN},
};

/// A scene whose token is another.
fn with_token(token: Token) -> Scene {
    let scene = mesh();
    scene.github.token(TOKEN, token);
    scene
}

#[test]
fn a_token_that_has_expired() {
    let scene = with_token(Token::fine_grained("ada").expired());
    let _ =
        writes_nothing(&scene, scene.run()).exits(1).complains(&["127.0.0.1", "expired", "UPLINKER_TOKEN"]);
}

#[test]
fn a_token_that_nobody_knows() {
    let scene = mesh();
    let run = scene.run().env("UPLINKER_TOKEN", "ghs_Unknown");
    let _ = writes_nothing(&scene, run).exits(1).complains(&["UPLINKER_TOKEN"]).never_says("ghs_Unknown");
}

#[test]
fn a_token_that_lacks_a_permission_is_told_which() {
    let cases = [
        (Token::actions().without("contents"), "contents"),
        (Token::actions().having("contents", Level::Read), "contents"),
        (Token::actions().without("pull_requests"), "pull-requests"),
        (Token::fine_grained("ada").without("contents"), "contents"),
    ];
    for (token, permission) in cases {
        let scene = with_token(token);
        let done = writes_refused(&scene);
        assert_eq!(done.status.code(), Some(1), "{done}");
        assert!(done.stderr.contains(permission) && done.stderr.contains("hint:"), "{permission}\n{done}");
    }
}

/// As `writes_nothing`, but a refused request is allowed: that is how the host tells.
fn writes_refused(scene: &Scene) -> crate::support::process::Done {
    let before = scene.repo.refs();
    let done = scene.run().done().never_says(TOKEN);
    assert_eq!(scene.repo.refs(), before, "a ref moved\n{done}");
    assert!(scene.github.pulls(REPO).is_empty(), "a pull request was made\n{done}");
    crate::bad_input::is_calm(&done);
    done
}

#[test]
fn reading_pull_requests_is_not_opening_them() {
    let scene = with_token(Token::actions().having("pull_requests", Level::Read));
    let done = scene.run().done().exits(1).complains(&["pull-requests: write", "hint:"]).never_says(TOKEN);
    assert!(scene.github.pulls(REPO).is_empty(), "{done}");
    // With the permission given, the next run goes on where this one ended.
    scene.github.token(TOKEN, Token::actions());
    let _ = scene.run().done().exits(0);
    assert_eq!(scene.only_pull().head_ref, PLATFORM);
}

#[test]
fn no_token_at_all() {
    let scene = mesh();
    let run = scene.run().env("UPLINKER_TOKEN", "");
    let _ = writes_nothing(&scene, run).exits(2).complains(&["no token", "UPLINKER_TOKEN", "--token-file"]);
}

#[test]
fn a_repository_that_is_not_there_or_not_ours_to_see() {
    let scene = mesh();
    let url = scene.github.url("acme/other");
    let flags = scene.feed.flags();
    let command = |home: &crate::support::process::Home| {
        home.run(["run", "--repo", &url, "--forge", "github"]).args(&flags).env("UPLINKER_TOKEN", TOKEN)
    };
    let _ = writes_nothing(&scene, command(&scene.home)).exits(1).complains(&["acme/other", "the token"]);
    scene.github.token(TOKEN, Token::fine_grained("ada").only("acme/else"));
    let _ = writes_nothing(&scene, scene.run()).exits(1).complains(&[REPO, "the token"]);
}

#[test]
fn a_ruleset_over_our_prefix() {
    let scene = mesh();
    scene.github.ruleset(
        REPO,
        "refs/heads/uplinker/",
        "Cannot create ref due to creations being restricted.",
    );
    let done = writes_refused(&scene).exits(1);
    let words = ["rule", "Cannot create ref due to creations being restricted", PLATFORM, "branch.prefix"];
    for word in words {
        assert!(done.stderr.contains(word), "{word}\n{done}");
    }
}

#[test]
fn a_hook_that_refuses_and_tries_to_steer_the_terminal() {
    let scene = mesh();
    scene
        .repo
        .install_hook("pre-receive", "printf 'ticket \\033[31mOPS-1\\033[0m is missing\\n' >&2\nexit 1");
    let done = writes_refused(&scene).exits(1).complains(&["OPS-1", PLATFORM, "hook"]);
    assert!(!done.stderr.contains('\u{1b}'), "{done:?}");
    scene.repo.remove_hook("pre-receive");
    let _ = scene.run().done().exits(0);
    let _ = scene.only_pull();
}

#[test]
fn an_archived_repository() {
    let scene = mesh();
    scene.github.settings(REPO, |repo| repo.archived = true);
    let done = writes_refused(&scene).exits(1);
    assert!(done.stderr.contains("archived") && done.stderr.contains("hint:"), "{done}");
}

#[test]
fn a_repository_that_is_empty() {
    let scene = Scene::made(|path| crate::support::repo::BareRepo::empty(path, "main"));
    let _ = writes_nothing(&scene, scene.run()).exits(1).complains(&["empty", "push a first commit"]);
}

#[test]
fn a_repository_that_is_gone_between_read_and_push() {
    let scene = mesh();
    let (gone, away) = (scene.repo.path().to_owned(), scene.home.path().join("away.git"));
    let (from, to) = (gone.clone(), away.clone());
    scene.github.controls().rules.before("GET", "*git-receive-pack*", move |_| {
        std::fs::rename(&from, &to).expect("moved away");
    });
    let done = scene.run().done().exits(1).never_says(TOKEN);
    assert!(done.stderr.contains(REPO) && done.stderr.contains("hint:"), "{done}");
    crate::bad_input::is_calm(&done);
    std::fs::rename(&away, &gone).expect("moved back");
    assert_eq!(scene.repo.branches().len(), 1);
    assert!(scene.github.pulls(REPO).is_empty());
}

#[test]
fn a_default_branch_of_another_name() {
    let scene = Scene::made(|path| {
        crate::support::repo::BareRepo::with_files(path, "trunk/live", crate::bad_input::MESH)
    });
    scene.repo.commit("main", &ADA, "An older try", &[put("README.md", "Linkerd edge-26.8.1\n")]);
    let main = scene.repo.tip("main");
    let _ = scene.run().done().exits(0);
    assert_eq!(scene.only_pull().base_ref, "trunk/live");
    assert_eq!(scene.repo.tip("main"), main);
    assert_eq!(scene.repo.parents(PLATFORM), [scene.repo.tip("trunk/live").expect("the base")]);
}

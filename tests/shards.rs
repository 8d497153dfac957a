//! A list of repositories shared out: each is in one part, all of them are in some, and one pass is one pass.

use std::{collections::BTreeSet, path::PathBuf};

use crate::support::{
    github::Token,
    mesh::MESH,
    process::Run,
    repo::BareRepo,
    scene::{PLATFORM, Scene, TOKEN},
};

const NAMES: [&str; 5] = ["acme/a", "acme/b", "acme/c", "acme/d", "acme/e"];

/// Some repositories on one host, and a file that lists them.
fn many() -> (Scene, PathBuf) {
    let scene = Scene::new(MESH);
    for name in NAMES {
        scene.github.add(name, |path| BareRepo::with_files(path, "main", MESH));
    }
    let lines: String = NAMES.iter().map(|name| format!("{}\n", scene.github.url(name))).collect();
    let list = scene.home.path().join("repositories");
    std::fs::write(&list, format!("# ours\n{lines}")).unwrap();
    (scene, list)
}

fn once(scene: &Scene, list: &PathBuf) -> Run {
    let run = scene.home.run(["serve", "--once", "--forge", "github", "--repos-file"]).arg(list);
    run.args(scene.feed.flags()).env("UPLINKER_TOKEN", TOKEN)
}

/// The repositories that have a pull request.
fn proposed(scene: &Scene) -> Vec<&'static str> {
    NAMES.into_iter().filter(|name| !scene.github.pulls(name).is_empty()).collect()
}

fn listed(scene: &Scene, list: &PathBuf, shard: &str) -> BTreeSet<String> {
    let run = scene.home.run(["repositories", "--shard", shard, "--repos-file"]).arg(list);
    run.done().exits(0).stdout.lines().map(str::to_owned).collect()
}

#[test]
fn one_pass_over_each_and_an_end() {
    let (scene, list) = many();
    let done = once(&scene, &list).done().exits(0).never_says(TOKEN);
    assert_eq!(done.stdout.matches("opened http://").count(), NAMES.len(), "{done}");
    assert_eq!(proposed(&scene), NAMES);
    let feeds = scene.feed.controls().log.take().len();
    assert!(feeds <= 3, "the feeds are read once for all, not {feeds} times");
    let _ = scene.requests();
    let again = once(&scene, &list).done().exits(0);
    assert_eq!(again.stdout, "", "{again}");
    assert!(scene.requests().iter().all(|line| line.starts_with("GET ")), "a second pass writes nothing");
}

#[test]
fn each_part_does_its_own() {
    let (scene, list) = many();
    let parts: Vec<BTreeSet<String>> = (0..3).map(|n| listed(&scene, &list, &format!("{n}/3"))).collect();
    let all: BTreeSet<String> = NAMES.map(|name| scene.github.url(name)).into();
    assert_eq!(parts.iter().map(BTreeSet::len).sum::<usize>(), all.len(), "{parts:?}");
    assert_eq!(parts.iter().flatten().cloned().collect::<BTreeSet<_>>(), all);
    for (n, part) in parts.iter().enumerate() {
        let before: BTreeSet<&str> = proposed(&scene).into_iter().collect();
        let _ = once(&scene, &list).env("UPLINKER_SHARD", format!("{n}/3")).done().exits(0);
        let new = proposed(&scene).into_iter().filter(|name| !before.contains(name));
        assert_eq!(new.map(|name| scene.github.url(name)).collect::<BTreeSet<_>>(), *part);
    }
    assert_eq!(proposed(&scene), NAMES);
}

#[test]
fn two_on_the_same_list_are_harmless() {
    let (scene, list) = many();
    let other = crate::support::process::Home::new();
    let run = other.run(["serve", "--once", "--forge", "github", "--repos-file"]).arg(&list);
    let second = run.args(scene.feed.flags()).env("UPLINKER_TOKEN", TOKEN).start();
    let first = once(&scene, &list).done();
    let second = second.done();
    for done in [&first, &second] {
        assert!(matches!(done.status.code(), Some(0 | 5)), "who comes second may have to come again\n{done}");
    }
    let _ = once(&scene, &list).done().exits(0);
    for name in NAMES {
        let pulls = scene.github.pulls(name);
        assert_eq!(pulls.len(), 1, "{name}");
        assert_eq!(pulls[0].head_ref, PLATFORM);
    }
}

#[test]
fn what_fails_fails_alone_and_is_told_by_the_exit_code() {
    let (scene, list) = many();
    scene.github.settings("acme/b", |repo| repo.archived = true);
    let done = once(&scene, &list).done().exits(1).complains(&["acme/b.git:", "archived"]);
    assert_eq!(proposed(&scene), ["acme/a", "acme/c", "acme/d", "acme/e"], "{done}");
    let (scene, list) = many();
    scene.github.limit(0, 4_000_000_000);
    let _ = once(&scene, &list).done().exits(5).complains(&["rate limit"]);
    let (scene, list) = many();
    scene.github.token(TOKEN, Token::app("mesh-robot").expired());
    let _ = once(&scene, &list).done().exits(1);
}

#[test]
fn a_matrix_has_a_job_for_each() {
    let (scene, list) = many();
    let run = |format: &str| {
        scene.home.run(["repositories", "--format", format, "--repos-file"]).arg(&list).done().exits(0)
    };
    let matrix = run("matrix").stdout;
    assert_eq!(matrix.lines().count(), 1, "an output is one line");
    let matrix: serde_json::Value = serde_json::from_str(&matrix).unwrap();
    let urls = NAMES.map(|name| scene.github.url(name)).to_vec();
    assert_eq!(matrix, serde_json::json!({"repository": urls}));
    assert_eq!(run("json").json()["repositories"], serde_json::json!(urls));
    let _ = run("markdown").prints(&["- "]);
    let _ = scene
        .home
        .run(["releases", "--format", "matrix"])
        .done()
        .exits(2)
        .complains(&["`uplinker repositories` alone"]);
}

#[test]
fn a_part_that_is_none_is_refused() {
    let (scene, list) = many();
    for (shard, words) in [("3/3", "the last one is 2/3"), ("1", "write I/N"), ("0/0", "1 to 1000")] {
        let run = scene.home.run(["repositories", "--shard", shard, "--repos-file"]).arg(&list);
        let _ = run.done().exits(2).complains(&[words]);
    }
    let _ = scene.home.run(["repositories"]).done().exits(2).complains(&["no repository is named"]);
    let both = ["serve", "--once", "--interval", "15m", "https://github.com/o/n"];
    let _ = scene.home.run(both).done().exits(2).complains(&["cannot be used with"]);
}

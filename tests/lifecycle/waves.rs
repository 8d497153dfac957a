//! Waves: the proxies of a target move in parts, one after the other.

use std::collections::BTreeSet;

use super::play::*;
use crate::support::{
    github::Merge,
    repo::{ADA, put},
    scene::REPO,
};

const CONFIG: &str = "version: 1\ndataPlane:\n  after: 0d\n  waves:\n    - name: canary\n      namespaces: [canary-*]\n      \
                      soak: 2d\n    - name: batch\n      labels: [tier=batch]\n      paths: [apps]\n    - name: nobody\n      namespaces: [nowhere]\n";
const CANARY: &str = "uplinker/default-canary/data-plane";
const BATCH: &str = "uplinker/default-batch/data-plane";
const REST: &str = "uplinker/default/data-plane";
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

fn workload(name: &str, namespace: &str, labels: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\n{namespace}spec:\n  template:\n    metadata:\n      \
         labels: {{{labels}}}\n      annotations:\n        config.linkerd.io/proxy-version: edge-26.8.2 # {name}\n"
    )
}

/// A control plane at a newer release than its proxies, of which two are in one file, and one is a base of two overlays.
fn behind() -> Play {
    behind_at(3)
}

fn behind_at(release: u32) -> Play {
    let own = workload("first", "  namespace: canary-a\n", "app: first");
    let shop = |name: &str, labels: &str| workload(name, "  namespace: shop\n", labels);
    let overlay = |namespace: &str| format!("namespace: {namespace}\nresources: [../base]\n");
    let mut files = cluster("", release);
    files.retain(|(path, _)| path != "web.yaml");
    let more = [
        ("uplinker.yaml", CONFIG.to_owned()),
        ("apps/both.yaml", format!("{own}---\n{}", shop("other", "app: other"))),
        ("apps/batch.yaml", shop("batch", "app: batch, tier: batch")),
        ("jobs/batch.yaml", shop("elsewhere", "tier: batch")),
        ("base/app.yaml", workload("shared", "", "app: shared")),
        ("base/kustomization.yaml", "resources: [app.yaml]\n".to_owned()),
        ("canary/kustomization.yaml", overlay("canary-b")),
        ("live/kustomization.yaml", overlay("shop")),
        ("trial/kustomization.yaml", "namespace: canary-c\nresources: [only.yaml]\n".to_owned()),
        ("trial/only.yaml", workload("only", "", "app: only")),
    ];
    files.extend(more.map(|(path, text)| (path.to_owned(), text)));
    let play = Play::with(&files);
    play.scene.repo.set_clock(now() - 30 * DAY);
    play.commit("main", "README.md", "Waves.\n");
    play
}

fn merge(play: &Play, number: u64, ago: i64) {
    play.scene.repo.set_clock(now() - ago);
    play.scene.github.merge(REPO, number, Merge::Squash, "ada", true);
}

/// The lines that a branch changes.
fn moved(play: &Play, branch: &str) -> Vec<String> {
    changed(play, branch, ["edge-26.8.2", "edge-26.8.3"])
}

fn changed(play: &Play, branch: &str, [from, to]: [&str; 2]) -> Vec<String> {
    let (before, after) = (play.files("main"), play.files(branch));
    let lines = |text: &[u8]| {
        String::from_utf8(text.to_vec()).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let mut names = Vec::new();
    for (path, text) in &after {
        for (old, new) in lines(&before[path]).iter().zip(lines(text)).filter(|(old, new)| *old != new) {
            assert_eq!(old.replace(from, to), new);
            names.push(new.rsplit(' ').next().unwrap().to_owned());
        }
    }
    names
}

#[test]
fn each_wave_has_a_pull_request_once_the_one_before_has_run_for_long_enough() {
    let play = behind();
    play.run().exits(0).prints(&[
        "default-canary, data-plane: edge-26.8.2 → edge-26.8.3: opened",
        "default-batch, data-plane: on hold: edge-26.8.3 waits until target `default-canary`, now at edge-26.8.2, has run it",
        "default, data-plane: on hold: edge-26.8.3 waits until target `default-canary`",
        "no proxy is in the wave `nobody`: no pin meets what it asks for",
    ]);
    assert_eq!(moved(&play, CANARY), ["first", "only"]);
    play.settles(0);

    merge(&play, 1, HOUR);
    play.run().exits(0).prints(&["default-batch, data-plane: on hold: edge-26.8.3 waits until 20"]);
    assert!(play.scene.repo.tip(BATCH).is_none() && play.scene.repo.tip(REST).is_none());

    let play = behind();
    play.run().exits(0);
    merge(&play, 1, 3 * DAY);
    play.run().exits(0).prints(&[
        "default-batch, data-plane: edge-26.8.2 → edge-26.8.3: opened",
        "default, data-plane: on hold: edge-26.8.3 waits until target `default-batch`, now at edge-26.8.2, has run it",
    ]);
    assert_eq!(moved(&play, BATCH), ["batch"]);
    play.settles(0);

    merge(&play, 2, HOUR);
    play.run().exits(0).prints(&["default, data-plane: edge-26.8.2 → edge-26.8.3: opened"]);
    assert_eq!(moved(&play, REST), ["other", "shared", "elsewhere"]);
    play.settles(0);
    merge(&play, 3, 0);
    play.run().exits(0).prints(&["default, data-plane: level with the control plane"]);
}

#[test]
fn a_wave_waits_for_the_gates_of_the_one_before() {
    let play = behind();
    play.reads_gates();
    let config = format!("{CONFIG}gates:\n  active: [health]\n");
    play.commit("main", "uplinker.yaml", &config);
    play.says("main", "health", "success");
    play.run().exits(0).prints(&["default-canary, data-plane: edge-26.8.2 → edge-26.8.3: opened"]);
    merge(&play, 1, 3 * DAY);
    play.run()
        .exits(0)
        .prints(&["default-batch, data-plane: on hold: edge-26.8.3 waits until `health` says something of"]);
    play.says("main", "health", "failure");
    play.run().exits(0).prints(&[
        "default-batch, data-plane: on hold: edge-26.8.3 waits until `health` succeeds for target",
    ]);
    play.says("main", "health", "success");
    play.run().exits(0).prints(&["default-batch, data-plane: edge-26.8.2 → edge-26.8.3: opened"]);
}

#[test]
fn waves_go_back_before_the_control_plane_the_last_one_first() {
    let play = behind_at(2);
    let moves = |ago: i64, places: &[(&str, &str)]| {
        play.scene.repo.set_clock(now() - ago);
        let mut files = play.files("main");
        for (path, name) in places {
            files = replaced(&files, &[path], &format!("26.8.2 # {name}"), &format!("26.8.3 # {name}"));
        }
        let text =
            |(path, _): &(&str, &str)| (path.to_string(), String::from_utf8(files[*path].clone()).unwrap());
        let texts: Vec<(String, String)> = places.iter().map(text).collect();
        let changes: Vec<_> = texts.iter().map(|(path, text)| put(path, text)).collect();
        play.scene.repo.commit("main", &ADA, "Move", &changes);
    };
    moves(20 * DAY, &CHARTS.map(|path| (path, "moved")));
    moves(10 * DAY, &[("apps/both.yaml", "first"), ("trial/only.yaml", "only")]);
    moves(9 * DAY, &[("apps/batch.yaml", "batch")]);
    moves(
        8 * DAY,
        &[("apps/both.yaml", "other"), ("jobs/batch.yaml", "elsewhere"), ("base/app.yaml", "shared")],
    );
    let back = || play.pass(play.scene.command("rollback"));
    let all: [(&str, &str, &[&str]); 3] = [
        (REST, "default", &["other", "shared", "elsewhere"]),
        (BATCH, "default-batch", &["batch"]),
        (CANARY, "default-canary", &["first", "only"]),
    ];
    for (number, (branch, target, names)) in (1..).zip(all) {
        let line = format!("{target}, data-plane: edge-26.8.3 → edge-26.8.2: opened");
        back().exits(0).prints(&[&line, "roll back again for the rest"]);
        assert_eq!(changed(&play, branch, ["edge-26.8.3", "edge-26.8.2"]), names);
        merge(&play, number, 0);
    }
    back().exits(0).prints(&["default, platform: edge-26.8.3 → edge-26.8.2: opened"]);
}

#[test]
fn names_that_would_be_one_are_refused() {
    let config = CONFIG.to_owned()
        + "targets:\n  - {name: a, paths: [apps, base, canary, live, trial]}\n  - {name: a-canary, paths: [jobs, '*.yaml']}\n";
    let play = behind();
    play.commit("main", "uplinker.yaml", &config);
    play.run().exits(2).complains(&["two targets would be called `a-canary`"]);
}

#[test]
fn pods_that_have_no_annotation_yet_hold_the_next_wave_back() {
    let play = behind();
    let asks = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: asks, namespace: canary-d}\nspec:\n  template:\n    \
                metadata:\n      labels:\n        config.linkerd.io/reconcile: auto\n    spec: {}\n";
    play.scene.repo.set_clock(now() - 20 * DAY);
    play.commit(
        "main",
        "uplinker.yaml",
        &CONFIG.replace("  after: 0d\n", "  after: 0d\n  restart: opt-in\n"),
    );
    play.commit("main", "asks.yaml", asks);
    play.replace("main", "apps/both.yaml", "edge-26.8.2 # first", "edge-26.8.3 # first");
    play.replace("main", "trial/only.yaml", "edge-26.8.2", "edge-26.8.3");
    play.run().exits(0).prints(&[
        "default-canary, data-plane: → edge-26.8.3: opened",
        "default-batch, data-plane: on hold: edge-26.8.3 waits until target `default-canary`, of which no release is known, has run it",
    ]);
    assert_eq!(play.scene.repo.changed("main", CANARY), ["asks.yaml"]);
    merge(&play, 1, 3 * DAY);
    play.run().exits(0).prints(&["default-batch, data-plane: edge-26.8.2 → edge-26.8.3: opened"]);
}

#[test]
fn what_is_foretold_of_a_wave_hangs_on_the_control_plane_of_its_target() {
    let play = behind_at(2);
    let foretold = || {
        let run = play.scene.home.run(["pins"]).arg(play.scene.repo.path());
        let pins = run.args(["--to", "edge-26.8.3", "--format", "json"]).done().json()["pins"].clone();
        let proxies = pins.as_array().unwrap().iter().filter(|pin| pin["stage"] == "data-plane").cloned();
        proxies.collect::<Vec<_>>()
    };
    let moving = foretold();
    let targets: BTreeSet<&str> = moving.iter().map(|pin| pin["target"].as_str().unwrap()).collect();
    assert_eq!(targets, BTreeSet::from(["default", "default-batch", "default-canary"]));
    assert!(moving.len() == 6 && moving.iter().all(|pin| pin["moves"] == true), "{moving:#?}");
    play.replace("main", "control-plane.yaml", "# moved by pull request", "# uplinker: hold");
    let held = foretold();
    assert!(held.iter().all(|pin| pin["reason"] == "control-plane-behind"), "{held:#?}");
}

#[test]
fn what_comes_to_a_wave_later_goes_where_those_before_it_have_been_for_long() {
    let play = behind();
    let config = CONFIG.replace("after: 0d", "after: 0d\n  restart: opt-in");
    let all = ["apps/both.yaml", "apps/batch.yaml", "jobs/batch.yaml", "base/app.yaml", "trial/only.yaml"];
    play.commit("main", "uplinker.yaml", &config);
    for path in all {
        let text = String::from_utf8(play.files("main")[path].clone()).unwrap();
        play.commit("main", path, &text.replace("edge-26.8.2", "edge-26.8.3"));
    }
    play.scene.repo.set_clock(now() - HOUR);
    let annotated = workload("new", "  namespace: shop\n", "config.linkerd.io/reconcile: auto");
    let bare = annotated.split("      annotations").next().unwrap();
    play.commit("main", "apps/new.yaml", bare);
    play.run().exits(0).prints(&["default, data-plane: → edge-26.8.3: opened"]);
    assert_eq!(play.scene.repo.changed("main", REST), ["apps/new.yaml"]);
    play.settles(0);
}

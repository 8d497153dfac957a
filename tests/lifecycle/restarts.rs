//! Restarts by opt-in: from a release to pods that roll, by pull requests alone.

use super::play::*;
use crate::support::{
    github::Merge,
    scene::{DATA_PLANE, REPO},
};

const CONFIG: &str = "version: 1\ndataPlane:\n  pins: ignore\n  restart: opt-in\n  after: 0d\ngates:\n  active: \
                      [\"kustomization/linkerd/*\"]\n";

/// One that asks, one that does not.
const ASKS: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: cart\n  namespace: shop\nspec:\n  replicas: 1\n  \
                    template:\n    metadata:\n      labels:\n        config.linkerd.io/reconcile: auto # ours\n    spec: {}\n";
const SILENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: old, namespace: shop}\nspec:\n  template:\n    \
                      metadata:\n      labels: {app: old}\n    spec: {}\n";

/// What Flux's notification controller says of the commit that it applied, once the Kustomization is healthy.
fn healthy(play: &Play) {
    play.says("main", "kustomization/linkerd/0c9c2e41", "success");
}

fn with(text: &str, release: &str) -> String {
    let lines =
        format!("      annotations:\n        config.linkerd.io/proxy-version: {release}\n    spec: {{}}");
    text.replace("    spec: {}", &lines)
}

/// The control plane's pull request was merged, Flux said that it works, and that of the proxies is open.
fn proposed() -> (Play, Files) {
    let mut files = cluster("", 2);
    for (path, text) in [("uplinker.yaml", CONFIG), ("shop/cart.yaml", ASKS), ("shop/old.yaml", SILENT)] {
        files.push((path.to_owned(), text.to_owned()));
    }
    let play = Play::with(&files).begun();
    play.reads_gates();
    play.scene.repo.set_clock(now() - 7200);
    play.scene.github.merge(REPO, 1, Merge::Squash, "ada", true);
    play.run()
        .exits(0)
        .prints(&["default, data-plane: on hold: edge-26.8.3 waits until `kustomization/linkerd/*` says"]);
    assert!(play.scene.repo.tip(DATA_PLANE).is_none());

    healthy(&play);
    let base = play.files("main");
    play.run().exits(0).prints(&["default, data-plane: → edge-26.8.3: opened http://"]);
    (play, base)
}

#[test]
fn only_what_asks_for_it_rolls_once_the_control_plane_works() {
    let (play, base) = proposed();
    let mut expected = base.clone();
    expected.insert("shop/cart.yaml".to_owned(), with(ASKS, "edge-26.8.3").into_bytes());
    play.expect(&Expected {
        number: 2,
        branch: DATA_PLANE,
        base: "main",
        title: "Linkerd → edge-26.8.3 (default, data-plane)",
        target: "default",
        release: "edge-26.8.3",
        files: &expected,
        parents: &[play.tip("main")],
    });
    assert_eq!(play.statuses(DATA_PLANE), success());
    assert!(play.body(2).contains("- `Deployment shop/cart`: 1 replica"), "{}", play.body(2));
    play.settles(0);

    // The next release: what is there moves.
    play.scene.github.merge(REPO, 2, Merge::Squash, "ada", true);
    play.publish(4);
    play.run().exits(0).prints(&["default, platform: edge-26.8.3 → edge-26.8.4: opened"]);
    play.scene.github.merge(REPO, 3, Merge::Squash, "ada", true);
    healthy(&play);
    play.run().exits(0).prints(&["default, data-plane: edge-26.8.3 → edge-26.8.4: opened"]);
    let tip = play.files(DATA_PLANE);
    assert_eq!(tip["shop/cart.yaml"], with(ASKS, "edge-26.8.4").into_bytes());
    assert_eq!(tip["web.yaml"], play.files("main")["web.yaml"], "a pin that does not ask is left alone");
    play.settles(0);
}

#[test]
fn an_annotation_that_came_goes_again_before_the_control_plane_does() {
    let (play, base) = proposed();
    play.scene.repo.set_clock(now() - 3600);
    play.scene.github.merge(REPO, 2, Merge::Squash, "ada", true);
    let back = || play.pass(play.scene.command("rollback")).exits(0);
    back().prints(&["Roll back Linkerd edge-26.8.3 → edge-26.8.2 (default, data-plane)", "edge-26.8.3 goes"]);
    assert_same_files(&play.files(DATA_PLANE), &base);
    play.scene.github.merge(REPO, 3, Merge::Squash, "ada", true);
    play.run()
        .exits(0)
        .prints(&["default, data-plane: on hold: edge-26.8.3 waits until a release newer than"]);
    back().prints(&["Roll back Linkerd edge-26.8.3 → edge-26.8.2 (default, platform)"]);
}

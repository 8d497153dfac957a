//! Mirrors of the charts that the operator names: a release waits until the mirror that a pin takes it from has it.

use crate::support::{
    controls::Entry,
    feed::{Feed, failing, release},
    mesh::{CONTROL_PLANE, CRDS, SOURCES, WEB},
    process::Run,
    scene::{PLATFORM, Scene, releases},
};

/// What a pull request says of a mirror that nobody has named.
const UNVERIFIED: &str = "which is no mirror that uplinker was given";

/// The usual repository, with its charts from elsewhere.
fn scene_from(address: &str) -> Scene {
    let sources = SOURCES.replace("https://helm.linkerd.io/edge", address);
    Scene::new(&[
        ("linkerd/sources.yaml", &sources),
        ("linkerd/crds.yaml", CRDS),
        ("linkerd/control-plane.yaml", CONTROL_PLANE),
        ("apps/web.yaml", WEB),
    ])
}

/// A Helm repository that has all but the newest release.
fn lagging() -> Feed {
    let mut releases = releases();
    releases.pop();
    Feed::start(&releases)
}

/// Where a Helm repository of the tests is.
fn repository(feed: &Feed) -> String {
    feed.charts().trim_end_matches("/index.yaml").to_owned()
}

fn naming(scene: &Scene, mirror: &str) -> Run {
    scene.run().arg(format!("--mirror={mirror}"))
}

/// What a mirror was asked, as `METHOD target`.
fn asked(mirror: &Feed) -> Vec<String> {
    mirror.controls().log.take().iter().map(Entry::line).collect()
}

#[test]
fn a_release_waits_until_the_mirror_has_its_charts() {
    let mirror = lagging();
    let address = repository(&mirror);
    let scene = scene_from(&address);
    let held = naming(&scene, &address).done().exits(0);
    let held = held.prints(&[&format!(
        "edge-26.8.3 waits until the mirror {address} has linkerd-control-plane, linkerd-crds"
    )]);
    assert!(scene.github.pulls("acme/config").is_empty(), "{held}");
    assert_eq!(asked(&mirror), ["GET /edge/index.yaml"], "one request, whatever waits");
    mirror.publish(release("edge-26.8.3", "2026-08-15T09:00:00Z").charts(&["linkerd-crds"]));
    let _ = naming(&scene, &address).done().exits(0).prints(&["has linkerd-control-plane for it"]);
    mirror.publish(release("edge-26.8.3", "2026-08-15T09:00:00Z"));
    let _ = naming(&scene, &address).done().exits(0);
    assert!(scene.repo.tip(PLATFORM).is_some());
    let body = scene.only_pull().body.unwrap();
    assert!(!body.contains(UNVERIFIED), "{body}");
}

#[test]
fn the_newest_release_that_the_mirror_has_is_taken_meanwhile() {
    let mirror = lagging();
    let scene = scene_from(&repository(&mirror));
    scene.feed.publish(release("edge-26.8.4", "2026-08-22T09:00:00Z"));
    mirror.publish(release("edge-26.8.3", "2026-08-15T09:00:00Z"));
    let _ = naming(&scene, &repository(&mirror)).done().exits(0);
    assert!(scene.only_pull().title.contains("edge-26.8.3"), "{}", scene.only_pull().title);
}

#[test]
fn a_mirror_that_does_not_answer_holds_and_says_why() {
    let mirror = Feed::start(&releases());
    let scene = scene_from(&repository(&mirror));
    mirror.break_always("/edge/index.yaml", failing(503));
    let run = naming(&scene, &repository(&mirror)).done().exits(0);
    let _ = run.prints(&["waits until the mirror", "can be asked", "503"]);
    assert!(scene.github.pulls("acme/config").is_empty());
    mirror.controls().rules.clear();
    let _ = naming(&scene, &repository(&mirror)).done().exits(0);
    assert!(scene.repo.tip(PLATFORM).is_some());
}

#[test]
fn a_mirror_that_nobody_named_is_not_asked_and_told() {
    let mirror = lagging();
    let address = repository(&mirror);
    let scene = scene_from(&address);
    // A part of its name is not its name.
    let _ = naming(&scene, &address[..address.len() - 1]).done().exits(0);
    let body = scene.only_pull().body.unwrap();
    assert!(body.contains(UNVERIFIED), "{body}");
    assert_eq!(asked(&mirror), Vec::<String>::new());
}

#[test]
fn what_lies_below_a_mirror_is_asked_where_it_is() {
    let mirror = lagging();
    let scene = scene_from(&repository(&mirror));
    let above = mirror.server().url();
    let run = scene.run().env("UPLINKER_MIRRORS", format!("https://other.example/x,{above}/"));
    let _ = run.done().exits(0).prints(&["waits until the mirror"]);
    assert_eq!(asked(&mirror), ["GET /edge/index.yaml"]);
}

#[test]
fn a_mirror_is_named_by_the_operator_alone() {
    let mirror = lagging();
    let scene = scene_from(&repository(&mirror));
    let config = format!("version: 1\nmirrors: [\"{}\"]\n", repository(&mirror));
    scene.repo.commit(
        "main",
        &crate::support::repo::ADA,
        "Name it",
        &[crate::support::repo::put("uplinker.yaml", &config)],
    );
    let _ = scene.run().done().exits(2).complains(&["mirrors"]);
    assert_eq!(asked(&mirror), Vec::<String>::new());
}

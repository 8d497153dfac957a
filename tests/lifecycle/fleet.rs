//! Many clusters in one repository: those that can go along go together, and nobody waits for one that cannot.

use std::collections::BTreeMap;

use serde_json::Value;

use super::play::*;
use crate::support::{
    feed::release,
    github::Merge,
    repo::{ADA, put},
    scene::{DATA_PLANE, PLATFORM, REPO},
};

/// The stop that comes before a release from edge-25.9.4 on.
const STOP: &str = "edge-25.7.6";
const FAR: &str = "uplinker/far/platform";
const WITHOUT_WAITING: &str = "version: 1\ndataPlane:\n  after: 0d\n";

/// A cluster of Flux's at a release: its root, and what the root's folder has.
fn site(name: &str, version: &str) -> Vec<(String, String)> {
    let folder = format!("clusters/{name}/");
    let sync = format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: flux-system, namespace: \
         flux-system}}\nspec:\n  path: ./clusters/{name}\n  prune: true\n  sourceRef: {{kind: GitRepository, name: \
         flux-system}}\n"
    );
    let mut files = cluster(&folder, 2);
    let edge = version.replacen("20", "edge-", 1);
    for (_, text) in &mut files {
        *text = text.replace("edge-26.8.2", &edge).replace("2026.8.2", version);
    }
    files.push((format!("{folder}flux-system/gotk-sync.yaml"), sync));
    files
}

/// The same, of a cluster that runs `apps` too.
fn with_apps(name: &str) -> Vec<(String, String)> {
    let mut files = site(name, "2026.8.1");
    let root = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: \
                flux-system}\nspec:\n  path: ./apps\n  sourceRef: {kind: GitRepository, name: flux-system}\n";
    files.push((format!("clusters/{name}/apps.yaml"), root.to_owned()));
    files
}

/// The names of the clusters that go along.
fn followers() -> Vec<String> {
    (1..10).map(|n| format!("site-{n:02}")).collect()
}

/// Twelve clusters: nine a release or two behind, one too far behind for one step, one held, one on stable.
fn twelve() -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for (n, name) in followers().iter().enumerate() {
        files.extend(site(name, if n % 2 == 0 { "2026.8.2" } else { "2026.8.1" }));
    }
    files.extend(site("far", "2025.2.3"));
    files.extend(
        site("held", "2026.8.1")
            .into_iter()
            .map(|(path, text)| (path, text.replace("# moved by pull request", "# uplinker: hold"))),
    );
    files.extend(site("stable", "1.16.11").into_iter().map(|(path, text)| {
        let text = text.replace("https://helm.linkerd.io/edge", "https://helm.linkerd.io/stable");
        (
            path,
            text.replace(
                "config.linkerd.io/proxy-version: 1.16.11",
                "config.linkerd.io/proxy-version: stable-2.14.10",
            ),
        )
    }));
    files.push(("uplinker.yaml".to_owned(), WITHOUT_WAITING.to_owned()));
    files
}

pub(super) fn play(files: &[(String, String)]) -> Play {
    let play = Play::with(files);
    for (tag, day) in [("edge-25.2.3", "2025-02-20"), ("edge-25.8.5", "2025-08-28"), (STOP, "2025-07-30")] {
        play.scene.feed.publish(release(tag, &format!("{day}T09:00:00Z")));
    }
    play
}

/// What `pins --to` says, by place.
fn foretold(play: &Play, to: &str) -> Vec<Value> {
    let path = play.scene.repo.path().to_owned();
    let done = play.scene.home.run(["pins"]).arg(path).args(["--to", to, "--format", "json"]).done();
    done.json()["pins"].as_array().unwrap().clone()
}

/// Each line of `pins --to` is what the branch of its target has, at the stage that is proposed.
fn agrees(play: &Play, to: &str, stage: &str) {
    let mut branches: BTreeMap<String, Option<Files>> = BTreeMap::new();
    let base = play.files("main");
    let line = |files: &Files, pin: &Value| {
        let text = String::from_utf8(files[pin["path"].as_str().unwrap()].clone()).unwrap();
        text.lines().nth(pin["line"].as_u64().unwrap() as usize - 1).unwrap().to_owned()
    };
    for pin in foretold(play, to).iter().filter(|pin| pin["stage"] == stage) {
        let branch = format!("uplinker/{}/{stage}", pin["target"].as_str().unwrap());
        let there = || play.scene.repo.tip(&branch).map(|_| play.files(&branch));
        let after = branches.entry(branch.clone()).or_insert_with(there).as_ref();
        let before = line(&base, pin);
        let after = after.map_or(before.clone(), |after| line(after, pin));
        let value = pin["value"].as_str().unwrap();
        match pin["new"].as_str() {
            Some(new) => assert_eq!(after, before.replace(value, new), "{pin} on {branch}"),
            None if pin["reason"] == "required-hop" => {
                let stop =
                    if value.starts_with("edge-") { STOP.to_owned() } else { STOP.replace("edge-", "20") };
                assert!(after == before || after == before.replace(value, &stop), "{pin}: {after}");
            }
            None => assert_eq!(after, before, "{pin} on {branch}"),
        }
    }
}

fn paths(names: &[String], files: &[&str]) -> Vec<String> {
    names.iter().flat_map(|name| files.iter().map(move |file| format!("clusters/{name}/{file}"))).collect()
}

#[test]
fn those_that_can_move_do_and_the_laggard_goes_by_its_stop() {
    let play = play(&twelve());
    let pass = play.run().exits(0).prints(&[
        "default, platform: edge-26.8.1, edge-26.8.2 → edge-26.8.3: opened",
        "far, platform: edge-25.2.3 → edge-25.7.6: opened",
        "held, platform: on hold: every pin stays (held)",
        "stable, platform: on hold: all 2 pins are on another channel than edge",
    ]);
    assert_eq!(play.scene.github.pulls(REPO).len(), 2, "{}", pass.done);
    let changed = play.scene.repo.changed("main", PLATFORM);
    assert_eq!(changed, paths(&followers(), &CHARTS));
    assert_eq!(play.scene.repo.changed("main", FAR), paths(&["far".to_owned()], &CHARTS));
    assert_eq!(play.pull(2).title, "Linkerd edge-25.2.3 → edge-25.7.6 (far, platform)");
    agrees(&play, "edge-26.8.3", "platform");
    play.settles(0);

    // Proxies wait for their own control plane, and for nobody else's.
    play.scene.github.merge(REPO, 1, Merge::Squash, "ada", true);
    play.run().exits(0).prints(&[
        "default, data-plane: edge-26.8.1, edge-26.8.2 → edge-26.8.3: opened",
        "held, data-plane: level with the control plane at edge-26.8.1",
    ]);
    assert_eq!(play.scene.repo.changed("main", DATA_PLANE), paths(&followers(), &["web.yaml"]));
    agrees(&play, "edge-26.8.3", "data-plane");
    play.settles(0);

    // Once it has made its stop, it goes with the others.
    play.scene.github.merge(REPO, 2, Merge::Squash, "ada", true);
    play.run().exits(0).prints(&["default, platform: edge-25.7.6 → edge-26.8.3: opened"]);
    assert_eq!(play.scene.repo.changed("main", PLATFORM), paths(&["far".to_owned()], &CHARTS));
    assert!(foretold(&play, "edge-26.8.3").iter().all(|pin| pin["target"] != "far"));
}

#[test]
fn a_target_that_is_no_more_leaves_no_pull_request_and_no_refusal() {
    let play = play(&twelve());
    play.run().exits(0);
    for path in CHARTS {
        play.replace("main", &format!("clusters/far/{path}"), "2025.2.3", "2026.8.2");
    }
    play.run()
        .exits(0)
        .prints(&["default, platform: edge-26.8.1, edge-26.8.2 → edge-26.8.3: updated", "far, platform"]);
    let pull = play.pull(2);
    assert!(!pull.open && play.scene.repo.tip(FAR).is_none());
    assert_eq!((&marker(&pull)["closing"], marker(&pull).get("declined")), (&Value::from(true), None));
    let all = [&["far".to_owned()], followers().as_slice()].concat();
    assert_eq!(play.scene.repo.changed("main", PLATFORM), paths(&all, &CHARTS));
    play.settles(0);
    // It comes back when it lags again, and nobody has said no.
    for path in CHARTS {
        play.replace("main", &format!("clusters/far/{path}"), "2026.8.2", "2025.2.3");
    }
    play.run().exits(0).prints(&["far, platform: edge-25.2.3 → edge-25.7.6: opened"]);
}

#[test]
fn a_persons_commit_on_the_branch_of_a_target_that_is_no_more_is_kept() {
    let play = play(&twelve());
    play.run().exits(0);
    play.commit(FAR, "clusters/far/notes.md", "By hand.\n");
    for path in CHARTS {
        play.replace("main", &format!("clusters/far/{path}"), "2025.2.3", "2026.8.2");
    }
    play.run().exits(0).prints(&["#2 is not wanted any more but has commits of a person"]);
    assert!(play.pull(2).open);
}

#[test]
fn an_open_pull_request_goes_on_without_the_one_that_falls_behind() {
    let mut files = site("near", "2025.8.5");
    files.extend(site("far", "2025.2.3"));
    let play = play(&files);
    let feed = &play.scene.feed;
    feed.publish(release("edge-25.9.3", "2025-09-20T09:00:00Z"));
    let only = |to: &str| play.pass(play.scene.run().args(["--to", to]));
    only("edge-25.9.3")
        .exits(0)
        .prints(&["default, platform: edge-25.2.3, edge-25.8.5 → edge-25.9.3: opened"]);
    play.run().exits(0).prints(&[
        "default, platform: edge-25.8.5 → edge-26.8.3: updated",
        "far, platform: edge-25.2.3 → edge-25.7.6: opened",
    ]);
    assert_eq!(play.scene.repo.changed("main", PLATFORM), paths(&["near".to_owned()], &CHARTS));
    play.settles(0);
}

#[test]
fn what_a_laggard_reads_too_waits_for_it_by_name() {
    let crds = cluster("", 2).swap_remove(1).1;
    let shared = |name: &str, version: &str| {
        let mut files = site(name, version);
        files.retain(|(path, _)| !path.ends_with("crds.yaml"));
        let root = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: base, namespace: \
                    flux-system}\nspec:\n  path: ./base\n  sourceRef: {kind: GitRepository, name: flux-system}\n";
        files.push((format!("clusters/{name}/base.yaml"), root.to_owned()));
        files
    };
    let mut files = shared("far", "2025.2.3");
    files.extend(shared("near", "2026.8.2"));
    files.extend(site("alone", "2026.8.1"));
    files.push(("base/crds.yaml".to_owned(), crds));
    let play = play(&files);
    play.run().exits(0).prints(&[
        "default, platform: edge-26.8.1 → edge-26.8.3: opened",
        "far, platform: edge-25.2.3 → edge-25.7.6: opened",
        "with-far, platform: on hold: edge-26.8.3 waits until `far`, which files of this target serve too, has gone from \
         edge-25.2.3 by the required stop edge-25.7.6",
    ]);
    assert_eq!(play.scene.repo.changed("main", PLATFORM), paths(&["alone".to_owned()], &CHARTS));
    agrees(&play, "edge-26.8.3", "platform");
    play.settles(0);
    play.scene.github.merge(REPO, 2, Merge::Squash, "ada", true);
    play.run().exits(0);
    let mut all = paths(&["alone".to_owned()], &CHARTS);
    all.extend(["clusters/far/control-plane.yaml", "clusters/near/control-plane.yaml"].map(str::to_owned));
    all.insert(0, "base/crds.yaml".to_owned());
    assert_eq!(play.scene.repo.changed("main", PLATFORM), all);
}

#[test]
fn a_proxy_of_two_clusters_waits_for_both_of_their_control_planes() {
    let mut files = with_apps("near");
    let held = |text: String| text.replace("# moved by pull request", "# uplinker: hold");
    files.extend(with_apps("held").into_iter().map(|(path, text)| (path, held(text))));
    let shared = cluster("", 1).swap_remove(3).1.replace("edge-26.8.1", "edge-26.7.1");
    files.push(("apps/web.yaml".to_owned(), shared));
    files.push(("uplinker.yaml".to_owned(), WITHOUT_WAITING.to_owned()));
    let play = play(&files);
    play.run().exits(0).prints(&[
        "default, platform: edge-26.8.1 → edge-26.8.3: opened",
        "held-near, data-plane: edge-26.7.1 → edge-26.8.1: opened",
    ]);
    agrees(&play, "edge-26.8.3", "platform");
    assert_eq!(play.scene.repo.changed("main", "uplinker/held-near/data-plane"), ["apps/web.yaml"]);
    play.scene.github.merge(REPO, 1, Merge::Squash, "ada", true);

    // What one of them runs alone goes on.
    play.run().exits(0).prints(&["default, data-plane: edge-26.8.1 → edge-26.8.3: opened"]);
    assert_eq!(play.scene.repo.changed("main", DATA_PLANE), ["clusters/near/web.yaml"]);
    agrees(&play, "edge-26.8.3", "data-plane");
    play.settles(0);
    play.scene.github.merge(REPO, 2, Merge::Squash, "ada", true);
    play.scene.github.merge(REPO, 3, Merge::Squash, "ada", true);
    play.run().exits(0).prints(&["held-near, data-plane: level with the control plane at edge-26.8.1"]);
    play.settles(0);

    for path in CHARTS {
        play.replace("main", &format!("clusters/held/{path}"), "2026.8.1", "2026.8.3");
    }
    play.run().exits(0).prints(&["held-near, data-plane: edge-26.8.1 → edge-26.8.3: opened"]);
    assert_eq!(play.scene.repo.changed("main", "uplinker/held-near/data-plane"), ["apps/web.yaml"]);
}

#[test]
fn proxies_that_others_run_too_go_back_before_the_control_plane_does() {
    let mut files = [with_apps("east"), with_apps("west")].concat();
    files.retain(|(path, _)| !path.ends_with("web.yaml"));
    files.push(("apps/web.yaml".to_owned(), cluster("", 1).swap_remove(3).1));
    files.push(("uplinker.yaml".to_owned(), format!("{WITHOUT_WAITING}targets: auto\n")));
    let play = play(&files);
    play.run().exits(0);
    for number in 1..3 {
        play.scene.github.merge(REPO, number, Merge::Squash, "ada", true);
    }
    play.run().exits(0).prints(&["shared, data-plane: edge-26.8.1 → edge-26.8.3: opened"]);
    play.scene.github.merge(REPO, 3, Merge::Squash, "ada", true);
    let back = || play.pass(play.scene.command("rollback").args(["--target", "west"])).exits(0);
    back().prints(&["shared, data-plane: edge-26.8.3 → edge-26.8.1: opened", "proxies go back before"]);
    play.scene.github.merge(REPO, 4, Merge::Squash, "ada", true);
    back().prints(&["west, platform: edge-26.8.3 → edge-26.8.1: opened"]);
}

#[test]
fn proxies_whose_control_plane_nobody_knows_wait_unless_a_release_is_asked_for() {
    let play = play(&[cluster("", 2).swap_remove(3)]);
    play.run().exits(0).prints(&[
        "default, data-plane: on hold: proxies wait until the control plane's release is known; `dataPlane.controlPlane` \
         can name it",
    ]);
    agrees(&play, "edge-26.8.3", "platform");
    play.pass(play.scene.run().args(["--to", "edge-26.8.3"]))
        .exits(0)
        .prints(&["default, data-plane: edge-26.8.2 → edge-26.8.3: opened"]);
    agrees(&play, "edge-26.8.3", "data-plane");
    assert!(play.pull(1).body.unwrap().contains("nothing here says which release the control plane runs"));
}

#[test]
fn with_auto_each_installation_has_a_pull_request_and_what_they_share_goes_first() {
    let base = cluster("", 2).swap_remove(1).1;
    let mut files: Vec<(String, String)> = Vec::new();
    for (name, version) in [("east", "2026.8.1"), ("west", "2026.8.2")] {
        let mut own = site(name, version);
        own.retain(|(path, _)| !path.ends_with("crds.yaml"));
        let list = "resources: [../../base, control-plane.yaml, sources.yaml, web.yaml, flux-system]\n";
        own.push((format!("clusters/{name}/kustomization.yaml"), list.to_owned()));
        own.push((
            format!("clusters/{name}/flux-system/kustomization.yaml"),
            "resources: [gotk-sync.yaml]\n".to_owned(),
        ));
        files.extend(own);
    }
    files.push(("base/kustomization.yaml".to_owned(), "resources: [crds.yaml]\n".to_owned()));
    files.push(("base/crds.yaml".to_owned(), base));
    files.push(("uplinker.yaml".to_owned(), "version: 1\ntargets: auto\n".to_owned()));
    let play = play(&files);
    play.run().exits(0).prints(&[
        "shared, platform: edge-26.8.2 → edge-26.8.3: opened",
        "east, platform: on hold: edge-26.8.3 waits until target `shared`, whose files this installation reads too, is there",
        "west, platform: on hold: edge-26.8.3 waits until target `shared`",
    ]);
    assert_eq!(play.scene.repo.changed("main", "uplinker/shared/platform"), ["base/crds.yaml"]);
    agrees_of(&play, "shared");
    play.settles(0);
    play.scene.github.merge(REPO, 1, Merge::Squash, "ada", true);
    play.run().exits(0).prints(&[
        "east, platform: edge-26.8.1 → edge-26.8.3: opened",
        "west, platform: edge-26.8.2 → edge-26.8.3: opened",
    ]);
    for name in ["east", "west"] {
        let branch = format!("uplinker/{name}/platform");
        assert_eq!(play.scene.repo.changed("main", &branch), [format!("clusters/{name}/control-plane.yaml")]);
    }
    agrees(&play, "edge-26.8.3", "platform");
    play.settles(0);
}

#[test]
fn with_auto_what_cannot_go_before_its_charts_goes_with_them() {
    let mut files = site("alone", "2026.8.1");
    for (name, version) in [("east", "2026.8.1"), ("west", "2026.8.2")] {
        let root = "resources: [../../base]\npatches:\n- path: version.yaml\n";
        let patch = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: linkerd-control-plane, namespace: \
                     linkerd}\nspec: {chart: {spec: {version: VERSION}}}\n";
        files.push((format!("clusters/{name}/kustomization.yaml"), root.to_owned()));
        files.push((format!("clusters/{name}/version.yaml"), patch.replace("VERSION", version)));
    }
    let list = "resources: [crds.yaml, control-plane.yaml, sources.yaml]\n";
    files.push(("base/kustomization.yaml".to_owned(), list.to_owned()));
    let base =
        cluster("base/", 2).into_iter().filter(|(path, _)| list.contains(path.trim_start_matches("base/")));
    files.extend(base.map(|(path, text)| match path.ends_with("control-plane.yaml") {
        true => (path, text + "  values:\n    controllerImageVersion: edge-26.8.2\n"),
        false => (path, text),
    }));
    files.push(("uplinker.yaml".to_owned(), "version: 1\ntargets: auto\n".to_owned()));
    let play = play(&files);
    play.run().exits(0).prints(&[
        "alone, platform: edge-26.8.1 → edge-26.8.3: opened",
        "east-west, platform: edge-26.8.1, edge-26.8.2 → edge-26.8.3: opened",
    ]);
    let together = [
        "base/control-plane.yaml",
        "base/crds.yaml",
        "clusters/east/version.yaml",
        "clusters/west/version.yaml",
    ];
    assert_eq!(play.scene.repo.changed("main", "uplinker/east-west/platform"), together);
    agrees_of(&play, "east-west");
    play.settles(0);
}

/// What one target's lines say is on its branch; others wait for it.
fn agrees_of(play: &Play, target: &str) {
    let branch = play.files(&format!("uplinker/{target}/platform"));
    for pin in foretold(play, "edge-26.8.3").iter().filter(|pin| pin["target"] == target) {
        let text = String::from_utf8(branch[pin["path"].as_str().unwrap()].clone()).unwrap();
        assert!(text.contains(pin["new"].as_str().unwrap()), "{pin}");
    }
}

#[test]
fn a_commit_by_hand_keeps_nobody_back() {
    let play = play(&twelve());
    play.run().exits(0);
    play.scene.repo.commit("main", &ADA, "Other", &[put("docs/notes.md", "Something else.\n")]);
    let pass = play.run().exits(0);
    assert!(!pass.asked.iter().any(|line| line.contains("receive-pack")), "{:#?}", pass.asked);
}

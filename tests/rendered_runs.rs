//! Whole runs over repositories with committed manifests: what is pushed, what is never pushed, and that a second run
//! finds nothing to do; and what `verify` says of repositories as they are.

use std::{collections::BTreeSet, sync::LazyLock};

use crate::support::{
    charts::ChartRepository,
    feed::release,
    github::Merge,
    helm::{Bench, helm},
    manifests::{hours_ago, job, keys},
    mesh::{CONTROL_PLANE, MESH, mesh_and},
    process::{Done, Home, Run},
    repo::{ADA, BareRepo, put},
    scene::{PLATFORM, REPO, Scene},
};
use uplinker::render::Renderer as _;

static CHARTS: LazyLock<ChartRepository> = LazyLock::new(ChartRepository::new);

const NAMES: [&str; 3] = ["linkerd-crds", "linkerd-control-plane", "linkerd-viz"];

/// What a person committed: Helm's output at 2026.8.2, with a schedule of another hour.
static COMMITTED: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let bench = Bench::new(&CHARTS.url());
    let renderer = bench.helm();
    let jobs = NAMES.map(|chart| job(chart, "2026.8.2", "{}"));
    let texts = renderer.render(&jobs).into_iter().map(|text| text.unwrap().to_string());
    let file = |(chart, text): (&str, String)| (format!("mesh/{chart}.yaml"), hours_ago(&text));
    NAMES.into_iter().zip(texts).map(file).collect()
});

/// A repository with the committed manifests and other files; releases up to `newest`.
fn scene(more: &[(&str, &str)], newest: &str) -> Scene {
    let committed = COMMITTED.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    let files: Vec<(&str, &str)> = committed.chain(more.iter().copied()).collect();
    let scene = Scene::new(&files);
    if newest != "edge-26.8.3" {
        scene.feed.publish(release(newest, "2026-08-20T09:00:00Z").charts(&NAMES));
    }
    scene.feed.serve_packages(CHARTS.packages());
    scene
}

fn with_helm(run: Run) -> Run {
    run.env("UPLINKER_HELM", helm())
}

fn run(scene: &Scene) {
    let _ = with_helm(scene.run()).done().exits(0);
}

/// Searches every blob that the remote has, whatever refers to it.
fn all_keys(scene: &Scene) -> BTreeSet<String> {
    let repository = scene.repo.open();
    let odb = repository.odb().unwrap();
    let mut found = BTreeSet::new();
    odb.foreach(|id| {
        if let Ok(blob) = repository.find_blob(*id) {
            found.extend(keys(&String::from_utf8_lossy(blob.content())));
        }
        true
    })
    .unwrap();
    found
}

fn writes(scene: &Scene) -> Vec<String> {
    let reads = |line: &str| line.starts_with("GET ") || line.contains("git-upload-pack");
    scene.requests().into_iter().filter(|line| !reads(line)).collect()
}

#[test]
fn manifests_are_proposed_in_the_new_release_and_a_second_run_pushes_nothing() {
    let scene = scene(&[("README.md", "Ours.\n")], "edge-26.8.3");
    let before = all_keys(&scene);
    assert!(before.len() >= 3, "the committed manifests hold keys");
    run(&scene);
    let pull = scene.only_pull();
    assert_eq!(pull.title, "Linkerd edge-26.8.2 → edge-26.8.3 (default, platform)");
    let changed = scene.repo.changed("main", PLATFORM);
    assert_eq!(
        changed,
        ["mesh/linkerd-control-plane.yaml", "mesh/linkerd-crds.yaml", "mesh/linkerd-viz.yaml"]
    );
    for (path, old) in COMMITTED.iter() {
        let new = scene.repo.read(PLATFORM, path).unwrap();
        assert!(!new.contains("26.8.2") && new.contains("26.8.3"), "{path}");
        assert_eq!(keys(&new), keys(old), "{path}");
        let kept = |text: &str| -> Vec<String> {
            let invented = ["tls.crt:", "crt.pem:", "caBundle:", "schedule:"];
            let lines = text.lines().map(str::trim).filter(|l| invented.iter().any(|i| l.starts_with(i)));
            lines.map(str::to_owned).collect()
        };
        assert_eq!(kept(&new), kept(old), "{path}");
    }
    assert_eq!(all_keys(&scene), before);

    let tip = scene.repo.tip(PLATFORM);
    scene.requests();
    run(&scene);
    assert_eq!((writes(&scene), scene.repo.tip(PLATFORM)), (vec![], tip));
    // Without a cache everything is rendered anew, with other certificates and at another minute of the clock.
    scene.home.forget();
    run(&scene);
    assert_eq!((writes(&scene), scene.repo.tip(PLATFORM)), (vec![], tip));
}

#[test]
fn a_chart_that_ended_keeps_what_it_gives_and_what_was_proposed_is_not_proposed_again() {
    let bench = Bench::new(&CHARTS.url());
    let text = bench.helm().render(&[job("linkerd-jaeger", "2025.9.4", "{}")]).remove(0).unwrap();
    let (viz, others): (Vec<_>, Vec<_>) =
        COMMITTED.iter().cloned().partition(|(path, _)| path.ends_with("viz.yaml"));
    // As tools lay it out that keep no comments: one of its objects has a label of viz and names a release first.
    let without_sources =
        |text: &str| text.split_inclusive('\n').filter(|l| !l.starts_with("# Source:")).collect::<String>();
    let jaeger = hours_ago(&text);
    let all = without_sources(&format!("{jaeger}{}", viz[0].1));
    let files: Vec<(&str, &str)> = others.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let scene = Scene::new(&[&files[..], &[("mesh/all.yaml", &*all)]].concat());
    scene.feed.serve_packages(CHARTS.packages());
    run(&scene);
    let after = scene.repo.read(PLATFORM, "mesh/all.yaml").unwrap();
    assert!(after.starts_with(&without_sources(&jaeger)), "{after}");
    assert!(!after.contains("edge-26.8.2") && after.contains("edge-26.8.3"));
    let body = scene.only_pull().body.unwrap();
    assert!(body.contains("3 pins move from `edge-26.8.2` to") && !body.contains("No chart gives"), "{body}");
    assert!(!body.contains("Blocked"), "{body}");
    scene.requests();
    run(&scene);
    assert_eq!(writes(&scene), Vec::<String>::new());
    scene.repo.merge("main", PLATFORM, &ADA, "Merge").unwrap();
    scene.requests();
    run(&scene);
    assert_eq!(writes(&scene), Vec::<String>::new());
}

#[test]
fn what_was_proposed_follows_from_its_charts() {
    let scene = scene(&[], "edge-26.8.3");
    run(&scene);
    scene.repo.set_default_branch(PLATFORM);
    let verify = || {
        let url = scene.github.url(REPO);
        let run = scene
            .home
            .run(["verify", &url, "--format", "json"])
            .args([format!("--charts-url={}", scene.feed.charts())]);
        with_helm(run).env("UPLINKER_TOKEN", crate::support::scene::TOKEN).done()
    };
    let report = verify().exits(0).json();
    let manifests = report["manifests"].as_array().unwrap();
    let all = |field: &str, value: serde_json::Value| manifests.iter().all(|m| m[field] == value);
    assert!(
        manifests.len() == 3 && all("proven", true.into()) && all("version", "2026.8.3".into()),
        "{report:#}"
    );

    // Somebody changes a field, and somebody else takes half of the upgrade back.
    let path = "mesh/linkerd-control-plane.yaml";
    let text = scene.repo.read(PLATFORM, path).unwrap();
    let tampered = text.replacen("replicas: 1", "replicas: 7", 1);
    assert_ne!(text, tampered);
    let change = [put(path, &tampered)];
    scene.repo.commit(PLATFORM, &ADA, "By hand", &change);
    let report = verify().exits(4).json();
    let drift = &report["drifts"][0];
    assert_eq!(
        (drift["path"].as_str(), drift["field"].as_str()),
        (Some(path), Some("spec.replicas")),
        "{report:#}"
    );
    assert!(drift["object"].as_str().unwrap().starts_with("Deployment linkerd/"));
}

/// Asserts that nothing of a stage is proposed, and that the hold says this.
#[track_caller]
fn waits(scene: &Scene, run: Run, words: &[&str]) {
    let _ = run.done().exits(4).prints(words);
    assert!(scene.github.pulls(REPO).is_empty() && scene.repo.tip(PLATFORM).is_none());
}

#[test]
fn a_release_with_a_new_certificate_brings_no_key_into_git() {
    let scene = scene(&[], "edge-26.8.4");
    let before = all_keys(&scene);
    let rest = "The rest of the stage waits for it: linkerd-crds, linkerd-viz";
    waits(&scene, with_helm(scene.run()), &["linkerd-control-plane in mesh/", "externalSecret", rest]);
    assert_eq!(all_keys(&scene), before);
}

#[test]
fn a_change_by_hand_is_refused_by_name_overwritten_or_kept_as_configured() {
    let (path, text) = &COMMITTED[1];
    let tampered = text.replacen("replicas: 1", "replicas: 7", 1);
    assert_ne!(*text, tampered);
    let made = |more: &[(&str, &str)]| {
        let scene = scene(more, "edge-26.8.3");
        scene.repo.commit("main", &ADA, "By hand", &[put(path, &tampered)]);
        scene
    };
    let scene = made(&[]);
    waits(&scene, with_helm(scene.run()), &["spec.replicas is 7, the chart gives 1", "drift: overwrite"]);
    // The place is the object that differs, not the first of its set.
    let above = tampered.split("replicas: 7").next().unwrap();
    let object = above.rfind("kind: ").map_or(0, |at| above[..at].rfind("---\n").unwrap_or_default());
    let lines = above[..object].lines().count()..=above.lines().count();
    let said = with_helm(scene.run()).done().exits(4).stdout;
    let place =
        said.split(&format!("linkerd-control-plane in {path}:")).nth(1).unwrap_or_else(|| panic!("{said}"));
    let line: usize = place.split(':').next().unwrap().parse().unwrap();
    assert!(lines.contains(&line) && *lines.start() > 20, "{line} of {lines:?}: {said}");
    let scene = made(&[("uplinker.yaml", "version: 1\ndrift: keep\n")]);
    run(&scene);
    let body = scene.only_pull().body.unwrap();
    assert!(body.contains("Kept: Deployment linkerd/"), "{body}");
    let after = scene.repo.read(PLATFORM, path).unwrap();
    assert!(after.contains("replicas: 7") && after.contains("edge-26.8.3") && !after.contains("edge-26.8.2"));
    let tip = scene.repo.tip(PLATFORM);
    run(&scene);
    assert_eq!(scene.repo.tip(PLATFORM), tip);
    scene.github.merge(REPO, 1, Merge::Squash, "ada", true);
    let _ = with_helm(scene.run()).done().exits(0).prints(&["platform: up to date at edge-26.8.3"]);
    let scene = made(&[("uplinker.yaml", "version: 1\ndrift: overwrite\n")]);
    run(&scene);
    // Replacing it is said with object and field.
    let body = scene.only_pull().body.unwrap();
    assert!(
        body.contains("Overwritten: Deployment linkerd/")
            && body.contains("spec.replicas is 7, the chart gives 1"),
        "{body}"
    );
    let after = scene.repo.read(PLATFORM, path).unwrap();
    assert!(after.contains("replicas: 1") && !after.contains("replicas: 7") && after.contains("edge-26.8.3"));
}

#[test]
fn without_helm_a_stage_with_committed_manifests_waits_and_says_how_to_get_one() {
    let pin = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: linkerd, namespace: l}\n\
        spec: {url: https://helm.linkerd.io/edge}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n\
        metadata: {name: linkerd-crds, namespace: l}\nspec:\n  chart:\n    spec:\n      chart: linkerd-crds\n      \
        version: 2026.8.2\n      sourceRef: {kind: HelmRepository, name: linkerd}\n";
    let scene = scene(&[("flux/crds.yaml", pin)], "edge-26.8.3");
    let run = scene.run().env("UPLINKER_HELM", "").env("PATH", "/nonexistent");
    waits(
        &scene,
        run,
        &["helm.sh/docs/intro/install", "--helm", "The rest of the stage waits for it: linkerd-crds"],
    );
}

/// A repository with nothing but the CNI plugin of a release, and all releases up to `newest`.
fn cni_alone(version: &str, newest: &str) -> Scene {
    let text = cni(version);
    let scene = Scene::new(&[("cni/cni.yaml", &text)]);
    let dates = [("edge-26.6.3", 20), ("edge-26.8.2", 21), ("edge-26.8.3", 22), ("edge-26.8.4", 23)];
    for (tag, day) in dates.into_iter().filter(|(tag, _)| *tag <= newest) {
        scene.feed.publish(release(tag, &format!("2026-08-{day}T09:00:00Z")).charts(&["linkerd2-cni"]));
    }
    scene.feed.serve_packages(CHARTS.packages());
    scene
}

fn cni(version: &str) -> String {
    let bench = Bench::new(&CHARTS.url());
    bench.helm().render(&[job("linkerd2-cni", version, "{}")]).remove(0).unwrap().to_string()
}

#[test]
fn a_release_that_no_object_names_moves_where_its_chart_gives_something_else() {
    let scene = cni_alone("2026.6.3", "edge-26.8.3");
    run(&scene);
    let pull = scene.only_pull();
    // 2026.8.2 gives the same, and is the newest that does.
    assert_eq!(pull.title, "Linkerd edge-26.8.2 → edge-26.8.3 (default, platform)");
    assert!(!pull.body.unwrap().starts_with("**Blocked"), "what it names is no release");
    assert_eq!(scene.repo.read(PLATFORM, "cni/cni.yaml").unwrap(), cni("2026.8.3"));
    let tip = scene.repo.tip(PLATFORM);
    run(&scene);
    assert_eq!(scene.repo.tip(PLATFORM), tip);

    let scene = cni_alone("2026.8.3", "edge-26.8.4");
    let _ = with_helm(scene.run()).done().exits(0).prints(&["up to date at edge-26.8.4"]);
    assert!(scene.github.pulls(REPO).is_empty());
}

/// Verifies a repository with these files where no host can be reached.
fn verified(files: &[(&str, &str)], more: &[&str]) -> Done {
    let home = Home::new();
    let folder = home.path().join("mesh.git");
    BareRepo::with_files(folder.clone(), "main", files);
    let run = home.run(["verify", "--charts-url", "https://127.0.0.1:1/index.yaml"]);
    run.args(more).arg(&folder).done()
}

#[test]
fn verify_of_versions_alone_needs_no_network() {
    let _ = verified(MESH, &[]).exits(0).prints(&["2 charts and 1 proxy pin go together"]);
}

#[test]
fn verify_names_an_upgrade_that_was_done_by_half() {
    let moved = CONTROL_PLANE.replace("2026.8.2", "2026.8.3");
    let half: Vec<(&str, &str)> = MESH
        .iter()
        .map(|(path, text)| (*path, if *text == CONTROL_PLANE { moved.as_str() } else { *text }))
        .collect();
    let words = "linkerd-crds is of edge-26.8.2 and the control plane beside it of edge-26.8.3";
    let _ = verified(&half, &[]).exits(4).prints(&["block half-done: linkerd/crds.yaml:", words]);
    let report = verified(&half, &["--format", "json"]).exits(4).json();
    assert_eq!((report["deployed"].as_u64(), report["proxies"].as_u64()), (Some(2), Some(1)));
    assert_eq!(
        (report["findings"][0]["severity"].as_str(), report["findings"][0]["place"]["path"].as_str()),
        (Some("block"), Some("linkerd/crds.yaml"))
    );
    let _ = verified(&half, &["--format", "markdown"]).exits(4).prints(&["- block half-done: "]);
    // What runs in a cluster does not depend on targets.
    let apart = "version: 1\ntargets:\n- {name: plane, paths: [linkerd/control-plane.yaml]}\n- {name: apps, paths: [apps]}\n";
    let half: Vec<(&str, &str)> = half.into_iter().chain([("uplinker.yaml", apart)]).collect();
    let _ = verified(&half, &[]).exits(4).prints(&["block half-done: linkerd/crds.yaml:", words]);
}

#[test]
fn verify_names_proxies_that_are_ahead() {
    let ahead = mesh_and(&[(
        "apps/new.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: new\n  annotations:\n    \
         linkerd.io/inject: enabled\n    config.linkerd.io/proxy-version: edge-26.8.3\n",
    )]);
    let _ = verified(&ahead, &[])
        .exits(4)
        .prints(&["apps/new.yaml:7", "ahead of the control plane, edge-26.8.2"]);
}

/// Merges the open pull request, so many seconds after the last.
fn merge(scene: &Scene, number: u64, at: i64) {
    scene.repo.set_clock(at);
    scene.github.merge(REPO, number, Merge::Squash, "ada", true);
}

#[test]
fn committed_manifests_go_back_byte_for_byte_and_keep_what_came_since() {
    // The definitions stay out of it: those of the next release are stored otherwise.
    let files = COMMITTED.iter().filter(|(path, _)| !path.ends_with("crds.yaml"));
    let files: Vec<(&str, &str)> = files.map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let scene = Scene::new(&files);
    scene.feed.serve_packages(CHARTS.packages());
    let of_old = scene.repo.files("main");
    run(&scene);
    merge(&scene, 1, 1_790_000_000);
    let viz = "mesh/linkerd-viz.yaml";
    let text = scene.repo.read("main", viz).unwrap();
    let since = text.replacen("replicas: 1", "replicas: 2 # by hand", 1);
    assert_ne!(text, since);
    scene.repo.commit("main", &ADA, "Two of them", &[put(viz, &since)]);

    let back = with_helm(scene.command("rollback")).done().exits(0);
    assert!(back.stdout.contains("Roll back Linkerd edge-26.8.3 → edge-26.8.2"), "{back}");
    for (path, old) in &of_old {
        let old = String::from_utf8(old.clone()).unwrap();
        let wanted = if path == viz { old.replacen("replicas: 1", "replicas: 2 # by hand", 1) } else { old };
        assert_eq!(scene.repo.read(PLATFORM, path).as_deref(), Some(wanted.as_str()), "{path}");
    }
    let body = scene.github.pull(REPO, 2).body.unwrap();
    assert!(body.contains("This takes `edge-26.8.3` back") && body.contains("as committed"), "{body}");
    scene.requests();
    run(&scene);
    assert_eq!(writes(&scene), Vec::<String>::new());
}

#[test]
fn what_would_lose_stored_objects_is_not_taken_back() {
    let scene = scene(&[], "edge-26.8.3");
    run(&scene);
    merge(&scene, 1, 1_790_000_000);
    let back = with_helm(scene.command("rollback")).done().exits(4);
    let words = "block crd-stored-version: mesh/linkerd-crds.yaml";
    assert!(back.stdout.contains(words), "{back}");
    assert_eq!(scene.github.pulls(REPO).len(), 1);
}

//! The situations: each makes a repository and releases, lets the program run, and returns the body.

use super::{
    files::*,
    world::{CACHE, body, committed, published, received, run, scene},
};
use crate::support::{
    feed::Published,
    github::{Level, Merge, Status, Token},
    helm::helm,
    process::scrub,
    repo::{ADA, put},
    scene::{PLATFORM, REPO, Scene, TOKEN},
};

const CONFIG: &str = "version: 1\ntargets:\n  - name: production\n    paths: [\"**\"]\n";

fn made(files: &Files, releases: &[Published]) -> Scene {
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
    scene(&files, releases)
}

fn same(run: crate::support::process::Run) -> crate::support::process::Run {
    run
}

/// The releases with charts, each with notes.
fn releases(numbers: &[&str]) -> Vec<Published> {
    let known: [(&str, &str, &[&str]); 8] = [
        ("26.6.3", "2026-06-18", &["feat(policy): add the first of many things 15301"]),
        ("26.8.2", "2026-08-08", &["fix(proxy): keep the connection when a pod is drained 15501"]),
        (
            "26.8.3",
            "2026-08-15",
            &[
                "feat(policy): store Servers as v1beta3 15520",
                "fix(destination): answer for endpoints without ports 15523",
                "build(deps): bump tokio from 1.47.0 to 1.47.1 15524",
                "build(deps): bump serde from 1.0.227 to 1.0.228 15525",
                "chore(ci): run the tests of the policy controller on arm64 15526",
            ],
        ),
        ("26.8.4", "2026-08-20", &["feat(policy): check EgressNetworks when they are written 15540"]),
        (
            "26.8.5",
            "2026-08-27",
            &[
                "fix(viz): ask for one more second before the job is given up 15551",
                "build(deps): bump the kube crates 15553",
                "docs: say which ports the dashboard needs 15554",
            ],
        ),
        ("26.8.6", "2026-09-02", &["feat(policy): spell out the schema of Servers 15561"]),
        ("26.8.7", "2026-09-05", &["feat(policy): bound the fields of Servers 15563"]),
        (
            "26.9.1",
            "2026-09-10",
            &[
                "feat(policy)!: remove the HTTPRoute of policy.linkerd.io 15570",
                "feat(webhooks)!: fail closed by default 15571",
            ],
        ),
    ];
    let wanted = known.into_iter().filter(|(number, ..)| numbers.contains(number));
    wanted.map(|(number, day, changes)| published(number, day, changes)).collect()
}

pub fn one_step_bump() -> String {
    let files = and(flux_cluster("2026.8.4"), &[("uplinker.yaml", CONFIG)]);
    body(&made(&files, &releases(&["26.8.4", "26.8.5"])), 1, same)
}

pub fn nothing_but_the_version() -> String {
    let files = without(flux_cluster("2026.8.4"), "infrastructure/linkerd/viz.yaml");
    let files = and(files, &[("uplinker.yaml", CONFIG)]);
    body(&made(&files, &releases(&["26.8.4", "26.8.5"])), 1, same)
}

/// What a repository gets that nobody configured, and that pins the proxies of a workload too.
pub fn first_pull_request() -> String {
    let web = workload("Deployment", "web", "edge-26.8.2", Some(2), None);
    let files = and(flux_cluster("2026.8.2"), &[("apps/web.yaml", &web)]);
    body(&made(&files, &releases(&["26.8.2", "26.8.3"])), 1, same)
}

pub fn twenty_releases_at_once() -> String {
    let between = [
        ("26.6.4", "2026-06-25"),
        ("26.7.1", "2026-07-02"),
        ("26.7.2", "2026-07-04"),
        ("26.7.3", "2026-07-07"),
        ("26.7.4", "2026-07-09"),
        ("26.7.5", "2026-07-11"),
        ("26.7.6", "2026-07-14"),
        ("26.7.7", "2026-07-16"),
        ("26.7.8", "2026-07-18"),
        ("26.7.9", "2026-07-21"),
        ("26.7.10", "2026-07-23"),
        ("26.7.11", "2026-07-25"),
        ("26.7.12", "2026-07-28"),
        ("26.7.13", "2026-07-30"),
        ("26.7.14", "2026-07-31"),
        ("26.7.15", "2026-08-01"),
        ("26.7.16", "2026-08-02"),
        ("26.8.1", "2026-08-04"),
    ];
    let mut all = releases(&["26.6.3", "26.8.2", "26.8.3"]);
    for (n, (number, day)) in between.into_iter().enumerate() {
        let pull = 15_400 + 4 * n;
        let changes = [
            format!("fix(destination): answer in time for cluster {n} {pull}"),
            format!("build(deps): bump hyper from 1.{n}.0 to 1.{}.0 {}", n + 1, pull + 1),
            format!("test: cover case {n} of the injector {}", pull + 2),
        ];
        let mut changes: Vec<&str> = changes.iter().map(String::as_str).collect();
        if number == "26.7.1" {
            changes.push("fix(policy)!: refuse ports that a Service does not declare, also with a ServiceProfile 15473");
        }
        if number == "26.7.9" {
            changes.push("feat(injector)!: name the containers' ports by what they serve 15488");
        }
        all.push(published(number, day, &changes));
    }
    let files =
        and(flux_cluster("2026.6.3"), &[("apps/cart/profile.yaml", PROFILE), ("uplinker.yaml", CONFIG)]);
    body(&made(&files, &all), 1, same)
}

pub fn blocked() -> String {
    let files = and(flux_cluster("2026.8.4"), &[("apps/cart/route.yaml", ROUTE), ("uplinker.yaml", CONFIG)]);
    body(&made(&files, &releases(&["26.8.4", "26.9.1"])), 1, same)
}

pub fn many_origins() -> String {
    body(&made(&super::files::many_origins(), &releases(&["26.6.3", "26.8.2", "26.8.3", "26.8.4"])), 1, same)
}

pub fn huge_crd_change() -> String {
    let path = "infrastructure/linkerd/crds.yaml";
    let files =
        flux_cluster("2026.8.6").into_iter().filter(|(p, _)| p == path || p.ends_with("sources.yaml"));
    body(&made(&files.collect(), &releases(&["26.8.6", "26.8.7"])), 1, same)
}

/// Nothing goes there by itself; somebody asks for it.
pub fn advised_against() -> String {
    let mut all = releases(&["26.8.2"]);
    all.push(published(
        "26.8.3",
        "2026-08-15",
        &["fix(destination): answer for endpoints without ports 15523"],
    ));
    let notes = "_This release is **not recommended**: the destination controller leaks memory; use \
        [edge-26.8.4](https://github.com/linkerd/linkerd2/releases/tag/edge-26.8.4) instead._\n\n## What's Changed\n* fix(destination): answer for endpoints without ports by @someone in \
        https://github.com/linkerd/linkerd2/pull/15523\n";
    let last = all.pop().expect("a release").notes(notes);
    all.push(last);
    let files = and(flux_cluster("2026.8.2"), &[("uplinker.yaml", CONFIG)]);
    body(&made(&files, &all), 1, |run| run.args(["--to", "edge-26.8.3"]))
}

pub fn required_stop() -> String {
    let mut all = releases(&["26.8.2", "26.8.3"]);
    all.push(published("25.2.1", "2025-02-06", &["fix(proxy): close idle connections 13601"]));
    all.push(published("25.7.6", "2025-07-31", &["feat(crds): keep the Gateway API CRDs 14201"]));
    let files = without(flux_cluster("2025.2.1"), "infrastructure/linkerd/viz.yaml");
    let files = and(files, &[("uplinker.yaml", CONFIG)]);
    body(&made(&files, &all), 1, same)
}

pub fn umbrella_chart() -> String {
    body(&made(&umbrella("2026.8.2"), &releases(&["26.8.2", "26.8.3"])), 1, same)
}

/// The first one was closed by a person; a newer release is out since.
pub fn declined_earlier() -> String {
    let files = and(flux_cluster("2026.8.2"), &[("uplinker.yaml", CONFIG)]);
    let scene = made(&files, &releases(&["26.8.2", "26.8.3"]));
    run(&scene, same);
    scene.github.close(REPO, 1, "ada");
    run(&scene, same);
    releases(&["26.8.4"]).into_iter().for_each(|release| scene.feed.publish(release));
    body(&scene, 2, same)
}

/// Files below a folder of their own.
fn below(folder: &str, files: Files) -> Files {
    files.into_iter().map(|(path, text)| (format!("{folder}/{path}"), text)).collect()
}

/// Flux says something of the commits of the base branch, as its notification controller does.
fn flux_says(scene: &Scene, context: &str, state: &str, description: &str, at: i64) {
    let token = Token::actions().having("checks", Level::Read).having("deployments", Level::Read);
    scene.github.token(TOKEN, token.having("issues", Level::Write));
    let sha = scene.repo.tip("main").expect("main").to_string();
    scene.github.settings(REPO, |repo| {
        repo.statuses.push(Status {
            id: 7,
            sha,
            state: state.to_owned(),
            context: context.to_owned(),
            description: Some(description.to_owned()),
            target_url: None,
            creator: "flux".to_owned(),
            at,
        });
    });
}

const ENVIRONMENTS: &str = "version: 1\ngates:\n  active: [\"kustomization/linkerd/*\"]\ntargets:\n  - {name: staging, \
                            paths: [staging]}\n  - name: production\n    paths: [production]\n    after: {target: \
                            staging, soak: 3d}\n";

/// Two environments, of which staging has had its release since the first of August.
fn environments(config: &str, staging: &str, production: &str, releases: &[Published]) -> Scene {
    let mut files = below("staging", flux_cluster(staging));
    files.extend(below("production", flux_cluster(production)));
    made(&and(files, &[("uplinker.yaml", config)]), releases)
}

/// Staging has run it, and Flux has said that it works there.
pub fn promotion() -> String {
    let scene = environments(ENVIRONMENTS, "2026.8.3", "2026.8.2", &releases(&["26.8.2", "26.8.3"]));
    let said = "reconciliation succeeded";
    flux_says(&scene, "kustomization/linkerd/0c9c2e41", "success", said, 1_786_000_000);
    body(&scene, 1, same)
}

/// What a run leaves on the page of its workflow where staging does not work: nothing goes on to production.
pub fn held_target() -> String {
    let scene = environments(ENVIRONMENTS, "2026.8.3", "2026.8.2", &releases(&["26.8.2", "26.8.3"]));
    let said =
        "health check failed after 5m0s: timeout waiting for Deployment/linkerd/linkerd-proxy-injector";
    flux_says(&scene, "kustomization/linkerd/0c9c2e41", "failure", said, 1_786_000_000);
    let run = scene.command("run").args(["--format", "markdown"]);
    let run = run.env("UPLINKER_HELM", helm()).env("XDG_CACHE_HOME", CACHE.path());
    let page = run.done().exits(0).stdout;
    // The first line names the repository, by an address that is another one each time.
    scrub(page.split_once("\n\n").expect("a heading").1, &[])
}

/// One environment has something open, the next one waits for it to work, and a third is where it should be.
pub fn overview_issue() -> String {
    let config =
        ENVIRONMENTS.to_owned() + "  - {name: lab, paths: [lab]}\noverview: issue\ndataPlane: {after: 1d}\n";
    let mut files = below("staging", flux_cluster("2026.8.3"));
    files.extend(below("production", flux_cluster("2026.8.2")));
    files.extend(below("lab", flux_cluster("2026.8.4")));
    let web = |release: &str| workload("Deployment", "web", release, Some(3), None);
    let more = [
        ("uplinker.yaml", config),
        ("staging/apps/web.yaml", web("edge-26.8.3")),
        ("production/apps/web.yaml", web("edge-26.8.2")),
    ];
    let more: Vec<(&str, &str)> = more.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let scene = made(&and(files, &more), &releases(&["26.8.2", "26.8.3", "26.8.4"]));
    let said = "health check failed after 5m0s";
    flux_says(&scene, "kustomization/linkerd/0c9c2e41", "failure", said, 1_786_000_000);
    run(&scene, same);
    let mut text = None;
    scene
        .github
        .settings(REPO, |repo| text = repo.board.issues.values().next().map(|issue| issue.body.clone()));
    let text = text.expect("an overview");
    let (text, seen) = text.split_once("<!-- uplinker:overview ").expect("what it was written for");
    assert_eq!(seen.trim_end().len(), 64 + " -->".len());
    scrub(text, &[])
}

/// The proxies of the first wave have run the release for two days, and what applies them says that they work.
pub fn wave() -> String {
    let config = "version: 1\ngates:\n  active: [\"kustomization/apps/*\"]\ndataPlane:\n  waves:\n    - {name: canary, \
                  namespaces: [\"canary-*\"], soak: 2d}\n    - {name: batch, labels: [tier=batch]}\ntargets:\n  - {name: \
                  production, paths: [\"**\"]}\n";
    let (old, new) = ("edge-26.8.4", "edge-26.8.5");
    let batch = |name: &str, replicas: u32, strategy: Option<&str>| {
        let text = workload("Deployment", name, old, Some(replicas), strategy);
        text.replace(
            &format!("app: {name}\n      annotations"),
            &format!("app: {name}\n        tier: batch\n      annotations"),
        )
    };
    let canary = workload("Deployment", "web", old, Some(2), None)
        .replace("namespace: shop", "namespace: canary-shop");
    let pages = [
        ("apps/canary/web.yaml", canary.clone()),
        ("apps/ledger/deployment.yaml", batch("ledger", 1, Some("Recreate"))),
        ("apps/reports/deployment.yaml", batch("reports", 2, None)),
        ("apps/web/deployment.yaml", workload("Deployment", "web", old, Some(6), None)),
        ("uplinker.yaml", config.to_owned()),
    ];
    let pages: Vec<(&str, &str)> = pages.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let scene = made(&and(flux_cluster("2026.8.5"), &pages), &releases(&["26.8.4", "26.8.5"]));
    scene.repo.set_clock(1_788_000_000);
    let moved = canary.replace(old, new);
    scene.repo.commit("main", &ADA, "The canary first", &[put("apps/canary/web.yaml", &moved)]);
    let said = "reconciliation succeeded";
    flux_says(&scene, "kustomization/apps/0c9c2e41", "success", said, 1_788_000_300);
    body(&scene, 1, same)
}

/// What was merged three days ago is taken back.
pub fn rollback() -> String {
    let files = and(flux_cluster("2026.8.4"), &[("uplinker.yaml", CONFIG)]);
    let scene = made(&files, &releases(&["26.8.4", "26.8.5"]));
    run(&scene, same);
    scene.repo.set_clock(1_790_000_000);
    scene.github.merge(REPO, 1, Merge::Squash, "ada", true);
    let back = scene.command("rollback").env("UPLINKER_HELM", helm()).env("XDG_CACHE_HOME", CACHE.path());
    let _ = back.done().exits(0);
    received(&scene, 2)
}

/// The control plane is at the release; the proxies follow.
pub fn data_plane() -> String {
    let old = "edge-26.8.4";
    let cart = workload("Deployment", "cart", old, Some(3), Some("RollingUpdate"));
    let pages = [
        ("apps/cart/deployment.yaml", cart),
        ("apps/mail/deployment.yaml", workload("Deployment", "mail", old, Some(1), Some("Recreate"))),
        ("apps/search/deployment.yaml", workload("Deployment", "search", old, None, None)),
        ("apps/ledger/statefulset.yaml", workload("StatefulSet", "ledger", old, Some(3), Some("OnDelete"))),
        ("apps/agent/daemonset.yaml", workload("DaemonSet", "agent", old, None, None)),
        ("apps/shop/namespace.yaml", namespace("shop", old)),
        ("apps/legacy/namespace.yaml", namespace("legacy", "stable-2.14.10")),
        ("uplinker.yaml", CONFIG.to_owned()),
    ];
    let pages: Vec<(&str, &str)> = pages.iter().map(|(path, text)| (*path, text.as_str())).collect();
    body(&made(&and(flux_cluster("2026.8.5"), &pages), &releases(&["26.8.4", "26.8.5"])), 1, same)
}

pub fn rendered_manifests() -> String {
    let makefile = "render:\n\thelm template linkerd-viz linkerd-edge/linkerd-viz --version 2026.8.2 > mesh/linkerd-viz.yaml\n";
    let files = and(committed(), &[("Makefile", makefile)]);
    body(&made(&files, &releases(&["26.8.2", "26.8.3"])), 1, same)
}

/// Somebody scaled a Deployment in the committed manifest, which no values say; the configuration has such changes replaced.
pub fn changed_by_hand() -> String {
    let mut files = committed();
    let (_, plane) = files.iter_mut().find(|(path, _)| path.ends_with("control-plane.yaml")).expect("one");
    *plane = plane.replacen("replicas: 1", "replicas: 7", 1);
    files.push(("uplinker.yaml".to_owned(), "version: 1\ndrift: overwrite\n".to_owned()));
    body(&made(&files, &releases(&["26.8.2", "26.8.3"])), 1, same)
}

pub fn without_helm() -> String {
    let files = and(flux_cluster("2026.8.4"), &[("uplinker.yaml", CONFIG)]);
    body(&made(&files, &releases(&["26.8.4", "26.8.5"])), 1, |run| {
        run.env("UPLINKER_HELM", "").env("PATH", "/nonexistent")
    })
}

/// A person pushed to the branch, and a newer release came out.
pub fn kept_for_a_person() -> String {
    let files = without(flux_cluster("2026.8.4"), "infrastructure/linkerd/viz.yaml");
    let scene = made(&and(files, &[("uplinker.yaml", CONFIG)]), &releases(&["26.8.4", "26.8.5"]));
    run(&scene, same);
    let branch = PLATFORM.replace("default", "production");
    scene.repo.commit(&branch, &ADA, "By hand", &[put("docs/notes.md", "Checked on Monday.\n")]);
    releases(&["26.9.1"]).into_iter().for_each(|release| scene.feed.publish(release));
    body(&scene, 1, same)
}

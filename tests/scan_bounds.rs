//! Repositories that ask for more than they look like: a scan ends in time, and names what lies over a bound.

use serde_json::Value;
use uplinker::pins::{PinKind, ScanOptions, SkipReason, scan};
use uplinker::repo::{Entry, RepoPath};

use crate::support::{process::Home, repo::BareRepo, tree::MemoryTree};

/// A Deployment with a proxy pin and no namespace of its own.
const PINNED: &str = "kind: Deployment\nmetadata: {name: x}\nspec: {template: {metadata: {annotations: {config.linkerd.io/proxy-version: edge-26.8.2}}}}\n";

/// Scans a repository that asks for more than it looks like, in a process of its own, which may not compute for minutes as it
/// would with what is quadratic.
fn soon(name: &str, files: &[(String, String)], moving: usize) {
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let home = Home::new();
    let repo = BareRepo::with_files(home.path().join("repo.git"), "main", &files);
    let done = home.run(["pins", "--format", "json"]).arg(repo.path()).done();
    let report: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{name}: {done}"));
    let pins = report["pins"].as_array().unwrap();
    assert_eq!(pins.iter().filter(|pin| pin["moves"] == true).count(), moving, "{name}");
}

#[test]
fn kustomizations_that_list_each_other_are_followed_once() {
    let count = 400;
    let others: String = (0..count).map(|n| format!("- ../k{n}\n")).collect();
    let kustomization = |n: usize| format!("namespace: n{n}\nresources:\n- a.yaml\n{others}");
    let files = (0..count).flat_map(|n| {
        [(format!("k{n}/kustomization.yaml"), kustomization(n)), (format!("k{n}/a.yaml"), PINNED.to_owned())]
    });
    soon("dense", &files.collect::<Vec<_>>(), count);
}

#[test]
fn a_fleet_of_the_same_names_is_tied_in_time() {
    let release = |chart: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {chart}, namespace: linkerd}}\nspec: {{chart: {{spec: {{chart: {chart}, version: 2026.8.2, sourceRef: {{kind: HelmRepository, name: linkerd}}}}}}}}\n"
        )
    };
    let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: linkerd, namespace: linkerd}\nspec: {url: 'https://helm.linkerd.io/edge'}\n";
    let files = (0..2500).flat_map(|n| {
        let at = |name: &str| format!("c{n:05}/mesh/{name}.yaml");
        [
            (at("source"), source.to_owned()),
            (at("crds"), release("linkerd-crds")),
            (at("viz"), release("linkerd-viz")),
        ]
    });
    soon("fleet", &files.collect::<Vec<_>>(), 5000);
}

#[test]
fn one_file_of_very_many_pins_is_read_in_time() {
    let count = 20_000;
    let wide: String = (0..count)
        .map(|n| {
            format!("  a{n}: &a{n}\n    podAnnotations: {{config.linkerd.io/proxy-version: edge-26.8.2}}\n")
        })
        .collect();
    soon("wide", &[("values.yaml".to_owned(), format!("apps:\n{wide}"))], count);
    let image = r#"{"image":"cr.l5d.io/linkerd/proxy:edge-26.8.2"}"#;
    let line = format!("{{\"é\":[{}]}}", vec![image; count].join(","));
    soon("one line", &[("values.json".to_owned(), line)], count);
    soon(
        "marked lines",
        &[("Makefile".to_owned(), "v = edge-26.8.2 # uplinker: edge\n".repeat(count))],
        count,
    );
    let marked = format!("linkerd {}", "edge-26.8.2 <!-- uplinker: edge --> ".repeat(count));
    soon("marked line", &[("a.md".to_owned(), marked)], count);
    let twice = format!("a: 1\n{}", "linkerdVersion: edge-26.8.2\n".repeat(count));
    soon("one key", &[("values.yaml".to_owned(), twice)], 0);
}

#[test]
fn texts_in_texts_and_chains_of_merges_end() {
    let mut nested = PINNED.to_owned();
    for _ in 0..120 {
        let inner: String = nested.lines().map(|line| format!("     {line}\n")).collect();
        nested = format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: a}}\nspec:\n  patches:\n  - patch: |\n{inner}"
        );
    }
    soon("nested", &[("a.yaml".to_owned(), nested)], 0);
    let chain: String = (1..20_000).map(|n| format!("a{n}: &a{n} {{<<: *a{}}}\n", n - 1)).collect();
    soon("merges", &[("values.yaml".to_owned(), format!("a0: &a0 {{linkerd: 1}}\n{chain}"))], 0);
}

#[test]
fn charts_that_take_one_another_in_under_many_names_end() {
    let own: String = (0..60)
        .map(|n| format!("- {{name: mesh, alias: m{n}, version: 1.0.0, repository: 'file://.'}}\n"))
        .collect();
    let viz = "- {name: linkerd-viz, version: 2026.8.2, repository: 'https://helm.linkerd.io/edge'}\n";
    let chart = format!("apiVersion: v2\nname: mesh\nversion: 1.0.0\ndependencies:\n{own}{viz}");
    let values = "linkerdVersion: edge-26.8.2\n".to_owned();
    soon("aliases", &[("mesh/Chart.yaml".to_owned(), chart), ("mesh/values.yaml".to_owned(), values)], 1);
}

#[test]
fn texts_that_are_compared_in_turn_end() {
    let path = "path: /spec/chart/spec/version";
    let next = |n: usize| {
        let before = n - 1;
        format!(
            "    - {{op: replace, {path}, value: *v{before}}}\n    - {{op: test, {path}, value: &v{n} 2026.8.2}}\n"
        )
    };
    let patch = |count: usize| {
        let all: String = (1..count).map(next).collect();
        format!(
            "resources: [release.yaml]\npatches:\n- target: {{kind: HelmRelease}}\n  patch: |-\n    - {{op: test, {path}, value: &v0 2026.8.2}}\n{all}"
        )
    };
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: crds, namespace: linkerd}\nspec: {chart: {spec: {chart: linkerd-crds, version: 2026.8.2, sourceRef: {kind: HelmRepository, name: linkerd}}}}\n";
    // From both ends: what the release has in its file, and what the last of the patches gives it.
    for (count, moving) in [(3, 4), (2_000, 19)] {
        let files = [("kustomization.yaml", patch(count)), ("release.yaml", release.to_owned())];
        soon("guards", &files.map(|(path, text)| (path.to_owned(), text)), moving);
    }
}

/// An ApplicationSet of the control plane.
fn set(generator: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: mesh}}\nspec:\n  generators:\n  - {generator}\n  \
         template:\n    metadata: {{name: 'mesh-{{{{name}}}}'}}\n    spec:\n      source: {{repoURL: https://helm.linkerd.io/edge, chart: \
         linkerd-control-plane, targetRevision: '{{{{version}}}}'}}\n      destination: {{name: '{{{{name}}}}'}}\n"
    )
}

#[test]
fn what_lies_over_a_bound_is_named_and_its_releases_are_listed() {
    let list = |version: &str| format!("list: {{elements: [{{name: a, version: {version}}}]}}");
    let nested = (0..4).fold(list("2026.8.2"), |inner, _| {
        format!("matrix: {{generators: [{{{inner}}}, {{list: {{elements: [{{x: y}}]}}}}]}}")
    });
    let text = set(&format!("{nested}\n  - {}", list("2026.8.1")));
    let found = scan(&MemoryTree::new([("set.yaml", text.as_bytes())]), &ScanOptions::default()).unwrap();
    let [skip] = &found.skipped[..] else { panic!("{:?}", found.skipped) };
    let detail = "more than 3 levels: the rest is not looked at";
    assert_eq!((skip.reason, skip.detail.as_deref()), (SkipReason::TooLarge, Some(detail)));
    let pins: Vec<_> = found.pins.iter().map(|pin| (pin.kind, pin.value.as_str())).collect();
    assert_eq!(pins, [(PinKind::Other, "2026.8.2"), (PinKind::ArgoGenerator, "2026.8.1")]);
}

#[test]
fn a_file_that_a_generator_asks_for_and_that_is_no_yaml_is_named() {
    let text =
        set("git: {repoURL: https://x.test/r.git, revision: HEAD, files: [{path: 'clusters/*.yaml'}]}");
    let files = [
        ("set.yaml", text.as_str()),
        ("clusters/a.yaml", "name: a\nversion: 2026.8.2\n"),
        ("clusters/b.yaml", "name: [b\nversion: 2026.8.1\n"),
        ("clusters/c.yaml", "name: [c\n"),
    ];
    let files = files.map(|(path, text)| (path, text.as_bytes()));
    let found = scan(&MemoryTree::new(files), &ScanOptions::default()).unwrap();
    let skipped: Vec<_> = found.skipped.iter().map(|s| (s.path.as_str(), s.reason)).collect();
    assert_eq!(skipped, [("clusters/b.yaml", SkipReason::Syntax)]);
}

#[test]
fn one_blob_at_very_many_paths_is_judged_once_and_not_read_for_ever() {
    let mut tree = MemoryTree::new([("0.txt", &[b"linkerd\n".as_slice(), &[b'x'; 1 << 20]].concat())]);
    let first = tree.entries[0].clone();
    let at = |n: usize| Entry { path: RepoPath::new(format!("{n:05}.txt")).unwrap(), ..first.clone() };
    tree.entries = (0..200).map(at).collect();
    assert_eq!(scan(&tree, &ScanOptions::default()).unwrap().pins.len(), 0);
    tree.entries = (0..100_000).map(at).collect();
    let refused = scan(&tree, &ScanOptions::default()).unwrap_err();
    assert!(refused.to_string().contains("together"), "{refused}");
}

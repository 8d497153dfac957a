//! Scans whole repositories of many shapes and compares every pin and every skip with what is written beside them.
//!
//! `tests/scan/<name>/before` is a repository, `expected.json` what a scan must find there; `other` pins are not listed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::support::{
    expected,
    git_server::hermetic_git,
    tree::{MemoryTree, scanned, told},
};
use proptest::prelude::*;
use serde_json::{Value, json};
use uplinker::pins::{Inventory, PinKind, Reason, ScanOptions, SkipReason, TagFilter, scan};
use uplinker::repo::{CommitId, GitTree, Mode, Tree};

pub fn repositories() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scan");
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    found.sort();
    found
}

fn described(inventory: &Inventory) -> Value {
    let pins: Vec<Value> = inventory
        .pins()
        .filter(|p| p.kind != PinKind::Other)
        .map(|p| {
            let place = format!("{}:{}:{}", p.path, p.site.line, p.site.column);
            let moves = if p.is_off { "moves, off" } else { "moves" };
            let fate = p.stays.map_or(json!(moves), |reason| json!(reason));
            let also = p.also.iter().map(|reader| reader.chart.as_deref().unwrap_or("proxies"));
            let kept_by = p.kept_by.iter().map(|(path, line)| format!("by {path}:{line}"));
            let more = also.map(str::to_owned).chain(kept_by).collect::<Vec<_>>().join(", ");
            match more.is_empty() {
                true => json!([place, p.kind, p.stage, p.value, fate]),
                false => json!([place, p.kind, p.stage, p.value, fate, more]),
            }
        })
        .collect();
    let skipped: Vec<Value> = inventory.skipped.iter().map(|s| json!([s.path, s.reason])).collect();
    json!({ "pins": pins, "skipped": skipped })
}

#[test]
fn every_repository_gives_its_pins() {
    let repositories = repositories();
    assert!(repositories.len() >= 6);
    for repository in repositories {
        let tree = MemoryTree::read(&repository.join("before"));
        let found = described(&scan(&tree, &ScanOptions::default()).unwrap());
        expected::json(&repository.join("expected.json"), &found);
    }
}

#[test]
fn the_range_of_a_provider_is_told_once() {
    let tree = MemoryTree::read(Path::new("tests/scan/range-of-a-provider/before"));
    let found = scan(&tree, &ScanOptions::default()).unwrap();
    let told: Vec<_> = found.pins().map(|pin| (pin.kind, pin.value.as_str())).collect();
    assert_eq!(told, [(PinKind::Variable, ">=2026.8.1")]);
}

#[test]
fn a_value_is_given_to_the_dependency_of_its_alias() {
    let dependency = |alias: &str, version: &str| {
        let repository = "https://helm.linkerd.io/edge";
        format!("- {{name: linkerd-viz, alias: {alias}, version: {version}, repository: '{repository}'}}\n")
    };
    let (one, two) = (dependency("dash", "2026.8.1"), dependency("next", "2026.8.2"));
    let chart = format!("apiVersion: v2\nname: mesh\nversion: 0.1.0\ndependencies:\n{one}{two}");
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: mesh, namespace: mesh}\n\
                   spec: {chart: {spec: {chart: ./mesh, sourceRef: {kind: GitRepository, name: flux-system}}}}\n";
    let tree = MemoryTree::new([
        ("release.yaml", release),
        ("mesh/Chart.yaml", chart.as_str()),
        ("mesh/values.yaml", "dash: {linkerdVersion: edge-26.8.1}\nnext: {linkerdVersion: edge-26.8.2}\n"),
    ]);
    let found = scan(&tree, &ScanOptions::default()).unwrap();
    let values = found.pins.iter().filter(|pin| pin.kind == PinKind::HelmValues);
    let given: Vec<String> = values
        .flat_map(|pin| {
            pin.given_to.iter().map(move |(path, line)| format!("{} {path}:{line}", pin.site.line))
        })
        .collect();
    assert_eq!(given, ["1 mesh/Chart.yaml:5", "2 mesh/Chart.yaml:6"]);
}

#[test]
fn a_template_of_a_chart_has_no_syntax_error_and_other_text_with_braces_may() {
    let broken: &[u8] = b"linkerd: {{ .Values.x }}\nimage: [\n";
    let files =
        [("a/Chart.yaml", b"name: a\n".as_slice()), ("a/templates/b.yaml", broken), ("c.yaml", broken)];
    let skipped = scan(&MemoryTree::new(files), &ScanOptions::default()).unwrap().skipped;
    let told: Vec<_> = skipped.iter().map(|s| (s.path.as_str(), s.reason, s.detail.is_some())).collect();
    let template = SkipReason::HelmTemplate;
    assert_eq!(told, [("a/templates/b.yaml", template, false), ("c.yaml", template, true)]);
}

#[test]
fn a_tag_in_a_file_of_no_kind_is_told_whatever_else_is_in_it() {
    let tree = MemoryTree::new([
        ("configs/install", "{\"cliVersion\":\"edge-26.8.2\",\"flags\":[]}\n"),
        ("configs/other", "version=2026.8.2\n"),
    ]);
    let found = scan(&tree, &ScanOptions::default()).unwrap();
    let told: Vec<_> = found.pins.iter().map(|p| (p.path.as_str(), p.kind, p.value.as_str())).collect();
    assert_eq!(told, [("configs/install", PinKind::Other, "edge-26.8.2")], "the other may be of anything");
}

#[test]
fn the_lock_of_a_helmfile_that_is_not_here_is_told() {
    let lock = "dependencies:\n- name: linkerd-crds\n  repository: https://helm.linkerd.io/edge\n  version: 2026.8.2\n";
    let found = scan(&MemoryTree::new([("helmfile.lock", lock)]), &ScanOptions::default()).unwrap();
    let told: Vec<_> = found.pins.iter().map(|p| (p.path.as_str(), p.kind)).collect();
    assert_eq!(told, [("helmfile.lock", PinKind::Other)]);
}

#[test]
fn what_is_locked_for_a_version_and_for_a_range_is_known_of_both() {
    let release = |name: &str, version: &str| {
        format!("- {{name: {name}, chart: l5d/linkerd-viz, version: {version}}}\n")
    };
    let (one, other) = (release("a", "2026.8.2"), release("b", "~2026.7.0 || ~2026.8.0"));
    let edge = "https://helm.linkerd.io/edge";
    let helmfile = format!("repositories:\n- {{name: l5d, url: {edge}}}\nreleases:\n{one}{other}");
    let entry = "- {name: linkerd-viz, version: 2026.8.2}\n";
    let lock = format!("dependencies:\n{entry}{entry}");
    let tree = MemoryTree::new([("helmfile.yaml", helmfile), ("helmfile.lock", lock)]);
    let found = scan(&tree, &ScanOptions::default()).unwrap();
    let lines =
        |pin: &uplinker::pins::Pin| -> Vec<usize> { pin.read_at.iter().map(|(_, line)| *line).collect() };
    let read: Vec<_> = found.pins().map(lines).collect();
    assert_eq!(read, [vec![5], vec![5], vec![2, 3], vec![]], "the lock, then the helmfile");
}

#[test]
fn what_chooses_the_images_of_controllers_is_known_in_every_layer() {
    let chosen = |path: &str, text: String| -> Vec<bool> {
        let found = scan(&MemoryTree::new([(path, text.as_str())]), &ScanOptions::default()).unwrap();
        found.pins().filter(|pin| pin.value == "edge-26.8.1").map(|pin| pin.chooses_controllers).collect()
    };
    let edge = "https://helm.linkerd.io/edge";
    for (key, runs) in [("controllerImageVersion", true), ("proxy.image.version", false)] {
        let application = format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: cp}}\nspec:\n  destination: {{namespace: linkerd}}\n  \
             source:\n    repoURL: {edge}\n    chart: linkerd-control-plane\n    targetRevision: 2026.8.1\n    \
             helm: {{parameters: [{{name: {key}, value: edge-26.8.1}}]}}\n"
        );
        let terraform = format!(
            "resource \"helm_release\" \"cp\" {{\n  name = \"cp\"\n  repository = \"{edge}\"\n  chart = \"linkerd-control-plane\"\n  \
             version = \"2026.8.1\"\n  set = [{{ name = \"{key}\", value = \"edge-26.8.1\" }}]\n}}\n"
        );
        let helmfile = format!(
            "repositories: [{{name: l5d, url: \"{edge}\"}}]\nreleases:\n  - name: cp\n    chart: l5d/linkerd-control-plane\n    \
             version: 2026.8.1\n    set: [{{name: {key}, value: edge-26.8.1}}]\n"
        );
        for (path, text) in [("a.yaml", application), ("main.tf", terraform), ("helmfile.yaml", helmfile)] {
            assert_eq!(chosen(path, text), [runs], "{path}: {key}");
        }
    }
    for (image, runs) in [("controller", true), ("proxy", false)] {
        let kustomization = format!(
            "helmCharts: [{{name: linkerd-control-plane, repo: \"{edge}\", version: 2026.8.1}}]\n\
             images: [{{name: cr.l5d.io/linkerd/{image}, newTag: edge-26.8.1}}]\n"
        );
        assert_eq!(chosen("kustomization.yaml", kustomization), [runs], "{image}");
    }
}

#[test]
fn a_layer_that_is_held_chooses_nothing_where_another_one_is_laid_over_it() {
    let unread = |hold: &str, parameters: &str| -> Vec<String> {
        let application = format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: cp}}\nspec:\n  destination: {{namespace: linkerd}}\n  \
             sources:\n  - repoURL: https://helm.linkerd.io/edge\n    chart: linkerd-control-plane\n    targetRevision: 2026.8.2{hold}\n    \
             helm:\n      valueFiles: [$here/base.yaml, $here/east.yaml]\n      parameters: {parameters}\n  \
             - {{repoURL: https://git.example.com/config.git, ref: here}}\n"
        );
        let tree = MemoryTree::new([
            ("app.yaml", application.as_str()),
            ("base.yaml", "linkerdVersion: edge-26.8.2\n"),
            ("east.yaml", "linkerdVersion: edge-26.8.1 # uplinker: hold\n"),
        ]);
        let found = scan(&tree, &ScanOptions::default()).unwrap();
        found.pins().filter(|pin| pin.is_off).map(|pin| pin.path.to_string()).collect()
    };
    let over = "[{name: linkerdVersion, value: edge-26.8.2}]";
    assert_eq!(unread("", "[]"), ["base.yaml"]);
    assert_eq!(unread("", over), ["base.yaml", "east.yaml"]);
    assert_eq!(unread(" # uplinker: hold", over), ["base.yaml", "east.yaml"], "also where the chart stays");
}

#[test]
fn a_value_stays_where_its_chart_no_longer_reads_it_and_goes_with_it_before() {
    let release = |channel: &str, version: &str, tag: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {{name: edge, namespace: linkerd}}\nspec: \
             {{url: 'https://helm.linkerd.io/{channel}'}}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: \
             {{name: cp, namespace: linkerd}}\nspec:\n  chart:\n    spec:\n      chart: linkerd-control-plane\n      version: \
             {version}\n      sourceRef: {{kind: HelmRepository, name: edge}}\n  values:\n    policyController: {{image: \
             {{version: {tag}}}}}\n"
        )
    };
    let fates_of = |release: String, tag: &str| {
        let found = scan(&MemoryTree::new([("cp.yaml", release)]), &ScanOptions::default()).unwrap();
        let value = found.pins.iter().find(|pin| pin.value == tag).unwrap();
        ["edge-25.7.6", "edge-25.8.3"].map(|to| value.stays_at(to.parse().unwrap()))
    };
    let fates = |behind: &str| {
        let tag = "edge-25.2.3";
        fates_of(release("edge", &format!("2025.2.3{behind}"), tag), tag)
    };
    assert_eq!(fates(""), [None, Some(Reason::NoEffect)]);
    assert_eq!(fates(" # uplinker: hold"), [Some(Reason::Held); 2], "its chart stays, and reads it");
    let dead = release("edge", "2026.8.2 # uplinker: hold", "edge-25.2.3");
    assert_eq!(fates_of(dead, "edge-25.2.3")[1], Some(Reason::NoEffect));
    let stable = release("stable", "1.16.11", "stable-2.14.10");
    assert_eq!(fates_of(stable, "stable-2.14.10"), [Some(Reason::Channel); 2]);
}

#[test]
fn the_image_of_the_policy_controller_goes_with_the_releases_that_have_it() {
    let overlay = "helmCharts:\n- {name: linkerd-control-plane, repo: 'https://helm.linkerd.io/edge', version: 2025.2.3, releaseName: \
                   cp}\nimages:\n- {name: cr.l5d.io/linkerd/policy-controller, newTag: edge-25.2.3}\n";
    let values = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a, namespace: a}\nspec:\n  chart: {spec: \
                  {chart: a, version: 1.0.0, sourceRef: {kind: HelmRepository, name: a}}}\n  values: {image: \
                  'cr.l5d.io/linkerd/policy-controller:edge-25.2.3'}\n";
    for (file, text) in [("mesh/kustomization.yaml", overlay), ("a.yaml", values)] {
        let found = scan(&MemoryTree::new([(file, text)]), &ScanOptions::default()).unwrap();
        let image = found.pins.iter().find(|pin| pin.value == "edge-25.2.3").unwrap();
        let fates = ["edge-25.7.6", "edge-25.8.3"].map(|to| image.stays_at(to.parse().unwrap()));
        assert_eq!(fates, [None, Some(Reason::NoEffect)], "{file}");
    }
}

#[test]
fn a_hold_that_holds_nothing_is_told_with_its_line() {
    let release = "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: linkerd-crds}\nspec:\n  # uplinker: hold\n  repo: \
                   https://helm.linkerd.io/edge\n  chart: linkerd-crds # uplinker : hold\n  version: 2026.8.2 # uplinker: hold\n";
    let found = scan(&MemoryTree::new([("a.yaml", release)]), &ScanOptions::default()).unwrap();
    let told: Vec<_> =
        found.skipped.iter().map(|s| (s.reason, s.detail.clone().unwrap_or_default())).collect();
    let detail = "line 7: a marker is written `uplinker: hold`; line 5: `uplinker: hold` stands at no pin";
    assert_eq!(told, [(SkipReason::Marker, detail.to_owned())]);
}

#[test]
fn what_another_chart_reads_as_its_version_is_no_release_of_linkerd_s() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: sign-in\n  annotations:\n    \
                   linkerd.io/inject: enabled\nspec:\n  chart:\n    spec:\n      chart: authentik\n      version: 2026.8.2\n      \
                   sourceRef:\n        kind: HelmRepository\n        name: authentik\n";
    let told = |text: &str| {
        let found = scan(&MemoryTree::new([("apps/sign-in.yaml", text.as_bytes())]), &ScanOptions::default());
        found.unwrap().pins.iter().map(|p| (p.kind, p.site.line)).collect::<Vec<_>>()
    };
    assert_eq!(told(release), []);
    let said = release.replace("kind: HelmRelease\n", "kind: Plan\n");
    assert_eq!(told(&said), [(PinKind::Other, 11)], "where nobody is known to read it");
}

#[test]
fn the_pattern_of_tags_is_known_with_their_range() {
    let text = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: mesh, namespace: linkerd}\nspec: {url: \
                'oci://ghcr.io/acme/linkerd-control-plane', ref: {semver: 2026.8.x, semverFilter: '^2026[.]8[.]2$'}}\n";
    let found = scan(&MemoryTree::new([("a.yaml", text.as_bytes())]), &ScanOptions::default()).unwrap();
    let pins: Vec<_> = found.pins().map(|pin| (pin.value.as_str(), pin.filter.clone())).collect();
    assert_eq!(pins, [("2026.8.x", Some(TagFilter::new("^2026[.]8[.]2$")))]);
    let text = text.replace("semver: 2026.8.x", "tag: 2026.8.2");
    let found = scan(&MemoryTree::new([("a.yaml", text.as_bytes())]), &ScanOptions::default()).unwrap();
    assert!(found.pins().all(|pin| pin.value == "2026.8.2" && pin.filter.is_none()), "no tag is chosen");
}

#[test]
fn a_list_of_charts_for_some_other_tool_is_told() {
    let list = "# read by our own script\ndependencies:\n  - name: podinfo\n    version: 2026.8.2\n    repository: https://example.com\n\n\n\n\n\n  \
                - name: linkerd-viz\n    version: 2026.8.2\n    repository: https://helm.linkerd.io/edge\n";
    let found = scan(&MemoryTree::new([("tools/charts.yaml", list.as_bytes())]), &ScanOptions::default());
    let told: Vec<_> = found.unwrap().pins.iter().map(|p| (p.kind, p.site.line)).collect();
    assert_eq!(told, [(PinKind::Other, 12)]);
}

#[test]
fn a_line_of_a_script_that_is_a_pin_brings_nothing_back() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scan/files-of-variables/before");
    let found = scan(&MemoryTree::read(&folder), &ScanOptions::default()).unwrap();
    let told: Vec<_> = found.facts.generators.iter().map(|g| (g.path.as_str(), g.line)).collect();
    assert_eq!(told, [("versions.env", 4)]);
}

#[test]
fn what_a_map_gives_to_a_variable_that_nobody_here_fills_is_told() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: crds, namespace: mesh}\nspec:\n  chart:\n    \
                   spec:\n      chart: linkerd-crds\n      version: ${mesh_version}\n";
    let data = "{mesh_version: 2026.8.2, calendar: 2026.8.1, mesh_versions: 2026.7.1}";
    let map =
        |kind: &str| format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: versions}}\ndata: {data}\n");
    let told = |text: &str| {
        let tree = MemoryTree::new([("mesh/release.yaml", release), ("vars/versions.yaml", text)]);
        let found = scan(&tree, &ScanOptions::default()).unwrap();
        let of_maps = found.pins.iter().filter(|pin| pin.path.as_str() == "vars/versions.yaml");
        of_maps.map(|p| (p.kind, p.value.clone(), p.stays)).collect::<Vec<_>>()
    };
    let version = (PinKind::Other, "2026.8.2".to_owned(), Some(Reason::NotFollowed));
    assert_eq!(told(&map("ConfigMap")), std::slice::from_ref(&version));
    assert_eq!(told(&map("Calendar")), [], "Flux takes no variables from such an object");
    let made = "configMapGenerator:\n- name: versions\n  literals: [mesh_version=2026.8.2]\n";
    assert_eq!(told(made), [version]);
}

#[test]
fn values_that_name_no_chart_are_those_of_the_chart_that_has_their_keys() {
    for (keys, chart) in [
        ("dashboard: {}", "linkerd-viz"),
        ("gateway: {}", "linkerd-multicluster"),
        ("a: 1", "linkerd-control-plane"),
    ] {
        let text = format!("linkerdVersion: edge-26.8.2\n{keys}\n");
        let found = scan(&MemoryTree::new([("a-values.yaml", text.as_bytes())]), &ScanOptions::default());
        assert_eq!(found.unwrap().pins[0].chart.as_deref(), Some(chart));
    }
}

#[test]
fn every_span_holds_the_value_that_is_replaced() {
    for repository in repositories() {
        let tree = MemoryTree::read(&repository.join("before"));
        let inventory = scan(&tree, &ScanOptions::default()).unwrap();
        for pin in inventory.pins().filter(|p| p.stays.is_none()) {
            let bytes = tree.read(pin.blob).unwrap();
            let text = std::str::from_utf8(&bytes).unwrap();
            assert_eq!(&text[pin.site.span.clone()], pin.value, "{}:{}", pin.path, pin.site.line);
        }
    }
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = hermetic_git(folder);
    command.current_dir(folder).args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn head(folder: &Path) -> CommitId {
    let hex = git(folder, &["rev-parse", "HEAD"]);
    let mut id = [0; 20];
    for (at, byte) in id.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).unwrap();
    }
    CommitId(id)
}

#[cfg(unix)]
#[test]
fn a_git_tree_is_read_without_following_anything() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    git(at, &["init", "-q"]);
    fs::write(at.join("outside.txt"), "linkerd edge-26.8.2").unwrap();
    std::os::unix::fs::symlink("/etc/linkerd-values.yaml", at.join("link.yaml")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", at.join("other.yaml")).unwrap();
    fs::create_dir_all(at.join("größe und mehr")).unwrap();
    let namespace =
        "kind: Namespace\nmetadata: {name: a, annotations: {config.linkerd.io/proxy-version: edge-26.8.2}}\n";
    fs::write(at.join("größe und mehr/ns 1.yaml"), namespace).unwrap();
    fs::write(at.join("huge.yaml"), format!("linkerd: edge-26.8.2\n{}", "#\n".repeat(20_000))).unwrap();
    git(at, &["add", "."]);
    let commit = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c";
    git(at, &["update-index", "--add", "--cacheinfo", &format!("160000,{commit},vendor/linkerd2")]);
    git(at, &["commit", "-qm", "x"]);
    git(at, &["gc", "-q"]);
    let tree = GitTree::open(at, head(at)).unwrap();
    let options = ScanOptions { file_bytes: 10_000, ..ScanOptions::default() };
    let found = scan(&tree, &options).unwrap();
    let skipped: Vec<(&str, SkipReason)> =
        found.skipped.iter().map(|s| (s.path.as_str(), s.reason)).collect();
    assert_eq!(
        skipped,
        [
            ("huge.yaml", SkipReason::TooLarge),
            ("link.yaml", SkipReason::Symlink),
            ("vendor/linkerd2", SkipReason::Submodule),
        ]
    );
    let moving: Vec<&str> =
        found.pins.iter().filter(|p| p.stays.is_none()).map(|p| p.path.as_str()).collect();
    assert_eq!(moving, ["größe und mehr/ns 1.yaml"]);
}

#[test]
fn a_missing_object_fails_the_scan() {
    let mut tree = MemoryTree::new([("a.yaml", b"linkerd: edge-26.8.2")]);
    tree.blobs.clear();
    assert!(scan(&tree, &ScanOptions::default()).is_err());
}

#[test]
fn ignored_files_give_no_pins_even_when_they_are_referred_to() {
    let chart = b"resources: []\nhelmCharts:\n- {name: linkerd-crds, repo: 'https://helm.linkerd.io/edge', version: 2026.8.2, valuesFile: v/a.yaml}\n";
    let files: [(&str, &[u8]); 2] =
        [("kustomization.yaml", chart), ("v/a.yaml", b"linkerdVersion: edge-26.8.2\n")];
    let mut ignore = globset::GlobSetBuilder::new();
    ignore.add(globset::Glob::new("v/**").unwrap());
    let options = ScanOptions { ignore: ignore.build().unwrap(), ..ScanOptions::default() };
    let found = scan(&MemoryTree::new(files), &options).unwrap();
    assert!(found.pins.iter().all(|p| p.path.as_str() == "kustomization.yaml"));
}

#[test]
fn a_thousand_files_give_the_same_pins_in_the_same_order() {
    let text =
        "kind: Namespace\nmetadata: {name: a, annotations: {config.linkerd.io/proxy-version: edge-26.8.2}}\n";
    let padded = format!("{text}# {}\n", "x".repeat(8_000));
    let names: Vec<String> = (0..1000).map(|n| format!("n{n:04}.yaml")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|n| (n.as_str(), padded.as_bytes())).collect();
    let found = scan(&MemoryTree::new(files), &ScanOptions::default()).unwrap();
    let paths: Vec<&str> = found.pins.iter().map(|p| p.path.as_str()).collect();
    assert_eq!(paths, names);
}

/// Names that lead a text to each shape.
const NAMES: [&str; 8] = [
    "kustomization.yaml",
    "Chart.yaml",
    "Chart.lock",
    "values.yaml",
    "a.json",
    "Makefile",
    "renovate.json",
    ".github/dependabot.yml",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_content_makes_the_scan_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), name in 0..NAMES.len()) {
        let mut content = b"linkerd: edge-26.8.2 # uplinker: edge\n".to_vec();
        content.extend(&bytes);
        let tree = MemoryTree::new([(NAMES[name], &content), ("b.yaml", &bytes)]);
        prop_assert!(scan(&tree, &ScanOptions::default()).is_ok());
    }

    #[test]
    fn no_cut_of_a_real_repository_makes_the_scan_panic(seed in any::<u64>(), cut in 0.0..1.0_f64, junk in "[\\PC\\n]{0,12}") {
        let repositories = repositories();
        let at = usize::try_from(seed).unwrap_or_default() % repositories.len();
        let mut tree = MemoryTree::read(&repositories[at].join("before"));
        for (n, bytes) in tree.blobs.values_mut().enumerate() {
            if (seed >> (n % 60)) & 1 == 1 {
                let keep = (bytes.len() as f64 * cut) as usize;
                bytes.splice(keep.., junk.bytes());
            }
        }
        prop_assert!(scan(&tree, &ScanOptions::default()).is_ok());
    }
}

#[test]
fn values_behind_a_link_move_where_they_lie() {
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: mesh, namespace: argocd}\nspec:\n  sources:\n  \
                       - {repoURL: https://helm.linkerd.io/edge, chart: linkerd-control-plane, targetRevision: 2026.8.2, helm: {valueFiles: \
                       [$v/prod/values.yaml]}}\n  - {repoURL: https://git.example.com/x.git, targetRevision: HEAD, ref: v}\n  destination: \
                       {name: in-cluster, namespace: linkerd}\n";
    let mut tree = MemoryTree::new([
        ("app.yaml", application),
        ("common.yaml", "controllerImageVersion: edge-26.8.2\n"),
    ]);
    let expected =
        |fate: &str| ["app.yaml:6 2026.8.2 moves".to_owned(), format!("common.yaml:1 edge-26.8.2 {fate}")];
    let found = |tree: &MemoryTree| told(&scan(tree, &ScanOptions::default()).unwrap());
    tree.put_as("prod/values.yaml", Some(b"../common.yaml"), Mode::Symlink);
    assert_eq!(found(&tree), expected("moves"));
    tree.put_as("prod/values.yaml", Some(b"/common.yaml"), Mode::Symlink);
    assert_eq!(found(&tree), expected("NotFollowed"), "a link out of the repository");
}

#[test]
fn a_chart_that_the_values_of_another_name_is_told() {
    let entries =
        ["name: linkerd-viz, repo", "name: linkerd-viz, repository", "chart: linkerd-crds, repository"];
    for entry in entries {
        let text = format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: a, namespace: argocd}}\nspec:\n  source:\n    \
             repoURL: ghcr.io/acme/charts\n    chart: addons\n    targetRevision: 1.2.3\n    helm:\n      valuesObject:\n        charts:\n        \
             - {{{entry}: https://helm.linkerd.io/edge, version: 2026.8.2}}\n"
        );
        assert_eq!(told(&scanned(&[("a.yaml", &text)])), ["a.yaml:12 2026.8.2 NotFollowed"], "{entry}");
    }
}

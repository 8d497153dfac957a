//! `init`: what it writes, and what it leaves alone.

use super::*;

fn init(home: &Home, folder: &Path) -> Run {
    home.run(["init"]).arg(folder)
}

#[test]
fn init_writes_two_files_and_never_over_others() {
    let home = Home::new();
    let folder =
        clone(&home, &[("clusters/a/crds.yaml", MESH[1].1), ("clusters/b/crds.yaml", MESH[1].1), MESH[0]]);
    let _ =
        init(&home, &folder).done().exits(0).complains(&["wrote", "uplinker.yaml", "uplinker.yml", "next:"]);
    let config = fs::read_to_string(folder.join("uplinker.yaml")).unwrap();
    let parsed = uplinker::config::parse("uplinker.yaml", &config).expect("a sound configuration");
    assert_eq!(parsed.targets.len(), 1, "it changes nothing by itself");
    assert!(config.contains("#  - name: a") && config.contains("#  - name: b"), "{config}");

    let before = files_below(&folder);
    let _ = init(&home, &folder)
        .done()
        .exits(2)
        .complains(&["are there already; nothing was written", "--force"]);
    assert_eq!(files_below(&folder), before);
    fs::write(folder.join("uplinker.yaml"), "mine").unwrap();
    fs::remove_file(folder.join(".github/workflows/uplinker.yml")).unwrap();
    let _ = init(&home, &folder).done().exits(2).complains(&["uplinker.yaml is there already"]);
    assert!(!folder.join(".github/workflows/uplinker.yml").exists(), "all or nothing");
    let _ = init(&home, &folder).arg("--force").done().exits(0);
    assert_eq!(fs::read_to_string(folder.join("uplinker.yaml")).unwrap(), config);
}

/// A first configuration over pins that nothing moves is not taken for one that works.
#[test]
fn init_says_where_all_is_on_another_channel() {
    let home = Home::new();
    let release = |chart: &str, version: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {chart}, namespace: linkerd}}\n\
             spec: {{chart: {{spec: {{chart: {chart}, version: {version}, sourceRef: {{kind: HelmRepository, name: l5d}}}}}}}}\n"
        )
    };
    let (crds, plane) = (release("linkerd-crds", "1.8.0"), release("linkerd-control-plane", "1.16.11"));
    let folder = clone(&home, &[("crds.yaml", &crds), ("plane.yaml", &plane)]);
    let _ = init(&home, &folder).done().exits(0).complains(&[
        "wrote",
        "note: all 2 pins are on another channel than edge; move them there by hand first",
    ]);
    let home = Home::new();
    let plane = release("linkerd-control-plane", "2026.8.2");
    let folder = clone(&home, &[("crds.yaml", &crds), ("plane.yaml", &plane)]);
    let done = init(&home, &folder).done().exits(0);
    assert!(!done.stderr.contains("channel"), "{done}");
}

#[test]
fn the_workflow_of_init_asks_for_little_and_runs_by_the_clock() {
    let home = Home::new();
    let folder = clone(&home, MESH);
    let _ = init(&home, &folder).done().exits(0);
    let text = fs::read_to_string(folder.join(".github/workflows/uplinker.yml")).unwrap();
    let workflow: serde_yaml::Value = serde_yaml::from_str(&text).expect("YAML");
    let string = |value: &serde_yaml::Value| serde_yaml::to_string(value).unwrap();
    assert_eq!(string(&workflow["permissions"]).trim(), "{}");
    let job = &workflow["jobs"]["uplinker"];
    assert_eq!(string(&job["permissions"]), "contents: write\npull-requests: write\nstatuses: write\n");
    assert!(job["timeout-minutes"].is_u64());
    let on = &workflow["on"];
    assert!(on["schedule"][0]["cron"].is_string() && on.get("workflow_dispatch").is_some(), "{}", string(on));
    assert!(workflow["concurrency"]["group"].is_string());
    for step in job["steps"].as_sequence().unwrap() {
        let (_, version) = step["uses"].as_str().unwrap().split_once('@').expect("a pinned action");
        assert!(version.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit()), "{version}");
        assert!(step.get("run").is_none(), "no shell text that an input could reach");
    }
}

/// An example release in them would be reported with every release that comes.
#[test]
fn the_files_of_init_name_no_release() {
    let home = Home::new();
    let folder = clone(&home, MESH);
    let _ = init(&home, &folder).done().exits(0);
    let paths = ["uplinker.yaml", ".github/workflows/uplinker.yml"];
    let written = paths.map(|path| (path, fs::read_to_string(folder.join(path)).unwrap()));
    let files = written.each_ref().map(|(path, text)| (*path, text.as_str()));
    let scene = Scene::new(&mesh_and(&files));
    let json = scene.command("plan").args(["--format", "json"]).done().exits(0).json();
    let seen: Vec<&Value> =
        json["pins"].as_array().unwrap().iter().chain(json["skipped"].as_array().unwrap()).collect();
    assert!(
        seen.len() >= MESH.len() - 1 && seen.iter().all(|p| !paths.iter().any(|path| p["path"] == *path)),
        "{json:#}"
    );
}

#[test]
fn init_does_not_follow_links_out_of_the_clone() {
    let home = Home::new();
    let folder = clone(&home, MESH);
    let outside = home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, folder.join(".github")).unwrap();
    let done = init(&home, &folder).done();
    assert_ne!(done.status.code(), Some(0), "{done}");
    assert!(files_below(&outside).is_empty(), "{done}");
    assert!(!folder.join("uplinker.yaml").exists(), "half of it is not written");
}

#[test]
fn init_where_there_is_no_repository() {
    let home = Home::new();
    let done = init(&home, &home.path().join("nowhere")).done().exits(2);
    assert!(done.stderr.contains("no such folder"), "{done}");
    assert!(!home.path().join("nowhere").exists());
}

// --- schema, completions ---

#[test]
fn gates_are_printed_for_who_applies_linkerd_and_nothing_is_written() {
    let home = Home::new();
    let root = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: mesh, namespace: flux-system}\nspec: {path: ./mesh, prune: true}\n";
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: crds, namespace: linkerd}\nspec: {chart: {spec: {chart: linkerd-crds, version: 2026.8.2, sourceRef: {kind: HelmRepository, name: edge}}}}\n";
    let folder = clone(&home, &[("flux/mesh.yaml", root), ("mesh/crds.yaml", release)]);
    let before = files_below(&folder);
    let done = init(&home, &folder).arg("--gates").done().exits(0).complains(&[
        "flux/mesh.yaml:1: Kustomization `mesh` has neither `wait: true` nor `healthChecks`",
        "gates: {active: [\"kustomization/mesh/*\"]}",
    ]);
    assert_eq!(files_below(&folder), before);
    let alert = done.stdout.split("---\n").nth(1).expect("two documents").to_owned();
    let alert: serde_yaml::Value = serde_yaml::from_str(&alert).expect("YAML");
    assert_eq!(alert["spec"]["eventSources"][0]["name"], "mesh");
    let other = Home::new();
    let bare = clone(&other, MESH);
    let _ = init(&other, &bare)
        .arg("--gates")
        .done()
        .exits(1)
        .complains(&["applies Linkerd from this repository", "hint:"]);
}

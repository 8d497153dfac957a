//! Files that nobody should have committed: each is named, none stops the rest, and none is touched.

use serde_json::Value;

use crate::bad_input::proposed;
use crate::support::{
    mesh::{CONTROL_PLANE, CRDS, MESH, WEB, mesh_and},
    process::Done,
    repo::{ADA, Change, put},
    scene::{PLATFORM, REPO, Scene, TOKEN},
};

/// Runs, expects the usual pull request, and sees that no other file changed.
fn proposes(scene: &Scene) -> Done {
    let done = scene.run().done().exits(0).never_says(TOKEN);
    crate::bad_input::is_calm(&done);
    let changed = scene.repo.changed("main", PLATFORM);
    assert_eq!(changed, ["linkerd/control-plane.yaml", "linkerd/crds.yaml"], "{done}");
    let _ = scene.only_pull();
    done
}

fn pins(scene: &Scene) -> Value {
    let run = scene.home.run(["pins", &scene.github.url(REPO), "--format", "json"]);
    run.env("UPLINKER_TOKEN", TOKEN).done().exits(0).json()
}

/// The reason for which a file is in the list of skips.
fn skipped(scene: &Scene, path: &str) -> Option<String> {
    let report = pins(scene);
    let all = report["skipped"].as_array().expect("a list").clone();
    all.iter().find(|s| s["path"] == path).map(|s| s["reason"].as_str().expect("a word").to_owned())
}

fn blocks(scene: &Scene) -> bool {
    scene.only_pull().body.expect("a body").to_lowercase().contains("block")
}

#[test]
fn yaml_that_does_not_parse_is_named_and_blocks_only_with_an_old_version() {
    let broken = "linkerd: [unclosed\nversion: nothing\n";
    let scene = Scene::new(&mesh_and(&[("broken.yaml", broken)]));
    let _ = proposes(&scene);
    assert_eq!(skipped(&scene, "broken.yaml").as_deref(), Some("syntax"));
    assert!(scene.only_pull().body.expect("a body").contains("broken.yaml"));
    assert!(!scene.only_pull().labels.iter().any(|l| l.contains("block")), "{:?}", scene.only_pull().labels);

    let with_old = "linkerd: [unclosed\nversion: 2026.8.2\nchart: linkerd-viz\n";
    let scene = Scene::new(&mesh_and(&[("broken.yaml", with_old)]));
    let _ = proposes(&scene);
    let body = scene.only_pull().body.expect("a body");
    assert!(blocks(&scene) && body.contains("broken.yaml"), "{body}");
    let _ = scene.command("run").args(["--fail-on", "block"]).done().exits(4);
}

#[test]
fn a_pin_that_occurs_twice() {
    let twice =
        CRDS.replace("      chart: linkerd-crds\n", "      chart: linkerd-crds\n      version: 2026.8.1\n");
    let scene = Scene::new(&[MESH[0], ("linkerd/crds.yaml", &twice), MESH[2], MESH[3]]);
    let report = pins(&scene);
    let rows = report["pins"].as_array().expect("pins");
    let reasons: Vec<&Value> =
        rows.iter().filter(|p| p["path"] == "linkerd/crds.yaml").map(|p| &p["reason"]).collect();
    assert!(!reasons.is_empty() && reasons.iter().all(|r| *r == "duplicate-key"), "{report:#}");
    let _ = scene.run().done().exits(0);
    let body = scene.only_pull().body.expect("a body");
    assert!(blocks(&scene) && body.contains("linkerd/crds.yaml"), "{body}");
    assert_eq!(scene.repo.changed("main", PLATFORM), ["linkerd/control-plane.yaml"]);
}

#[test]
fn submodules_and_links_are_not_followed() {
    let scene = Scene::new(MESH);
    let tip = scene.repo.tip("main").expect("the tip");
    scene.repo.commit(
        "main",
        &ADA,
        "Links",
        &[
            put(
                ".gitmodules",
                "[submodule \"linkerd\"]\n\tpath = vendor/linkerd\n\turl = https://example.com/linkerd.git\n",
            ),
            Change::Submodule("vendor/linkerd", tip),
            Change::Link("linkerd/outside.yaml", "../../../../../../../etc/passwd"),
            Change::Link("linkerd/values.yaml", "control-plane.yaml"),
            Change::Link("linkerd/self.yaml", "self.yaml"),
        ],
    );
    let _ = proposes(&scene);
    assert!(skipped(&scene, "vendor/linkerd").is_some_and(|why| why == "submodule"));
    let report = pins(&scene);
    assert!(report["pins"].as_array().expect("pins").iter().all(|p| p["path"] != "linkerd/values.yaml"));
    let tree = |branch: &str| {
        let repo = scene.repo.open();
        let tree = repo.find_tree(scene.repo.tree_id(branch)).expect("a tree");
        ["vendor/linkerd", "linkerd/outside.yaml", "linkerd/values.yaml"].map(|path| {
            let entry = tree.get_path(path.as_ref()).expect("an entry");
            (entry.id(), entry.filemode())
        })
    };
    assert_eq!(tree("main"), tree(PLATFORM));
}

/// The values of a release come from a file that is a link: what it points to is edited, and the link stays one.
#[test]
fn a_values_file_that_is_a_link() {
    let kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nhelmCharts:\n  - name: linkerd-control-plane\n    \
                         repo: https://helm.linkerd.io/edge\n    version: 2026.8.2\n    releaseName: linkerd\n    valuesFile: values.yaml\n";
    let scene = Scene::new(&[
        ("linkerd/kustomization.yaml", kustomization),
        ("common/values.yaml", "linkerdVersion: edge-26.8.2\n"),
    ]);
    scene.repo.commit("main", &ADA, "Link", &[Change::Link("linkerd/values.yaml", "../common/values.yaml")]);
    let done = scene.run().done().exits(0);
    crate::bad_input::is_calm(&done);
    assert_eq!(proposed(&scene, "common/values.yaml"), "linkerdVersion: edge-26.8.3\n");
    let repo = scene.repo.open();
    let tree = repo.find_tree(scene.repo.tree_id(PLATFORM)).expect("a tree");
    assert_eq!(tree.get_path("linkerd/values.yaml".as_ref()).expect("the link").filemode(), 0o120_000);
}

#[test]
fn a_file_of_a_hundred_megabytes() {
    let mut text = b"linkerd: edge-26.8.2\n".to_vec();
    text.resize(100 << 20, b'\n');
    let scene = Scene::new(MESH);
    scene.repo.commit("main", &ADA, "Big", &[Change::Put("dump.yaml", &text)]);
    drop(text);
    let _ = proposes(&scene);
    assert_eq!(skipped(&scene, "dump.yaml").as_deref(), Some("too-large"));
    assert!(scene.only_pull().body.expect("a body").contains("dump.yaml"));
}

#[test]
fn names_with_spaces_and_any_unicode() {
    let folders = [
        "with space",
        "täglich/日本",
        "🦀 crab",
        "'quotes\" & <b>",
        "-dash",
        "tab\tname",
        "line\nbreak",
        "%2e%2e",
        "$(touch x)",
    ];
    let files: Vec<(String, &str)> = folders.iter().map(|f| (format!("{f}/crds.yaml"), CRDS)).collect();
    let mut all: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    all.extend(MESH);
    let scene = Scene::new(&all);
    let done = scene.run().done().exits(0);
    crate::bad_input::is_calm(&done);
    for (path, _) in &files {
        assert!(proposed(&scene, path).contains("\"2026.8.3\""), "{path:?}\n{done}");
    }
    assert_eq!(scene.repo.changed("main", PLATFORM).len(), folders.len() + 2);
    for line in done.stdout.lines().chain(done.stderr.lines()) {
        assert!(line != "break/crds.yaml" && !line.starts_with("break/"), "a name broke a line\n{done}");
    }
    let body = scene.only_pull().body.expect("a body");
    // Between backticks it is text.
    let rest =
        body.replace("`'quotes\" & <b>/crds.yaml:11`", "").replace("`'quotes\" & <b>/crds.yaml:1`", "");
    assert!(!rest.contains("<b>") && rest != body, "a name became markup\n{body}");
    assert!(!scene.home.path().join("x").exists());
}

#[test]
fn names_that_are_not_utf8() {
    let scene = Scene::new(MESH);
    let repo = scene.repo.open();
    let base = repo.find_tree(scene.repo.tree_id("main")).expect("the tree");
    let mut builder = repo.treebuilder(Some(&base)).expect("a builder");
    let blob = repo.blob(CRDS.as_bytes()).expect("a blob");
    use std::os::unix::ffi::OsStrExt as _;
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9-linkerd.yaml");
    builder.insert(name, blob, 0o100_644).expect("an odd name");
    let tree = builder.write().expect("a tree");
    commit_tree(&scene, tree);
    let done = proposes(&scene);
    let report = pins(&scene);
    let odd = report["skipped"]
        .as_array()
        .expect("a list")
        .iter()
        .any(|s| s["path"].as_str().is_some_and(|p| p.starts_with("caf")));
    assert!(odd, "it is not silently left out\n{report:#}\n{done}");
}

/// Puts a commit with that tree on `main`.
fn commit_tree(scene: &Scene, tree: git2::Oid) {
    let repo = scene.repo.open();
    let tree = repo.find_tree(tree).expect("the tree");
    let who =
        git2::Signature::new("Ada", "ada@example.com", &git2::Time::new(1_785_600_000, 0)).expect("a name");
    let parent = repo.find_commit(scene.repo.tip("main").expect("the tip")).expect("a commit");
    repo.commit(Some("refs/heads/main"), &who, &who, "Odd", &tree, &[&parent]).expect("a commit");
}

#[test]
fn ten_thousand_documents() {
    let mut text = "kind: Namespace\nmetadata: {name: linkerd}\n---\n".repeat(10_000);
    text.push_str(CRDS);
    let scene = Scene::new(&mesh_and(&[("all.yaml", &text)]));
    let done = scene.run().done().exits(0);
    crate::bad_input::is_calm(&done);
    assert_eq!(proposed(&scene, "all.yaml"), text);
    assert_eq!(skipped(&scene, "all.yaml").as_deref(), Some("too-large"));
    // It holds the old release and nobody can say where.
    assert!(blocks(&scene) && scene.only_pull().body.expect("a body").contains("all.yaml"));
}

#[test]
fn nesting_and_aliases_without_end() {
    let deep = format!("linkerd: {}x{}\n", "[".repeat(100_000), "]".repeat(100_000));
    let block: String = (0..3000).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    let block = format!("# linkerd\n{block}");
    let mut bomb = String::from("linkerd: x\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for n in 1..30 {
        let last = n - 1;
        bomb.push_str(&format!("a{n}: &a{n} [{}*a{last}]\n", format!("*a{last},").repeat(9)));
    }
    let loops = "linkerd: &a\n  b: *a\n";
    let files =
        [("deep.yaml", deep.as_str()), ("block.yaml", &block), ("bomb.yaml", &bomb), ("loop.yaml", loops)];
    let scene = Scene::new(&mesh_and(&files));
    let _ = proposes(&scene);
    let why = |file| skipped(&scene, file);
    assert_eq!(["deep.yaml", "block.yaml"].map(why), [Some("syntax".to_owned()), Some("syntax".to_owned())]);
    assert_eq!(why("bomb.yaml").as_deref(), Some("too-large"));
    assert_eq!(why("loop.yaml"), None, "a circle is read, and nothing follows it");
}

#[test]
fn bytes_of_null_and_other_encodings() {
    let scene = Scene::new(MESH);
    let utf16: Vec<u8> = "\u{feff}linkerd: edge-26.8.2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let changes = [
        Change::Put("nul.yaml", b"linkerd: a\0b\nversion: edge-26.1.1\n"),
        Change::Put("latin.yaml", b"linkerd: caf\xe9\n"),
        Change::Put("wide.yaml", &utf16),
        Change::Put("empty.yaml", b""),
    ];
    scene.repo.commit("main", &ADA, "Bytes", &changes);
    let _ = proposes(&scene);
    let why = ["nul.yaml", "latin.yaml", "wide.yaml"].map(|file| skipped(&scene, file).unwrap_or_default());
    assert_eq!(why, ["syntax", "not-utf8", "not-utf8"]);
}

#[test]
fn what_is_not_utf8_blocks_only_with_an_old_version_that_something_may_deploy() {
    let proposed = |path: &str, text: &[u8]| {
        let scene = Scene::new(MESH);
        scene.repo.commit("main", &ADA, "Bytes", &[Change::Put(path, text)]);
        let _ = proposes(&scene);
        let pull = scene.only_pull();
        (pull.labels.iter().any(|label| label.contains("block")), pull.body.expect("a body"))
    };
    let (is_blocked, body) = proposed("NOTES.md", b"Linkerd, caf\xe9: edge-26.8.2\n");
    assert!(!is_blocked && body.contains("NOTES.md"), "{body}");
    let (is_blocked, body) = proposed("latin.yaml", b"# caf\xe9\nlinkerd:\n  version: edge-26.8.2\n");
    assert!(is_blocked && body.contains("latin.yaml:3"), "{body}");
}

/// Line ends and byte order marks are kept to the byte.
#[test]
fn a_repository_from_windows() {
    let dos = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let files: Vec<(&str, String)> = MESH.iter().map(|(path, text)| (*path, dos(text))).collect();
    let config = dos("version: 1\ncommit:\n  signOff: true\n");
    let mut all: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    all.push(("uplinker.yaml", &config));
    let scene = Scene::new(&all);
    let _ = proposes(&scene);
    assert_eq!(proposed(&scene, "linkerd/crds.yaml"), dos(&CRDS.replace("2026.8.2", "2026.8.3")));
    let moved = CONTROL_PLANE.replace("2026.8.2", "2026.8.3").replace("edge-26.8.2", "edge-26.8.3");
    assert_eq!(proposed(&scene, "linkerd/control-plane.yaml"), dos(&moved));
    assert!(scene.repo.message(PLATFORM).contains("Signed-off-by:"));
    assert_eq!(proposed(&scene, "apps/web.yaml"), dos(WEB));
}

#[test]
fn encrypted_files_are_left_alone_and_block() {
    let sops = format!("{CRDS}sops:\n    mac: ENC[AES256_GCM,data:abc,type:str]\n    version: 3.9.0\n");
    let scene = Scene::new(&[MESH[0], ("linkerd/crds.yaml", &sops), MESH[2], MESH[3]]);
    let _ = scene.run().done().exits(0);
    let body = scene.only_pull().body.expect("a body");
    assert!(blocks(&scene) && body.contains("linkerd/crds.yaml") && body.contains("encrypted"), "{body}");
    assert_eq!(scene.repo.changed("main", PLATFORM), ["linkerd/control-plane.yaml"]);

    let scene = Scene::new(MESH);
    scene.repo.commit(
        "main",
        &ADA,
        "Crypt",
        &[Change::Put("linkerd/secret.yaml", b"\0GITCRYPT\0linkerd edge-26.8.2\x01\x02")],
    );
    let _ = proposes(&scene);
    assert_eq!(skipped(&scene, "linkerd/secret.yaml").as_deref(), Some("encrypted"));
}

//! Every command once, end to end: what it prints in each form, what it writes, and how it ends.

mod init;

use std::{collections::BTreeMap, fs, path::Path};

use crate::support::{
    helm::helm,
    mesh::{MESH, mesh_and},
    process::{Done, Home, Run},
    repo::{ADA, BareRepo, put},
    scene::{PLATFORM, REPO, Scene, TOKEN},
};
use serde_json::Value;

fn mesh() -> Scene {
    Scene::new(MESH)
}

/// Makes a clone without remote of a repository with those files, checked out or not: only its objects count.
fn clone(home: &Home, files: &[(&str, &str)]) -> std::path::PathBuf {
    let folder = home.path().join("clone");
    let bare = BareRepo::with_files(folder.join(".git"), "main", files);
    bare.open().config().unwrap().set_bool("core.bare", false).unwrap();
    folder
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap_or_else(|| panic!("no object: {value}")).keys().map(String::as_str).collect()
}

/// Every file below a folder with its bytes.
fn files_below(folder: &Path) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else {
                files.insert(path.clone(), fs::read(&path).unwrap_or_default());
            }
        }
    }
    files
}

// --- pins ---

#[test]
fn pins_as_json_are_the_contract() {
    let home = Home::new();
    let folder = clone(&home, &mesh_and(&[("broken.yaml", "linkerd: [unclosed\n")]));
    let report =
        home.run(["pins", "--format", "json", "--to", "edge-26.8.3"]).arg(&folder).done().exits(0).json();
    assert_eq!(keys(&report), ["schema", "to", "pins", "skipped"]);
    assert_eq!(
        (report["schema"].as_str(), report["to"].as_str()),
        (Some("uplinker.pins/v1"), Some("edge-26.8.3"))
    );
    let pins = report["pins"].as_array().unwrap();
    let fields = [
        "path",
        "line",
        "column",
        "document",
        "kind",
        "chart",
        "value",
        "version",
        "new",
        "target",
        "installations",
        "stage",
        "moves",
        "reason",
    ];
    for pin in pins {
        assert_eq!(keys(pin), fields);
    }
    let crds = pins.iter().find(|p| p["path"] == "linkerd/crds.yaml").unwrap();
    let expected = serde_json::json!({
        "path": "linkerd/crds.yaml", "line": 11, "column": 16, "document": 0, "kind": "flux-helm-release",
        "chart": "linkerd-crds", "value": "2026.8.2", "version": "edge-26.8.2", "new": "2026.8.3", "target": "default",
        "installations": ["linkerd"], "stage": "platform", "moves": true, "reason": null,
    });
    assert_eq!(crds, &expected);
    let skipped = report["skipped"].as_array().unwrap();
    assert_eq!(skipped.len(), 1);
    assert_eq!(keys(&skipped[0])[..2], ["path", "reason"]);
    let order: Vec<(&str, u64)> =
        pins.iter().map(|p| (p["path"].as_str().unwrap(), p["line"].as_u64().unwrap())).collect();
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn pins_without_a_release_may_move() {
    let home = Home::new();
    let folder = clone(&home, MESH);
    let report = home.run(["pins", "--format", "json"]).arg(&folder).done().exits(0).json();
    assert_eq!(report["to"], Value::Null);
    for pin in report["pins"].as_array().unwrap() {
        assert_eq!((&pin["moves"], &pin["new"]), (&Value::Bool(true), &Value::Null), "{pin}");
    }
}

#[test]
fn pins_of_a_folder_need_no_network_and_read_the_commit_alone() {
    let scene = mesh();
    let folder = clone(&scene.home, MESH);
    // What is not committed does not count.
    fs::create_dir_all(folder.join("linkerd")).unwrap();
    fs::write(folder.join("linkerd/crds.yaml"), "changed: by hand\n").unwrap();
    fs::write(folder.join("uplinker.yaml"), "nonsense: true\n").unwrap();
    let dead = "http://127.0.0.1:9";
    let run = scene.home.run(["pins"]).folder(&folder).env("HTTP_PROXY", dead).env("HTTPS_PROXY", dead);
    let done = run.done().exits(0).prints(&["linkerd/crds.yaml:11:16", "2026.8.2", "4 pins in 3 files"]);
    assert_eq!(done.stderr, "");
    assert!(scene.requests().is_empty() && scene.feed.controls().log.entries().is_empty());
    let markdown = scene.home.run(["pins", "--format", "markdown"]).arg(&folder).done().exits(0);
    let _ = markdown.prints(&["| pin |", "`linkerd/crds.yaml:11:16`"]);
}

#[test]
fn pins_of_a_remote_are_those_of_a_clone() {
    let scene = mesh();
    let folder = clone(&scene.home, MESH);
    let here = scene.home.run(["pins", "--format", "json"]).arg(&folder).done().exits(0).stdout;
    let url = scene.github.url(REPO);
    let there =
        scene.home.run(["pins", "--format", "json", &url]).env("UPLINKER_TOKEN", TOKEN).done().exits(0);
    assert_eq!(there.stdout, here);
    assert_eq!(scene.github.controls().writes.count(), 0);
}

// --- plan ---

#[test]
fn a_plan_says_what_a_run_does_and_writes_nothing() {
    let scene = mesh();
    let refs = scene.repo.refs();
    let plan = |args: &[&str]| scene.command("plan").args(args).done();
    let text = plan(&[]).exits(0).prints(&["edge-26.8.3", "linkerd/crds.yaml"]);
    assert!(!text.stdout.contains("+      version"), "no diff unless asked\n{text}");
    let diff = plan(&["--diff"]).exits(0);
    let _ = diff.prints(&[
        "-      version: \"2026.8.2\"",
        "+      version: \"2026.8.3\"",
        "### What changed upstream",
    ]);
    let _ = plan(&["--format", "markdown"]).exits(0).prints(&[
        "### default, platform: edge-26.8.2 → edge-26.8.3",
        "3 pins move from `edge-26.8.2` to `edge-26.8.3`",
    ]);
    let _ = plan(&["--exit-code"]).exits(10);
    let json = plan(&["--format", "json"]).exits(0).json();
    for key in ["schema", "decision", "pins", "findings", "changes", "pull_requests"] {
        assert!(keys(&json).contains(&key), "{key}");
    }
    assert_eq!(json["schema"], "uplinker.plan/v1");
    let change = json["changes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["path"] == "linkerd/crds.yaml")
        .unwrap()
        .clone();
    let (before, after) = (change["before"].as_str().unwrap(), change["after"].as_str().unwrap());
    let pull = &json["pull_requests"][0];
    assert_eq!((pull["branch"].as_str(), pull["base"].as_str()), (Some(PLATFORM), Some("main")));
    assert_eq!(scene.repo.refs(), refs, "a plan writes nothing");
    assert_eq!(scene.github.controls().writes.count(), 0);

    let _ = scene.run().done().exits(0);
    let blob = |branch: &str| {
        let repo = scene.repo.open();
        let tree = repo.find_tree(scene.repo.tree_id(branch)).unwrap();
        tree.get_path("linkerd/crds.yaml".as_ref()).unwrap().id().to_string()
    };
    assert_eq!((blob("main").as_str(), blob(PLATFORM).as_str()), (before, after));
    assert_eq!(Some(scene.only_pull().title.as_str()), pull["title"].as_str());
}

#[test]
fn a_plan_with_nothing_to_do_ends_well() {
    let scene = Scene::new(&[("README.md", "x")]);
    let _ = scene.command("plan").arg("--exit-code").done().exits(3);
    let current: Vec<(&str, String)> =
        MESH.iter().map(|(p, t)| (*p, t.replace("26.8.2", "26.8.3"))).collect();
    let current: Vec<(&str, &str)> = current.iter().map(|(p, t)| (*p, t.as_str())).collect();
    let _ = Scene::new(&current).command("plan").arg("--exit-code").done().exits(0).prints(&["up to date"]);
}

/// Charts of the stable channel never move, which is not the same as being up to date.
#[test]
fn a_plan_says_why_every_pin_stays() {
    let stable: Vec<(&str, String)> = MESH
        .iter()
        .map(|(p, t)| {
            (
                *p,
                t.replace("/edge", "/stable")
                    .replace("2026.8.2", "1.16.11")
                    .replace("edge-26.8.2", "stable-2.14.10"),
            )
        })
        .collect();
    let stable: Vec<(&str, &str)> = stable.iter().map(|(p, t)| (*p, t.as_str())).collect();
    let scene = Scene::new(&stable);
    for to in [&[][..], &["--to", "edge-26.8.3"]] {
        let plan = scene.command("plan").args(to).done().exits(0).prints(&[
            "platform: on hold: all 3 pins are on another channel than edge; move them there by hand first",
        ]);
        assert!(!plan.stdout.contains("up to date") && !plan.stdout.contains("release: "), "{plan}");
    }
    let json = scene.command("plan").args(["--format", "json"]).done().exits(0).json();
    assert_eq!(json["decision"][0]["hold"]["reason"]["kind"], "other-channel", "{json:#}");
    // In a text alone, the hint is that one too: a mark would lead nowhere.
    let told = Scene::new(&[("install.sh", "linkerd install --set tag=stable-2.14.10\n")]);
    let _ = told.command("plan").done().exits(3).complains(&["in install.sh:1; it is on another channel"]);
}

#[test]
fn what_cannot_be_edited_is_told_where_all_else_is_there() {
    let key = "      version: \"2026.8.2\"";
    let (twice, there) = (format!("{key}\n{key}"), MESH[2].1.replace("26.8.2", "26.8.3"));
    let twice = MESH[1].1.replace(key, &twice);
    let scene = Scene::new(&[MESH[0], (MESH[1].0, &twice), (MESH[2].0, &there)]);
    let told = "platform: on hold: every pin stays (up-to-date, duplicate-key), as `uplinker pins` shows";
    let _ = scene.command("plan").done().exits(0).prints(&[told]);
}

#[test]
fn what_takes_new_releases_by_itself_is_said_to() {
    let crds = MESH[1].1.replace("2026.8.2", ">=2026.1.1");
    let scene = Scene::new(&[MESH[0], (MESH[1].0, &crds)]);
    let _ =
        scene.command("plan").done().exits(0).prints(&["the only pin takes new releases without a commit"]);
    let held = MESH[1].1.replace("keep in step with control-plane.yaml", "uplinker: hold");
    let viz = held.replace("linkerd-crds", "linkerd-viz");
    let scene = Scene::new(&[MESH[0], (MESH[1].0, &crds), ("linkerd/viz.yaml", &viz)]);
    let _ = scene.command("plan").done().exits(0).prints(&[
        "every pin stays (range, held), as `uplinker pins` shows; 1 takes new releases without a commit; nothing",
    ]);
}

/// A misspelt path would keep a target's pins where they are for ever.
#[test]
fn a_target_without_a_file_is_a_mistake_and_one_without_a_pin_is_told() {
    let config = "version: 1\ntargets:\n  - {name: mesh, paths: [linkerd]}\n  - {name: live, paths: [clusters/life]}\n";
    let plan = |more: &[(&str, &str)]| {
        let scene = Scene::new(&mesh_and(&[&[("uplinker.yaml", config)], more].concat()));
        scene.command("plan").done()
    };
    let words = "`paths` of target `live` name no file";
    let _ = plan(&[]).exits(2).complains(&[words, "uplinker.yaml:4:"]);
    let told = plan(&[("clusters/life/app.yaml", "a: b\n")]);
    let told = told.exits(0).prints(&["note: target `live` has no pin", "mesh, platform: "]);
    assert!(!told.stdout.contains("target `mesh`"), "{told}");
}

#[test]
fn pins_in_no_target_are_counted() {
    let config = "version: 1\ntargets:\n  - {name: mesh, paths: [clusters]}\n";
    let scene = Scene::new(&mesh_and(&[("uplinker.yaml", config), ("clusters/a.yaml", "a: b\n")]));
    let words = "pins are in no target and stay; the first is in ";
    let _ = scene.command("plan").done().exits(0).prints(&[words]);
    let quiet = scene.command("plan").arg("-q").done().exits(0);
    assert!(!quiet.stdout.contains("note:"), "{quiet}");
}

#[test]
fn a_plan_of_a_clone_is_the_plan_of_its_head() {
    let scene = mesh();
    let folder = clone(&scene.home, MESH);
    let run = |format: &str| {
        let run = scene.home.run(["plan", "--format", format]).args(scene.feed.flags()).folder(&folder);
        run.done().exits(0)
    };
    let before = files_below(&folder);
    let json = run("json").json();
    assert_eq!(json["changes"].as_array().unwrap().len(), 2);
    assert!(scene.requests().is_empty(), "the forge is not asked");
    assert_eq!(files_below(&folder), before, "the clone is read alone");
}

// --- releases ---

#[test]
fn releases_in_three_forms() {
    let scene = mesh();
    let run = |format: &str| {
        scene.home.run(["releases", "--format", format]).args(scene.feed.flags()).done().exits(0)
    };
    let _ = run("text").prints(&["RELEASE", "edge-26.8.3  2026-08-15  5 at 2026.8.3", "feed charts: read"]);
    let _ = run("markdown").prints(&["edge-26.8.3"]);
    let json = run("json").json();
    assert_eq!(json["schema"], "uplinker.releases/v1");
    let versions: Vec<&str> =
        json["releases"].as_array().unwrap().iter().map(|r| r["version"].as_str().unwrap()).collect();
    assert_eq!(versions, ["edge-26.8.3", "edge-26.8.2", "edge-26.8.1"], "newest first");
    assert!(scene.requests().is_empty());
}

// --- init ---

#[test]
fn the_committed_schema_is_the_one_that_is_printed() {
    let home = Home::new();
    let printed = home.run(["schema"]).done().exits(0).stdout;
    assert_eq!(
        printed,
        include_str!("../schema/uplinker.schema.json"),
        "cargo run -- schema > schema/uplinker.schema.json"
    );
    let schema: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(schema["additionalProperties"], Value::Bool(false), "a misspelt key is found by an editor");
    for key in uplinker_keys() {
        assert!(schema["properties"].get(key.as_str()).is_some(), "{key} is in no schema");
    }
}

/// The keys of the configuration that uses all of them.
fn uplinker_keys() -> Vec<String> {
    let all: serde_yaml::Value = serde_yaml::from_str(include_str!("config/valid/every-key.yaml")).unwrap();
    all.as_mapping().unwrap().keys().map(|key| key.as_str().unwrap().to_owned()).collect()
}

#[test]
fn completions_name_every_command() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish"] {
        let script = home.run(["completions", shell]).done().exits(0).stdout;
        for command in ["run", "plan", "pins", "releases", "serve", "init", "schema", "completions", "demo"] {
            assert!(script.contains(command), "{shell} lacks {command}");
        }
    }
    let bash = home.run(["completions", "bash"]).done().exits(0).stdout;
    let file = home.path().join("completion.bash");
    fs::write(&file, bash).unwrap();
    // Where a bash is at hand, it reads the script.
    if let Ok(status) = std::process::Command::new("bash").arg("-n").arg(&file).status() {
        assert!(status.success());
    }
}

// --- demo ---

#[test]
fn the_demo_proposes_and_its_printed_command_finds_nothing_to_do() {
    let home = Home::new();
    let folder = home.path().join("it's a demo");
    let done = home.run(["demo", "--directory"]).arg(&folder).done().exits(0);
    let _ = done
        .clone()
        .prints(&["edge-26.8.3"])
        .complains(&["\nWhat changed upstream\n", &folder.display().to_string()]);
    let command = done.stderr.lines().rev().map(str::trim).find(|line| line.starts_with("uplinker run "));
    let command = command.unwrap_or_else(|| panic!("no command is printed\n{done}")).to_owned();
    let proposals = files_below(&folder.join("proposals"));
    let refs = BareRepoRefs::of(&folder);

    let second = shell(&home, &command);
    assert_eq!(second.0, Some(0), "{}", second.1);
    assert!(second.1.contains("nothing to do") || second.1.contains("unchanged"), "{}", second.1);
    assert_eq!(files_below(&folder.join("proposals")), proposals, "a second run writes nothing");
    assert_eq!(BareRepoRefs::of(&folder), refs);
    let _ = home.run(["demo", "--directory"]).arg(&folder).done().exits(2).complains(&["is not empty"]);
}

#[test]
fn with_helm_at_hand_the_demo_shows_what_changes_in_the_cluster() {
    let home = Home::new();
    let folder = home.path().join("demo");
    let demo = home.run(["demo", "--directory"]).arg(&folder).arg("--helm").arg(helm());
    let done = demo.done().exits(0).prints(&["warn rbac-growth: ", "warn defaults-changed: "]).complains(&[
        "\n`linkerd-control-plane` | 5 | 2 changed: ",
        "added `-enable-endpoint-slices=true`",
        "`CustomResourceDefinition servers.policy.linkerd.io`",
        "4 chart packages have the digest that the index names",
    ]);
    // Words, not their source: no heading, fold, box, or column of a table is drawn with characters.
    for source in ["\n#", "<details", "- [ ]", "|---", "**", "<!--"] {
        assert!(!done.stderr.contains(source), "{source}\n{done}");
    }
    assert!(!done.stdout.contains("values-unknown"), "its repository fits its charts\n{done}");
    let command = done.stderr.lines().rev().map(str::trim).find(|line| line.starts_with("uplinker run "));
    let proposals = files_below(&folder.join("proposals"));
    let second = shell(&home, command.unwrap());
    assert!(second.0 == Some(0) && second.1.contains("nothing to do"), "{}", second.1);
    assert_eq!(files_below(&folder.join("proposals")), proposals, "a second run writes nothing");
}

/// The refs of the demo's repository.
#[derive(Debug, PartialEq)]
struct BareRepoRefs(Vec<(String, String)>);

impl BareRepoRefs {
    fn of(folder: &Path) -> Self {
        let repo = git2::Repository::open_bare(folder.join("config.git")).unwrap();
        let all = repo.references().unwrap().filter_map(Result::ok);
        let pair = |r: git2::Reference<'_>| Some((r.name().ok()?.to_owned(), r.target()?.to_string()));
        Self(all.filter_map(pair).collect())
    }
}

/// Runs a printed command as a person would: through a shell that finds the program on its path.
fn shell(home: &Home, command: &str) -> (Option<i32>, String) {
    let bin = Path::new(env!("CARGO_BIN_EXE_uplinker")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let output = std::process::Command::new("sh")
        .args(["-c", command])
        .env_clear()
        .env("PATH", path)
        .env("HOME", home.path())
        .current_dir(home.path())
        .output()
        .unwrap();
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.code(), text)
}

// --- GitHub Actions ---

/// The environment of a step, with its two files.
fn in_actions(scene: &Scene, name: &str) -> Run {
    let server = scene.github.url(REPO).replace(&format!("/{REPO}.git"), "");
    let run = scene.home.run([name]).args(scene.feed.flags());
    run.env("GITHUB_ACTIONS", "true")
        .env("GITHUB_REPOSITORY", REPO)
        .env("GITHUB_SERVER_URL", server)
        .env("GITHUB_API_URL", scene.github.api())
        .env("GITHUB_TOKEN", TOKEN)
        .env("GITHUB_STEP_SUMMARY", scene.home.path().join("summary.md"))
        .env("GITHUB_OUTPUT", scene.home.path().join("output"))
}

fn outputs(scene: &Scene) -> BTreeMap<String, String> {
    let text = fs::read_to_string(scene.home.path().join("output")).unwrap();
    text.lines().map(|l| l.split_once('=').expect("name=value")).map(|(k, v)| (k.into(), v.into())).collect()
}

#[test]
fn in_a_workflow_everything_is_found_and_reported() {
    let scene = mesh();
    let _ = in_actions(&scene, "run").done().exits(0).never_says(TOKEN);
    let pull = scene.only_pull();
    assert_eq!(pull.head_ref, PLATFORM);
    let summary = fs::read_to_string(scene.home.path().join("summary.md")).unwrap();
    assert!(summary.contains("edge-26.8.3") && !summary.contains(TOKEN), "{summary}");
    let outputs = outputs(&scene);
    let names: Vec<&str> = outputs.keys().map(String::as_str).collect();
    assert_eq!(names, ["exit", "proposed", "release", "url"]);
    assert_eq!((outputs["exit"].as_str(), outputs["release"].as_str()), ("0", "edge-26.8.3"));
    assert!(outputs["url"].contains("/pull/"), "{outputs:?}");
}

#[test]
fn a_step_that_fails_still_has_its_outputs() {
    let scene = mesh();
    scene.repo.commit("main", &ADA, "Break", &[put("uplinker.yaml", "polcy: {}\n")]);
    let _ = in_actions(&scene, "run").done().exits(2);
    assert_eq!(outputs(&scene)["exit"], "2");
}

/// An input that nobody gave arrives as an empty variable.
#[test]
fn empty_inputs_count_for_nothing() {
    let scene = mesh();
    let empty = [
        "UPLINKER_TO",
        "UPLINKER_REPO",
        "UPLINKER_FORGE",
        "UPLINKER_CHARTS_URL",
        "UPLINKER_FORMAT",
        "UPLINKER_TOKEN",
    ];
    let run = empty.iter().fold(in_actions(&scene, "run"), |run, name| run.env(name, ""));
    let _: Done = run.done().exits(0);
    assert_eq!(scene.only_pull().head_ref, PLATFORM);
}

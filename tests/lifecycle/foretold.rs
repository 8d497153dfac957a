//! What `pins --to` foretells of a repository, and what a plan of it does.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{fleet, play::*};
use crate::support::repo::BareRepo;

/// What `pins --to` and `plan --to` say of a repository.
fn compared(play: &Play, folder: &std::path::Path) -> Vec<String> {
    let path = play.scene.home.path().join("compared");
    let _ = std::fs::remove_dir_all(&path);
    let repo = BareRepo::from_folder(&path, "main", folder);
    let to = "edge-26.8.3";
    let ask = |command: &str| {
        let run = play.scene.home.run([command]);
        let run = if command == "pins" { run.arg(repo.path()) } else { run.arg("--repo").arg(repo.path()) };
        let run = if command == "plan" { run.args(play.scene.feed.flags()) } else { run };
        run.args(["--to", to, "--format", "json"]).done()
    };
    let (pins, plan) = (ask("pins"), ask("plan"));
    if pins.status.code() != Some(0) || plan.status.code() != Some(0) {
        return Vec::new();
    }
    let (pins, plan) = (pins.json(), plan.json());
    let rows = |json: &Value| -> BTreeMap<String, Value> {
        let all = json["pins"].as_array().unwrap().iter();
        all.map(|pin| (format!("{}:{}:{}", pin["path"], pin["line"], pin["column"]), pin.clone())).collect()
    };
    let (foretold, planned) = (rows(&pins), rows(&plan));
    let mut wrong = Vec::new();
    for decision in plan["decision"].as_array().unwrap() {
        let mine = |pin: &Value| pin["target"] == decision["target"] && pin["stage"] == decision["stage"];
        let proposed = decision["outcome"] == "propose" && decision["release"] == to;
        // What waits for its turn moves once it has come.
        let reason = decision["hold"]["reason"]["kind"].as_str().unwrap_or_default();
        let behind = decision["stage"] == "data-plane" && decision["outcome"] == "propose" && !proposed;
        let waits =
            behind || matches!(reason, "data-plane-wait" | "control-plane-behind" | "not-ready" | "after");
        for (place, pin) in foretold.iter().filter(|(_, pin)| mine(pin)) {
            let said = &planned[place];
            let same =
                pin["moves"] == said["moves"] && pin["new"] == said["new"] && pin["reason"] == said["reason"];
            let right = match (proposed, waits, decision["outcome"] == "blocked") {
                (true, ..) => same,
                (false, true, _) | (_, _, true) => true,
                (false, false, false) => pin["moves"] == false,
            };
            if !right {
                wrong.push(format!("{place}: {pin}\n  {said}\n  {}", decision["reason"]));
            }
        }
    }
    wrong
}

#[test]
fn what_pins_foretells_is_what_a_plan_does() {
    let play = fleet::play(&cluster("", 2));
    let mut folders: Vec<std::path::PathBuf> = Vec::new();
    for (root, inner) in [("tests/scan", "before"), ("tests/bodies/repositories", "")] {
        let Ok(all) = std::fs::read_dir(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(root)) else {
            continue;
        };
        folders.extend(all.map(|entry| entry.unwrap().path().join(inner)).filter(|folder| folder.is_dir()));
    }
    folders.sort();
    assert!(folders.len() > 20, "{folders:?}");
    let mut wrong: Vec<String> = Vec::new();
    for folder in folders {
        let found = compared(&play, &folder);
        wrong.extend(found.into_iter().map(|line| format!("{}: {line}", folder.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

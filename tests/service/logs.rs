//! The log as JSON: every line is an object, and those of a pass have its id.

use serde_json::Value;

use super::daemon::{Daemon, over, until};
use crate::support::{
    mesh::MESH,
    scene::{REPO, Scene, TOKEN},
};

fn lines(stderr: &str) -> Vec<Value> {
    let object = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    stderr.lines().map(object).collect()
}

#[test]
fn every_line_is_an_object_and_those_of_a_pass_belong_together() {
    let scene = Scene::new(MESH);
    let daemon = Daemon::start(over(&scene, &[REPO, "acme/gone"]).args(["--log-format", "json"]));
    until("both passes", || daemon.passes("success") + daemon.passes("failed") == 2);
    daemon.running.terminate();
    let done = daemon.running.done().exits(0).never_says(TOKEN);
    assert_eq!(done.stdout, "", "what collects logs may read both streams");
    let lines = lines(&done.stderr);
    let message = |line: &Value| line["message"].as_str().unwrap().to_owned();
    let of = |name: &str| -> Vec<&Value> {
        let url = scene.github.url(name);
        lines.iter().filter(|line| line["span"]["repository"] == url).collect()
    };
    let opened = of(REPO);
    assert_eq!(opened.len(), 1, "{opened:#?}");
    assert!(message(opened[0]).starts_with("opened: Linkerd"), "{opened:#?}");
    assert_eq!(opened[0]["stage"], "default/platform");
    assert!(opened[0]["pull_request"].as_str().unwrap().ends_with("/pull/1"));
    let failed = of("acme/gone");
    assert!(
        failed.iter().any(|line| line["level"] == "ERROR" && message(line).contains("error:")),
        "{failed:#?}"
    );
    let run = |line: &Value| line["span"]["run"].as_str().unwrap().to_owned();
    assert_ne!(run(opened[0]), run(failed[0]), "each pass has an id of its own");
    assert!(lines.iter().all(|line| line["timestamp"].is_string() && line["level"].is_string()));
}

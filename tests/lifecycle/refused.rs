//! `status` of releases that somebody said no to: they are not due.

use serde_json::Value;

use super::{FORGE, play::*};
use crate::support::{github::Merge, scene::REPO};

const CONFIG: &str = "version: 1\ndataPlane: {pins: ignore}\ntargets:\n  - {name: production, paths: [production]}\n  \
                      - {name: staging, paths: [staging]}\n";

/// Production is opened as #1, staging as #2.
fn environments() -> Play {
    let mut files = cluster("staging/", 2);
    files.extend(cluster("production/", 2));
    files.push(("uplinker.yaml".to_owned(), CONFIG.to_owned()));
    Play::with(&files)
}

/// What the platform of a target waits for.
fn waits(status: &Value, target: &str) -> Option<String> {
    let rows = status["targets"].as_array().unwrap();
    let row = rows.iter().find(|row| row["target"] == target && row["stage"] == "platform").unwrap();
    row["waits"].as_str().map(str::to_owned)
}

fn declined(number: u64) -> Option<String> {
    Some(FORGE.words(&format!("edge-26.8.3 was declined in #{number}; the next release will be offered")))
}

/// A status as JSON, and what it asked the forge.
fn status(play: &Play) -> (Value, Vec<String>) {
    let pass = play.pass(play.scene.command("status").args(["--format", "json"])).exits(0);
    let asked = pass.asked.iter().filter(|line| line.contains("/api/")).cloned().collect();
    (pass.done.json(), asked)
}

#[test]
fn what_somebody_said_no_to_is_not_due() {
    let play = environments();
    let waits_for = |target: &str| waits(&status(&play).0, target);
    assert_eq!(waits_for("staging"), None, "it is due");
    play.run().exits(0);
    play.scene.github.close(REPO, 2, "ada");
    assert_eq!(waits_for("staging"), declined(2));
    let declined_in = "edge-26.8.3 was declined in #2; the next release will be offered";
    let text = play.pass(play.scene.command("status")).exits(0);
    text.prints(&[declined_in]);
    play.run().exits(0).prints(&[declined_in]);
    // A close that a box asks for says so in the marker.
    play.scene.github.tick(REPO, 1, "Skip ");
    play.run().exits(0);
    assert_eq!(waits_for("production"), declined(1));
    if !is_elsewhere() {
        // One by another bot is no answer.
        play.scene.github.reopen(REPO, 2, "ada");
        play.scene.github.close(REPO, 2, "stale[bot]");
        assert_eq!(waits_for("staging"), None);
    }

    let play = environments();
    play.run().exits(0);
    play.scene.repo.set_clock(now() - 3 * 24 * 3600);
    play.scene.github.merge(REPO, 2, Merge::Squash, "ada", true);
    play.pass(play.scene.command("rollback").args(["--target", "staging"])).exits(0);
    play.scene.github.merge(REPO, 3, Merge::Commit, "ada", true);
    let said = waits(&status(&play).0, "staging").unwrap();
    assert!(
        said.ends_with(&FORGE.words(" #3 took edge-26.8.3 back, where a box lets it come again")),
        "{said}"
    );
}

#[test]
fn many_targets_whose_releases_are_due_or_declined_cost_little_more_than_a_request() {
    let play = clusters(TARGETS);
    let cheap = |asked: &[String], most: usize| {
        // Who closed one is two requests elsewhere.
        assert!(is_elsewhere() || asked.len() <= most, "{asked:#?}");
    };
    let (due, asked) = status(&play);
    assert_eq!((asked.len(), waits(&due, &last())), (1, None), "{asked:#?}");
    play.run().exits(0);
    (1..=TARGETS as u64).for_each(|number| play.scene.github.close(REPO, number, "ada"));
    // Who closed each of them, and two lists.
    let (said, asked) = status(&play);
    cheap(&asked, TARGETS + 2);
    assert_eq!(waits(&said, &last()), declined(TARGETS as u64));
    // What others opened fills the list, which goes back to before the release all the same.
    for n in 0..120 {
        let branch = format!("others/{n}");
        play.scene.repo.branch(&branch, "main");
        play.commit(&branch, "docs/more.md", "More.\n");
        let number = play.scene.github.open_pull(REPO, "ada", &branch, "main", "More");
        play.scene.github.close(REPO, number, "ada");
    }
    let touched = |at: i64| {
        play.scene.github.settings(REPO, |repo| {
            let others = repo.pulls.values_mut().filter(|pull| pull.head_ref.starts_with("others/"));
            others.for_each(|pull| pull.updated_at = at);
        });
    };
    touched(0);
    let (said, asked) = status(&play);
    cheap(&asked, TARGETS + 2);
    assert_eq!(waits(&said, "c0"), declined(1));
    // Where it does not, each branch is asked about.
    touched(now() + 3600);
    let (said, asked) = status(&play);
    assert!(asked.len() > 2 * TARGETS, "{asked:#?}");
    assert_eq!(waits(&said, "c0"), declined(1));
}

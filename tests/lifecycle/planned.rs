//! What a plan says of pull requests that are there, and of those that people declined; it writes nothing.

use serde_json::Value;

use super::play::*;
use crate::support::{
    controls::Fault,
    http::Response,
    scene::{PLATFORM, REPO},
};

const NOT_LOOKED: &str = "note: what is open, and what was declined, was not looked at: ";

impl Play {
    /// One plan, which changes nothing.
    fn plans(&self, texts: &[&str]) -> Pass {
        let before = self.world();
        let writes = self.scene.github.controls().writes.count();
        let pass = self.pass(self.scene.command("plan")).exits(0).prints(texts);
        assert_eq!((self.world(), self.scene.github.controls().writes.count()), (before, writes));
        pass
    }

    /// What programs read of the first pull request: the outcome and the number.
    fn foreseen(&self) -> [Value; 2] {
        let plan = self.pass(self.scene.command("plan").args(["--format", "json"])).done.json();
        ["outcome", "number"].map(|key| plan["pull_requests"][0][key].clone())
    }
}

#[test]
fn a_plan_says_what_is_open_and_what_would_become_of_it() {
    let play = Play::opened();
    let pass = play.plans(&["edge-26.8.2 → edge-26.8.3: nothing to do, http://", "/pull/1 is up to date\n"]);
    assert!(!pass.done.stdout.contains(NOT_LOOKED), "{}", pass.done);
    pass.asks(&[LOOK, &list(PLATFORM)]);
    play.publish(4);
    play.plans(&["edge-26.8.2 → edge-26.8.4: would update http://", "/pull/1\n"]);
    assert_eq!(play.foreseen(), [Value::from("would-update"), Value::from(1)]);
    play.commit(PLATFORM, "docs/notes.md", "Ada was here.\n");
    play.plans(&["edge-26.8.4: left alone, #1 has commits of a person", "/pull/1)\n"]).asks(&[
        LOOK,
        &list(PLATFORM),
        FETCH,
    ]);
}

#[test]
fn a_plan_does_not_offer_what_was_declined() {
    let play = Play::opened();
    play.scene.github.close(REPO, 1, "ada");
    let declined = "left alone, edge-26.8.3 was declined in #1; the next release will be offered";
    let pass = play.plans(&[declined]).asks(&[LOOK, &list(PLATFORM), &events(1)]);
    assert!(!pass.done.stdout.contains("would be proposed"), "{}", pass.done);
    play.pass(play.scene.command("plan").arg("--exit-code")).exits(0);
    play.publish(4);
    play.plans(&["edge-26.8.2 → edge-26.8.4: would be proposed"]);
    play.pass(play.scene.command("plan").arg("--exit-code")).exits(10);
}

#[test]
fn a_plan_says_that_it_would_close() {
    let play = Play::configured("version: 1\ndataPlane:\n  pins: ignore\n").begun();
    for path in CHARTS {
        play.replace("main", path, "2026.8.2", "2026.8.3");
    }
    play.plans(&["default, platform: up to date at edge-26.8.3", "; would close http://"]);
    assert_eq!(play.foreseen(), [Value::from("would-close"), Value::from(1)]);
}

#[test]
fn a_plan_that_may_not_ask_says_so_and_goes_on() {
    // The words are GitHub's.
    if is_elsewhere() {
        return;
    }
    let play = Play::opened();
    play.scene.github.close(REPO, 1, "ada");
    let refusal =
        Fault::Answer(Response::text(403, r#"{"message":"Resource not accessible by integration"}"#));
    play.scene.github.controls().rules.fault_nth("GET", "*/pulls?*", 0, 1, refusal);
    let why = "the token lacks the permission `pull-requests: read`";
    play.plans(&["edge-26.8.2 → edge-26.8.3: would be proposed", NOT_LOOKED, why]);

    // A repository that everybody may read, without a token.
    play.scene.github.settings(REPO, |repo| repo.private = false);
    let pass = play.pass(play.scene.command("plan").env("UPLINKER_TOKEN", "")).exits(0);
    pass.prints(&["would be proposed", NOT_LOOKED, "no token was given"]).asks(&[LOOK]);
}

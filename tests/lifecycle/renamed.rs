//! What changes its name while something of it is open: the prefix of branches, and targets. A name is what is remembered by.

use super::play::*;
use crate::support::{
    github::Merge,
    scene::{DATA_PLANE, PLATFORM, REPO},
};

const PLAIN: &str = "version: 1\ndataPlane: {pins: ignore}\n";
const PREFIX: &str = "version: 1\ndataPlane: {pins: ignore}\nbranch: {prefix: bots/mesh-}\n";
const THEIRS: &str = "bots/mesh-default/platform";
const DAY: i64 = 24 * 3600;

fn open(play: &Play) -> Vec<String> {
    play.scene.github.pulls(REPO).into_iter().filter(|pull| pull.open).map(|pull| pull.head_ref).collect()
}

#[test]
fn another_prefix_takes_the_open_pull_request_along() {
    let play = Play::opened();
    let ours = play.tip(PLATFORM);
    play.commit("main", "uplinker.yaml", PREFIX);
    let plan = play.pass(play.scene.command("plan")).exits(0);
    plan.prints(&[
        "#1 would be closed: its branch `uplinker/default/platform` does not begin with `bots/mesh-`",
    ]);
    assert_eq!(open(&play), [PLATFORM]);
    play.run().exits(0).prints(&[
        "edge-26.8.2 → edge-26.8.3: opened http://",
        "#1 was closed: its branch `uplinker/default/platform` does not begin with `bots/mesh-`",
        "the branch stays until you delete it",
    ]);
    assert_eq!(
        (open(&play), play.tip(PLATFORM)),
        (vec![THEIRS.to_owned()], ours),
        "no other branch is written"
    );
    assert_eq!(marker(&play.pull(1))["closing"], true);
    // The branch that is left costs no request more.
    play.run().exits(0).asks(&[LOOK, OPEN_LIST]).stays_warm();
    play.settles(0);
    // Nor is that a no, there or back.
    play.commit("main", "uplinker.yaml", PLAIN);
    play.run()
        .exits(0)
        .prints(&["edge-26.8.3: opened http://", "#2 was closed: its branch `bots/mesh-default"]);
    assert_eq!(open(&play), [PLATFORM]);
    play.settles(0);
    // What is due to nobody goes as well.
    play.commit("main", "uplinker.yaml", PREFIX);
    for path in CHARTS {
        play.replace("main", path, "2026.8.2", "2026.8.3");
    }
    play.run().exits(0).prints(&["default, platform: up to date at edge-26.8.3", "#3 was closed"]);
    assert!(open(&play).is_empty());
    play.settles(0);
}

#[test]
fn what_a_person_has_to_settle_under_the_old_prefix_has_nothing_opened_beside_it() {
    let play = Play::opened();
    let theirs = play.commit(PLATFORM, "docs/more.md", "Mine.\n");
    play.commit("main", "uplinker.yaml", PREFIX);
    let stays = "left alone, #1 is not wanted any more but has commits of a person; take them over, and close it: its branch \
                 `uplinker/default/platform` does not begin with `bots/mesh-`";
    play.run().exits(0).prints(&[stays]);
    assert_eq!((open(&play), play.tip(PLATFORM)), (vec![PLATFORM.to_owned()], theirs));
    play.settles(0);
    play.scene.github.close(REPO, 1, "ada");
    play.run().exits(0).prints(&["edge-26.8.3: opened http://"]);
    assert_eq!(open(&play), [THEIRS]);
    play.settles(0);

    // A change that is taken back is wanted still.
    let play = Play::configured(PLAIN);
    play.scene.repo.set_clock(now() - DAY);
    play.commit("main", "README.md", "A mesh.\n");
    let play = play.begun();
    play.scene.repo.set_clock(now());
    play.scene.github.merge(REPO, 1, Merge::Squash, "ada", true);
    play.pass(play.scene.command("rollback")).exits(0);
    play.commit("main", "uplinker.yaml", PREFIX);
    play.run()
        .exits(0)
        .prints(&["left alone, #2 takes edge-26.8.3 back; merge or close it first: its branch"]);
    assert_eq!(open(&play), [PLATFORM]);
    play.settles(0);
}

#[test]
fn while_nothing_may_be_moved_what_is_open_under_the_old_prefix_stays() {
    let play = Play::opened();
    play.commit("main", "uplinker.yaml", &format!("{PREFIX}paused: moving house\n"));
    play.run().exits(0).prints(&["default, platform: on hold: paused (moving house)"]);
    assert_eq!(open(&play), [PLATFORM]);
    play.settles(0);
}

#[test]
fn a_text_of_ours_on_a_branch_that_is_none_of_ours_is_a_persons() {
    let play = Play::opened();
    let body = play.body(1);
    let mine = "ada/mine/platform";
    play.scene.repo.branch(mine, PLATFORM);
    let theirs = play.commit(mine, "docs/more.md", "Mine.\n");
    let number = play.scene.github.open_pull(REPO, "ada", mine, "main", "Mine");
    play.scene.github.edit_body(REPO, number, |_| body);
    play.commit("main", "uplinker.yaml", PREFIX);
    play.run().exits(0).prints(&["#1 was closed"]);
    assert_eq!((open(&play).len(), play.tip(mine)), (2, theirs), "{:?}", open(&play));
}

#[test]
fn a_target_and_the_prefix_may_change_their_names_at_once() {
    let named = |name: &str| format!("version: 1\ntargets:\n  - {{name: {name}, paths: [\"**\"]}}\n");
    let play = Play::configured(&named("mesh")).begun();
    play.commit("main", "uplinker.yaml", &(named("live") + "branch: {prefix: bots/}\n"));
    play.run().exits(0).prints(&["live, platform: edge-26.8.2 → edge-26.8.3: opened", "#1 was closed"]);
    assert_eq!(open(&play), ["bots/live/platform"]);
    play.settles(0);
}

#[test]
fn the_old_name_of_a_target_is_closed_before_the_new_one_is_opened() {
    let named = |name: &str| format!("version: 1\ntargets:\n  - {{name: {name}, paths: [\"**\"]}}\n");
    let play = Play::configured(&named("mesh")).begun();
    play.commit("main", "uplinker.yaml", &named("live"));
    let pass = play.run().exits(0).prints(&[
        "mesh, platform: on hold: no pin has this target any more",
        "what was declined or taken back under its name does not count under another",
    ]);
    let at = |wanted: &str| pass.asked.iter().position(|line| line == wanted).unwrap();
    assert!(is_elsewhere() || at(&write(1)) < at(OPEN), "{:#?}", pass.asked);
    assert!(play.scene.repo.tip(DATA_PLANE).is_none());
    play.settles(0);
}

#[test]
fn a_renamed_repository_is_told_by_its_new_name_before_anything_is_written() {
    let play = Play::new();
    play.scene.github.rename(REPO, "acme/mesh");
    let moved = LOOK.replace(REPO, "acme/mesh");
    let pass = play
        .run()
        .exits(1)
        .complains(&["acme/config was renamed or moved to acme/mesh", "hint: use its new address"]);
    assert_eq!(pass.asked[..2], [LOOK, &moved], "{:#?}", pass.asked);
    let writes = |line: &&String| !line.starts_with("GET ") && !line.ends_with("/git-upload-pack");
    assert_eq!(pass.asked.iter().filter(writes).count(), 0, "{:#?}", pass.asked);
    assert_eq!(play.scene.repo.branches().len(), 1);
    let plan = play.pass(play.scene.command("plan")).exits(0);
    plan.prints(&[
        "what is open, and what was declined, was not looked at: acme/config was renamed or moved to acme/mesh",
    ]);
}

//! The way back: the last change of a target is taken back by a pull request, and its release does not come again.

use super::play::*;
use crate::support::{
    github::Merge,
    repo::{ADA, put},
    scene::{DATA_PLANE, PLATFORM, REPO},
};

const CONFIG: &str = "version: 1\ndataPlane:\n  pins: ignore\n";
const GATES: &str = "gates:\n  active: [\"kustomization/linkerd/*\"]\n  onFailure: rollback\n";
const DAY: i64 = 24 * 3600;

/// The first pull request was merged, a day after all that was there before; returns the files before that.
fn merged(config: &str, how: Merge) -> (Play, Files) {
    let play = Play::configured(config);
    play.scene.repo.set_clock(now() - DAY);
    play.commit("main", "README.md", "A mesh.\n");
    let play = play.begun();
    let before = play.files("main");
    play.scene.repo.set_clock(now() - DAY / 4);
    play.scene.github.merge(REPO, 1, how, "ada", true);
    (play, before)
}

fn back(play: &Play) -> Pass {
    play.pass(play.scene.command("rollback"))
}

#[test]
fn a_merged_change_is_taken_back_byte_for_byte_and_does_not_come_again() {
    for how in [Merge::Commit, Merge::Squash, Merge::Rebase] {
        let (play, before) = merged(CONFIG, how);
        let title = "Roll back Linkerd edge-26.8.3 → edge-26.8.2 (default, platform)";
        back(&play).exits(0).prints(&[title, "control-plane.yaml:12 flux-helm-release: 2026.8.3 → 2026.8.2"]);
        let pull = play.expect(&Expected {
            number: 2,
            branch: PLATFORM,
            base: "main",
            title,
            target: "default",
            release: "edge-26.8.2",
            files: &before,
            parents: &[play.tip("main")],
        });
        assert_eq!(marker(&pull)["undoes"], "edge-26.8.3");
        let body = pull.body.expect("a body");
        for words in
            ["This takes `edge-26.8.3` back, which came to the base branch on 20", "To keep `edge-26.8.3`"]
        {
            assert!(body.contains(words), "{words}\n{body}");
        }

        // A run keeps it as it is, also where there is something newer.
        play.run().exits(0).prints(&["edge-26.8.3 → edge-26.8.2: nothing to do, http://"]);
        play.publish(4);
        play.settles(0);
        play.scene.github.merge(REPO, 2, Merge::Squash, "ada", true);
        play.run().exits(0).prints(&["edge-26.8.2 → edge-26.8.4: opened http://"]);
        play.settles(0);
    }
}

#[test]
fn what_was_taken_back_comes_again_once_its_box_is_ticked() {
    let (play, _) = merged(CONFIG, Merge::Squash);
    back(&play).exits(0);
    play.scene.github.merge(REPO, 2, Merge::Commit, "ada", true);
    let held = "on hold: edge-26.8.3 waits until a release newer than edge-26.8.3 is out, or `--to edge-26.8.3` asks for \
                it: #2 took edge-26.8.3 back, where a box lets it come again";
    play.run().exits(0).prints(&[held]);
    play.settles(0);
    play.scene.github.tick(REPO, 2, "again edge-26.8.3");
    play.run().exits(0).prints(&["edge-26.8.2 → edge-26.8.3: opened http://"]);
    play.settles(0);
}

#[test]
fn what_ran_before_is_restored_and_not_what_was_there_for_a_moment() {
    let play = Play::configured(CONFIG);
    play.scene.repo.set_clock(now() - DAY);
    play.commit("main", "README.md", "A mesh.\n");
    let play = play.begun();
    let before = play.files("main");
    // The branch has a commit for each of two releases, which come to the base branch one after another.
    play.publish(4);
    play.run().exits(0).prints(&["edge-26.8.2 → edge-26.8.4: updated http://"]);
    play.scene.repo.set_clock(now());
    play.scene.github.merge(REPO, 1, Merge::Rebase, "ada", true);
    assert_eq!(play.scene.repo.parents("main").len(), 1);
    back(&play).exits(0).prints(&["Roll back Linkerd edge-26.8.4 → edge-26.8.2 (default, platform)"]);
    assert_same_files(&play.files(PLATFORM), &before);
}

#[test]
fn what_was_merged_as_it_is_is_taken_back_though_its_commit_is_as_old_as_what_it_was_made_of() {
    let play = Play::configured(CONFIG);
    play.scene.repo.set_clock(now() - DAY);
    for file in ["crds.yaml", "control-plane.yaml"] {
        play.replace("main", file, "2026.8.2", "2026.8.2 ");
    }
    let play = play.begun();
    let before = play.files("main");
    play.scene.github.set_clock(now() - DAY / 4);
    play.scene.repo.set_tip("main", play.tip(PLATFORM));
    assert!(play.scene.github.pull(REPO, 1).merged_at.is_some());
    back(&play).exits(0).prints(&["Roll back Linkerd edge-26.8.3 → edge-26.8.2 (default, platform)"]);
    assert_same_files(&play.files(PLATFORM), &before);
}

#[test]
fn what_came_since_is_kept() {
    let (play, before) = merged(CONFIG, Merge::Commit);
    play.commit("main", "docs/notes.md", "Something else.\n");
    // On the very line, and elsewhere in the file.
    let comment = " # moved by pull request";
    play.replace("main", "crds.yaml", comment, " # Linkerd");
    play.replace("main", "control-plane.yaml", "apiVersion:", "# Ours.\napiVersion:");
    back(&play).exits(0);
    let mut wanted = replaced(&before, &["crds.yaml"], comment, " # Linkerd");
    wanted = replaced(&wanted, &["control-plane.yaml"], "apiVersion:", "# Ours.\napiVersion:");
    wanted.insert("docs/notes.md".to_owned(), b"Something else.\n".to_vec());
    assert_same_files(&play.files(PLATFORM), &wanted);
}

#[test]
fn what_was_changed_since_where_it_would_be_restored_is_refused() {
    let (play, _) = merged(CONFIG, Merge::Commit);
    // The chart's line is gone with its file.
    play.scene.repo.commit("main", &ADA, "Move", &[put("crds.yaml", "kind: None\n")]);
    let done = back(&play).exits(4).prints(&["nothing is taken back until that is settled: crds.yaml"]);
    assert!(
        done.done.stdout.contains("it cannot be taken back: the same lines have changed since"),
        "{}",
        done.done
    );
    assert_eq!(play.scene.github.pulls(REPO).len(), 1);
}

#[test]
fn a_way_back_that_somebody_went_by_hand_is_closed_and_the_same_run_goes_on() {
    let (play, _) = merged(CONFIG, Merge::Commit);
    back(&play).exits(0).prints(&["Roll back Linkerd edge-26.8.3 → edge-26.8.2 (default, platform)"]);
    play.publish(4);
    for file in ["crds.yaml", "control-plane.yaml"] {
        play.replace("main", file, "2026.8.3", "2026.8.2");
    }
    play.run().exits(0).prints(&[
        "edge-26.8.2 → edge-26.8.4: opened http://",
        "/pull/2 was closed: what was to be taken back cannot be any more, until that is settled: ",
    ]);
    assert!(!play.pull(2).open && play.pull(3).open);
    play.settles(0);
}

#[test]
fn proxies_go_back_before_the_control_plane() {
    let (play, before) = merged("version: 1\n", Merge::Squash);
    let platform = play.files("main");
    play.run().exits(0).prints(&["default, data-plane: edge-26.8.2 → edge-26.8.3: opened http://"]);
    play.scene.github.merge(REPO, 2, Merge::Squash, "ada", true);
    let note =
        "note: proxies go back before the control plane: once that is merged, roll back again for the rest";
    back(&play).exits(0).prints(&["Roll back Linkerd edge-26.8.3 → edge-26.8.2 (default, data-plane)", note]);
    assert_same_files(&play.files(DATA_PLANE), &platform);
    play.run().exits(0).prints(&["default, data-plane: edge-26.8.3 → edge-26.8.2: nothing to do, http://"]);
    play.scene.github.merge(REPO, 3, Merge::Squash, "ada", true);
    back(&play).exits(0).prints(&["Roll back Linkerd edge-26.8.3 → edge-26.8.2 (default, platform)"]);
    assert_same_files(&play.files(PLATFORM), &before);
    play.scene.github.merge(REPO, 4, Merge::Squash, "ada", true);
    play.run().exits(0).prints(&[
        "default, platform: on hold: edge-26.8.3 waits",
        "default, data-plane: level with the control plane",
    ]);
    play.settles(0);
}

#[test]
fn proxies_that_would_be_ahead_of_where_the_control_plane_went_back_to_are_withdrawn() {
    let gates = "version: 1\ndataPlane: {after: 0d}\ngates:\n  active: [\"kustomization/linkerd/*\"]\n";
    let (play, _) = merged(gates, Merge::Squash);
    play.reads_gates();
    let hours = |n: i64| play.scene.repo.set_clock(now() - n * 3600);
    says(&play, "success");
    play.publish(4);
    play.run().exits(0).prints(&["data-plane: edge-26.8.2 → edge-26.8.3: opened http://"]);
    hours(3);
    play.scene.github.merge(REPO, 2, Merge::Squash, "ada", true);
    says(&play, "success");
    play.run().exits(0).prints(&["data-plane: edge-26.8.2 → edge-26.8.4: updated http://"]);
    back(&play).exits(0).prints(&["Roll back Linkerd edge-26.8.4 → edge-26.8.3 (default, platform)"]);
    hours(1);
    play.scene.github.merge(REPO, 4, Merge::Squash, "ada", true);
    says(&play, "failure");
    let words = "default, data-plane: on hold: proxies wait until the control plane, which went back to edge-26.8.3, is at \
                 edge-26.8.4; closed http://";
    play.run().exits(0).prints(&[words]);
    play.settles(0);
}

#[test]
fn while_the_control_plane_is_to_go_back_its_proxies_do_not_go_ahead() {
    let (play, _) = merged("version: 1\ndataPlane: {after: 0d}\n", Merge::Squash);
    play.run().exits(0).prints(&["default, data-plane: edge-26.8.2 → edge-26.8.3: opened http://"]);
    back(&play).exits(0).prints(&["Roll back Linkerd edge-26.8.3 → edge-26.8.2 (default, platform)"]);
    let words = "default, data-plane: on hold: proxies wait until what takes the control plane back to \
                 edge-26.8.2 is merged or closed; closed http://";
    play.run().exits(0).prints(&[words]);
    assert!(!play.pull(2).open && play.pull(3).open);
    play.settles(0);
    // Nobody said no to the proxies.
    play.scene.github.close(REPO, 3, "ada");
    play.run().exits(0).prints(&["default, data-plane: edge-26.8.2 → edge-26.8.3: opened http://"]);

    // Somebody was quicker: what would leave them ahead is closed.
    back(&play).exits(0);
    play.scene.github.merge(REPO, 4, Merge::Squash, "ada", true);
    play.run().exits(0).prints(&[
        "/pull/5 was closed: the control plane is not taken back until the proxies of `default`, which are pinned to edge-26.8.3, \
         are: none may be ahead of it",
        "default, platform: up to date at edge-26.8.3",
    ]);
    assert!(!play.pull(5).open);
    play.settles(0);
}

#[test]
fn a_way_back_that_is_no_more_is_closed() {
    let (play, _) = merged(CONFIG, Merge::Squash);
    back(&play).exits(0).prints(&["Roll back Linkerd edge-26.8.3 → edge-26.8.2 (default, platform)"]);
    // Somebody went on by hand: there is another change to be taken back now.
    for path in CHARTS {
        play.replace("main", path, "2026.8.3", "2026.8.2");
    }
    play.run().exits(0).prints(&[
        "default, platform: on hold: edge-26.8.3 waits until a release newer than edge-26.8.3 is out",
        "/pull/2 was closed: what was to be taken back cannot be any more, until that is settled: ",
    ]);
    assert!(!play.pull(2).open);
    play.settles(0);
}

#[test]
fn a_rollback_that_is_closed_or_only_looked_at_leaves_all_as_it_is() {
    let (play, _) = merged(CONFIG, Merge::Squash);
    let before = play.world();
    play.pass(play.scene.command("rollback").arg("--dry-run"))
        .exits(0)
        .prints(&["Roll back Linkerd edge-26.8.3 → edge-26.8.2 (default, platform)"]);
    assert_eq!(play.world(), before);
    back(&play).exits(0);
    play.scene.github.close(REPO, 2, "ada");
    play.run().exits(0).prints(&["default, platform: up to date at edge-26.8.3"]);
    back(&play).exits(0).prints(&["Roll back Linkerd", "/pull/3\n"]);
    play.publish(4);
    play.scene.github.close(REPO, 3, "ada");
    play.run().exits(0).prints(&["edge-26.8.3 → edge-26.8.4: opened http://"]);
}

#[test]
fn an_upgrade_that_is_open_makes_room_for_the_way_back() {
    let (play, before) = merged(CONFIG, Merge::Squash);
    play.publish(4);
    play.run().exits(0).prints(&["edge-26.8.3 → edge-26.8.4: opened http://"]);
    back(&play).exits(0).prints(&["edge-26.8.3 → edge-26.8.2: updated http://"]);
    assert_same_files(&play.files(PLATFORM), &before);
    assert_eq!(marker(&play.pull(2))["undoes"], "edge-26.8.3");
    play.settles(0);
    play.scene.github.merge(REPO, 2, Merge::Squash, "ada", true);
    play.run().exits(0).prints(&["edge-26.8.2 → edge-26.8.4: opened http://"]);
}

#[test]
fn there_is_nothing_to_take_back_where_nothing_came() {
    let play = Play::configured(CONFIG);
    back(&play).exits(4).prints(&["the history of the base branch does not tell what it was at before"]);
    let (play, _) = merged(CONFIG, Merge::Squash);
    play.pass(play.scene.command("rollback").args(["--target", "staging"]))
        .exits(2)
        .complains(&["there is no target `staging`; there are: `default`"]);
}

/// What Flux says of the commit that it applied.
fn says(play: &Play, state: &str) {
    play.says("main", "kustomization/linkerd/0c9c2e41", state);
}

#[test]
fn what_fails_is_proposed_to_be_taken_back_and_a_no_to_that_is_heard() {
    let (play, before) = merged(&format!("{CONFIG}{GATES}"), Merge::Commit);
    play.reads_gates();
    says(&play, "pending");
    play.run().exits(0).prints(&["default, platform: up to date at edge-26.8.3"]);
    says(&play, "failure");
    play.run().exits(0).prints(&["default, platform: edge-26.8.3 → edge-26.8.2: opened http://"]);
    assert_same_files(&play.files(PLATFORM), &before);
    let words = "what came since stays. `kustomization/linkerd/0c9c2e41` says failure since 20";
    assert!(play.body(2).contains(words), "{}", play.body(2));
    play.settles(0);

    play.scene.github.close(REPO, 2, "ada");
    play.run().exits(0).prints(&["default, platform: up to date at edge-26.8.3"]);
    play.settles(0);
    // It still goes no further, and the next one is offered.
    play.publish(4);
    play.run().exits(0).prints(&["default, platform: edge-26.8.3 → edge-26.8.4: opened http://"]);
}

#[test]
fn what_was_taken_back_for_a_failure_is_not_followed_by_another_way_back() {
    let (play, _) = merged(&format!("{CONFIG}{GATES}"), Merge::Squash);
    play.reads_gates();
    says(&play, "failure");
    play.run().exits(0).prints(&["edge-26.8.3 → edge-26.8.2: opened http://"]);
    play.scene.repo.set_clock(now() - 3600);
    play.scene.github.merge(REPO, 2, Merge::Squash, "ada", true);
    says(&play, "failure");
    play.run().exits(0).prints(&["default, platform: on hold: edge-26.8.3 waits until a release newer"]);
    play.settles(0);
}

#[test]
fn what_cannot_be_taken_back_for_a_failure_can_be_left_behind() {
    let (play, _) = merged(&format!("{CONFIG}{GATES}"), Merge::Squash);
    play.reads_gates();
    // The chart's line is gone with its file.
    play.commit("main", "crds.yaml", "kind: None\n");
    says(&play, "failure");
    let stuck = "default, platform: on hold: nothing is taken back until that is settled: crds.yaml";
    play.run().exits(0).prints(&[stuck]);
    play.settles(0);
    play.publish(4);
    play.run().exits(0).prints(&["default, platform: edge-26.8.3 → edge-26.8.4: opened http://"]);
}

#[test]
fn a_way_back_from_a_release_is_gone_where_somebody_went_on() {
    let (play, _) = merged(CONFIG, Merge::Squash);
    back(&play).exits(0);
    play.publish(4);
    for file in ["crds.yaml", "control-plane.yaml"] {
        play.replace("main", file, "2026.8.3", "2026.8.4");
    }
    let gone = "was closed: what was to be taken back cannot be any more, until that is settled: it is not at edge-26.8.3 any \
                more, but at edge-26.8.4";
    play.run().exits(0).prints(&[gone]);
    assert!(!play.pull(2).open);
    play.settles(0);
}

#[test]
fn what_was_taken_back_does_not_come_again_though_a_part_of_it_is_there() {
    let play = Play::configured(CONFIG);
    play.scene.repo.set_clock(now() - 2 * DAY);
    play.commit("main", "README.md", "A mesh.\n");
    play.scene.repo.set_clock(now() - DAY);
    play.replace("main", "crds.yaml", "2026.8.2", "2026.8.3");
    let play = play.begun();
    play.scene.repo.set_clock(now() - DAY / 4);
    play.scene.github.merge(REPO, 1, Merge::Squash, "ada", true);
    back(&play).exits(0).prints(&["Roll back Linkerd edge-26.8.3 → edge-26.8.2"]);
    play.scene.github.merge(REPO, 2, Merge::Squash, "ada", true);
    play.run().exits(0).prints(&["on hold: edge-26.8.3 waits until a release newer than edge-26.8.3 is out"]);
    play.settles(0);
}

#[test]
fn what_was_added_since_stays() {
    let (play, before) = merged(CONFIG, Merge::Squash);
    let crds = String::from_utf8(play.files("main")["crds.yaml"].clone()).unwrap();
    let viz = crds.replace("linkerd-crds", "linkerd-viz");
    play.commit("main", "viz.yaml", &viz);
    back(&play).exits(0).prints(&["Roll back Linkerd edge-26.8.3 → edge-26.8.2 (default, platform)"]);
    let mut expected = before;
    expected.insert("viz.yaml".to_owned(), viz.into_bytes());
    assert_same_files(&play.files(PLATFORM), &expected);
    play.settles(0);
}

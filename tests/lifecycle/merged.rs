//! Pull requests that were merged, and branches that were left behind.

use super::play::*;
use crate::support::{
    github::Merge,
    repo::{ADA, put},
    scene::{DATA_PLANE, PLATFORM, REPO},
};

const WAITS: &str = "default, data-plane: on hold: the control plane's edge-26.8.3 is to prove itself first";

const CONFIG: &str = "version: 1\ndataPlane:\n  pins: ignore\n";

/// The first pull request was merged; proxies stay out of it.
fn merged(how: Merge, delete_branch: bool) -> (Play, git2::Oid) {
    let play = Play::configured(CONFIG).begun();
    let ours = play.tip(PLATFORM);
    play.scene.github.merge(REPO, 1, how, "ada", delete_branch);
    (play, ours)
}

#[test]
fn after_each_button_the_next_release_gets_a_pull_request_of_its_own() {
    for how in [Merge::Commit, Merge::Squash, Merge::Rebase] {
        for delete_branch in [true, false] {
            let (play, ours) = merged(how, delete_branch);
            let pass = play.run().exits(0).prints(&["default, platform: up to date at edge-26.8.3"]);
            assert!(!pass.asked.iter().any(|l| l.contains("receive-pack")), "{how:?}: {:#?}", pass.asked);
            assert_eq!(
                play.scene.repo.tip(PLATFORM),
                (!delete_branch).then_some(ours),
                "what is left is not ours to delete"
            );
            play.run().exits(0).stays_warm();
            play.settles(0);

            play.publish(4);
            play.run()
                .exits(0)
                .asks(&[LOOK, &list(PLATFORM), WHO, PUSH, &opens(2)])
                .prints(&["edge-26.8.3 → edge-26.8.4: opened http://", "/acme/config/pull/2\n"]);
            let files = replaced(&play.files("main"), &CHARTS, "2026.8.3", "2026.8.4");
            play.expect(&Expected {
                number: 2,
                branch: PLATFORM,
                base: "main",
                title: "Linkerd edge-26.8.3 → edge-26.8.4 (default, platform)",
                target: "default",
                release: "edge-26.8.4",
                files: &files,
                parents: &[play.tip("main")],
            });
            assert!(play.pull(1).merged_at.is_some());
            play.settles(0);
        }
    }
}

#[test]
fn both_branches_left_behind_are_looked_at_in_one_request() {
    let play = Play::opened();
    play.scene.github.merge(REPO, 1, Merge::Squash, "ada", false);
    play.run().exits(0).prints(&["default, data-plane: edge-26.8.2 → edge-26.8.3: opened http://"]);
    play.run().exits(0).asks(&[LOOK, OPEN_LIST]).stays_warm();
    play.scene.github.merge(REPO, 2, Merge::Squash, "ada", false);
    play.run().exits(0).asks(&[LOOK, FETCH, OPEN_LIST]);
    let left = play.scene.repo.branches();
    play.run().exits(0).asks(&[LOOK, OPEN_LIST]).stays_warm();
    play.settles(0);
    assert_eq!(play.scene.repo.branches(), left, "what is left is not ours to delete");

    // Where so much is open that one page does not hold it, each branch is asked about; elsewhere that takes pages.
    if is_elsewhere() {
        return;
    }
    play.scene.repo.branch("topic", "main");
    let head = play.commit("topic", "docs/notes.md", "Something else.\n");
    for n in 0..101 {
        play.scene.github.fork_pull(REPO, "mallory", &format!("topic-{n}"), "main", head);
    }
    play.run().exits(0).asks(&[LOOK, OPEN_LIST, &list(PLATFORM), &list(DATA_PLANE)]);
}

#[test]
fn a_branch_left_behind_with_more_on_it_is_held() {
    let (play, _) = merged(Merge::Squash, false);
    let theirs =
        play.scene.repo.commit(PLATFORM, &ADA, "After the merge", &[put("docs/notes.md", "More.\n")]);
    play.publish(4);
    play.run().exits(0).prints(&["left alone, branch-occupied: the branch is at "]);
    assert_eq!(play.tip(PLATFORM), theirs);
    assert_eq!(play.scene.github.pulls(REPO).len(), 1);
    play.settles(0);
    play.scene.repo.delete_branch(PLATFORM);
    play.run().exits(0).prints(&["edge-26.8.3 → edge-26.8.4: opened http://"]);
}

#[test]
fn a_merged_branch_with_a_persons_commit_is_replaced_where_that_was_merged() {
    let play = Play::configured("version: 1\ndataPlane:\n  pins: ignore\n").begun();
    play.commit(PLATFORM, "docs/notes.md", "Ada was here.\n");
    play.scene.github.merge(REPO, 1, Merge::Squash, "ada", false);
    play.publish(4);
    play.run().exits(0).prints(&["edge-26.8.3 → edge-26.8.4: opened http://"]);
    assert_eq!(play.scene.repo.read(PLATFORM, "docs/notes.md").as_deref(), Some("Ada was here.\n"));
    assert_eq!(play.scene.repo.parents(PLATFORM), [play.tip("main")]);
    play.settles(0);
}

#[test]
fn without_the_pull_request_the_history_tells_since_when() {
    // Both dates are by the committer's clock: long ago, so the proxies are due.
    let play = Play::new();
    for path in CHARTS {
        play.replace("main", path, "2026.8.2", "2026.8.3");
    }
    play.run().exits(0).prints(&["default, data-plane: edge-26.8.2 → edge-26.8.3: opened http://"]);
    play.expect_data_plane(1);
    play.settles(0);

    let play = Play::new();
    play.scene.repo.set_clock(jiff::Timestamp::now().as_second() - 3600);
    for path in CHARTS {
        play.replace("main", path, "2026.8.2", "2026.8.3");
    }
    play.run().exits(0).prints(&[WAITS]);
    play.run().exits(0).stays_warm().prints(&[WAITS]);
    play.settles(0);
}

#[test]
fn what_was_merged_and_reverted_is_a_no_to_that_release() {
    let (play, _) = merged(Merge::Squash, true);
    let back = |play: &Play, paths: &[&str]| {
        paths.iter().for_each(|path| _ = play.replace("main", path, "2026.8.3", "2026.8.2"));
    };
    back(&play, &CHARTS[..1]);
    play.run().exits(0).prints(&["default, platform: edge-26.8.2 → edge-26.8.3: opened http://"]);
    play.scene.github.merge(REPO, 2, Merge::Commit, "ada", true);

    back(&play, &CHARTS);
    let held = "default, platform: on hold: edge-26.8.3 waits until a release newer than edge-26.8.3 is out, or \
                `--to edge-26.8.3` asks for it: edge-26.8.3 was merged with #2, and the base branch went back from it";
    play.run().exits(0).prints(&[held]);
    play.settles(0);
    assert_eq!(play.scene.github.pulls(REPO).len(), 2);

    play.publish(4);
    play.run().exits(0).prints(&["default, platform: edge-26.8.2 → edge-26.8.4: opened http://"]);
    play.settles(0);

    // An open one does not go down to it either.
    play.commit("main", "uplinker.yaml", &format!("{CONFIG}policy:\n  skip: [edge-26.8.4]\n"));
    play.run().exits(0).prints(&[held]);
    assert!(!play.pull(3).open && play.scene.repo.tip(PLATFORM).is_none());
    play.settles(0);
    play.commit("main", "uplinker.yaml", CONFIG);
    play.run().exits(0).prints(&["default, platform: edge-26.8.2 → edge-26.8.4: opened http://"]);
}

#[test]
fn a_release_that_was_reverted_comes_again_where_it_is_asked_for_by_name() {
    let (play, _) = merged(Merge::Rebase, true);
    CHARTS.iter().for_each(|path| _ = play.replace("main", path, "2026.8.3", "2026.8.2"));
    play.pass(play.scene.run().args(["--to", "edge-26.8.3"]))
        .exits(0)
        .prints(&["default, platform: edge-26.8.2 → edge-26.8.3: opened http://"]);
    play.run().exits(0).prints(&["default, platform: edge-26.8.2 → edge-26.8.3: nothing to do, http://"]);
}

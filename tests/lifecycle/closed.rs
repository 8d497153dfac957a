//! Pull requests that were closed without merging: by whom, and what that means.

use super::play::*;
use crate::support::{
    repo::{ADA, put},
    scene::{PLATFORM, REPO},
};

#[test]
fn closed_by_a_person_is_a_no_until_a_newer_release() {
    for delete_branch in [false, true] {
        let play = Play::opened();
        let ours = play.tip(PLATFORM);
        play.scene.github.close(REPO, 1, "ada");
        if delete_branch {
            play.scene.github.delete_branch(REPO, PLATFORM, "ada");
        }
        play.run()
            .exits(0)
            .asks(&[LOOK, &list(PLATFORM), &events(1)])
            .prints(&["left alone, edge-26.8.3 was declined in #1; the next release will be offered"]);
        assert_eq!(play.scene.repo.tip(PLATFORM), (!delete_branch).then_some(ours));
        play.run().exits(0).asks(&[LOOK, &list(PLATFORM), &events(1)]);
        play.settles(0);
        // A base that moves in our files does not ask again for the same release.
        play.replace("main", "crds.yaml", "# moved by", "# moved, as always, by");
        play.run().exits(0).prints(&["was declined in #1"]);

        play.publish(4);
        let pass = play
            .run()
            .exits(0)
            .prints(&["edge-26.8.2 → edge-26.8.4: opened http://", "/acme/config/pull/2\n"]);
        assert!(!pass.asked.contains(&events(1)), "an older no needs no second look: {:#?}", pass.asked);
        play.expect_platform(2, 4, &play.files("main"), &[play.tip("main")]);
        assert!(!play.pull(1).open);
        play.settles(0);
    }
}

#[test]
fn closed_by_a_person_who_emptied_the_body_is_a_no_as_well() {
    let play = Play::opened();
    play.scene.github.edit_body(REPO, 1, |_| String::new());
    play.scene.github.close(REPO, 1, "ada");
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM), &events(1)]).prints(&["was declined in #1"]);
    play.settles(0);
}

#[test]
fn a_no_that_was_taken_back_is_none() {
    let play = Play::opened();
    play.scene.github.close(REPO, 1, "ada");
    play.run().exits(0).prints(&["was declined in #1"]);
    play.scene.github.reopen(REPO, 1, "ada");
    play.run()
        .exits(0)
        .asks(&[LOOK, &list(PLATFORM)])
        .stays_warm()
        .prints(&["/acme/config/pull/1 is up to date"]);
    play.settles(0);
}

#[test]
fn closed_by_another_bot_is_not_a_no() {
    let play = Play::opened();
    let ours = play.tip(PLATFORM);
    play.scene.github.close(REPO, 1, "stale[bot]");
    // The branch is still there and current, so only the pull request is opened again.
    play.run()
        .exits(0)
        .asks(&[LOOK, &list(PLATFORM), &events(1), &opens(2)])
        .prints(&["opened http://", "/acme/config/pull/2\n"]);
    assert_eq!(play.tip(PLATFORM), ours);
    play.expect_platform(2, 3, &play.files("main"), &[play.tip("main")]);
    play.settles(0);
}

#[test]
fn closed_since_the_base_branch_went_is_not_a_no() {
    // Gitea moves such a pull request to the default branch.
    if is_elsewhere() {
        return;
    }
    let play = Play::configured("version: 1\nbase: stable\n");
    let base = play.scene.repo.branch("stable", "main");
    play.run().exits(0).prints(&["branch: uplinker/default/platform into stable"]);
    assert_eq!(play.pull(1).base_ref, "stable");
    play.settles(0);

    play.scene.github.delete_branch(REPO, "stable", "ada");
    assert!(!play.pull(1).open);
    play.run()
        .exits(2)
        .asks(&[LOOK])
        .complains(&["there is no branch `stable`; change `base`, or create the branch"]);
    play.scene.repo.set_tip("stable", base);
    play.run()
        .exits(0)
        .asks(&[LOOK, &list(PLATFORM), &events(1), &opens(2)])
        .prints(&["opened http://", "/acme/config/pull/2\n"]);
    let files = replaced(&play.files("stable"), &CHARTS, "2026.8.2", "2026.8.3");
    play.expect(&Expected {
        number: 2,
        branch: PLATFORM,
        base: "stable",
        title: "Linkerd edge-26.8.2 → edge-26.8.3 (default, platform)",
        target: "default",
        release: "edge-26.8.3",
        files: &files,
        parents: &[base],
    });
    play.settles(0);
}

#[test]
fn a_renamed_base_branch_takes_the_pull_request_along() {
    let play = Play::opened();
    let ours = play.tip(PLATFORM);
    play.scene.github.rename_branch(REPO, "main", "trunk", "ada");
    play.run().exits(0).prints(&["/acme/config/pull/1 is up to date", "(trunk at "]);
    assert_eq!((play.tip(PLATFORM), play.pull(1).base_ref.as_str()), (ours, "trunk"));
    assert_eq!(play.scene.only_pull().number, 1);
    play.settles(0);
}

#[test]
fn another_base_branch_gets_a_pull_request_of_its_own() {
    let play = Play::opened();
    play.scene.repo.branch("trunk", "main");
    play.scene.repo.set_default_branch("trunk");
    let base = play.commit("trunk", "docs/notes.md", "Something.\n");
    let pass = play.run().exits(0).prints(&["opened http://", "/acme/config/pull/2\n"]);
    assert_eq!(pass.sent(&write(1)).len(), 2, "marked as closing, then closed: {:#?}", pass.asked);
    let old = play.pull(1);
    assert!(!old.open && marker(&old)["closing"] == true);
    let new = play.pull(2);
    assert_eq!((new.open, new.base_ref.as_str()), (true, "trunk"));
    let _ = base;
    play.settles(0);
}

#[test]
fn pins_that_were_changed_by_hand_close_it_and_are_no_refusal() {
    let play = Play::configured("version: 1\ndataPlane:\n  pins: ignore\n").begun();
    for path in CHARTS {
        play.replace("main", path, "2026.8.2", "2026.8.3");
    }
    let pass = play
        .run()
        .exits(0)
        .asks(&[LOOK, FETCH, &list(PLATFORM), &read(1), &write(1), DELETE, &write(1)])
        .prints(&["default, platform: up to date at edge-26.8.3", "; closed http://"]);
    let sent = pass.sent(&write(1));
    let marked = sent[0]["body"].as_str().unwrap();
    assert!(marked.contains(r#""closing":true"#) && !marked.contains("declined"), "{marked}");
    assert!(sent[0].get("state").is_none(), "the marker goes first: {}", sent[0]);
    assert_eq!(sent[1], serde_json::json!({"state": "closed"}));
    assert!(!play.pull(1).open && play.pull(1).merged_at.is_none());
    assert_eq!(play.scene.repo.tip(PLATFORM), None);
    play.run().exits(0).asks(&[LOOK]).stays_warm();
    play.settles(0);

    // It is no refusal: taken back by hand, the same release is proposed again.
    for path in CHARTS {
        play.replace("main", path, "2026.8.3", "2026.8.2");
    }
    play.run().exits(0).prints(&["edge-26.8.2 → edge-26.8.3: opened http://", "/acme/config/pull/2\n"]);
}

#[test]
fn a_persons_branch_stays_when_its_pins_were_changed_by_hand() {
    let play = Play::opened();
    let theirs =
        play.scene.repo.commit(PLATFORM, &ADA, "By hand", &[put("docs/notes.md", "Ada was here.\n")]);
    for path in CHARTS {
        play.replace("main", path, "2026.8.2", "2026.8.3");
    }
    play.run()
        .exits(0)
        .prints(&["; left alone, #1 is not wanted any more but has commits of a person; take them over"]);
    assert_eq!(play.tip(PLATFORM), theirs);
    assert!(play.pull(1).open);
    play.settles(0);
}

#[test]
fn an_occupied_branch_is_held() {
    let play = Play::new();
    play.scene.repo.branch(PLATFORM, "main");
    let theirs = play.commit(PLATFORM, "docs/notes.md", "Ada works here.\n");
    play.run()
        .exits(0)
        .asks(&[LOOK, FETCH, &list(PLATFORM), FETCH])
        .prints(&["left alone, branch-occupied: the branch is at ", "delete or rename the branch"]);
    assert_eq!(play.tip(PLATFORM), theirs);
    assert!(play.scene.github.pulls(REPO).is_empty());
    play.settles(0);
    play.scene.repo.delete_branch(PLATFORM);
    play.run().exits(0).prints(&["opened http://"]);
}

#[test]
fn somebody_elses_pull_request_from_a_fork_is_not_ours() {
    let play = Play::new();
    play.scene.github.fork_pull(REPO, "mallory", PLATFORM, "main", play.tip("main"));
    play.run().exits(0).prints(&["opened http://", "/acme/config/pull/2\n"]);
    play.expect_platform(2, 3, &play.files("main"), &[play.tip("main")]);
    play.settles(0);
}

#[test]
fn an_open_pull_request_does_not_go_down_to_what_was_declined() {
    let play = Play::configured("version: 1\ndataPlane:\n  pins: ignore\n").begun();
    play.scene.github.close(REPO, 1, "ada");
    play.publish(4);
    play.run().exits(0).prints(&["edge-26.8.2 → edge-26.8.4: opened http://"]);
    play.commit(
        "main",
        "uplinker.yaml",
        "version: 1\ndataPlane:\n  pins: ignore\npolicy:\n  skip: [edge-26.8.4]\n",
    );
    play.run()
        .exits(0)
        .prints(&["left alone, edge-26.8.3 was declined in #1; the next release will be offered"]);
    assert!(!play.pull(2).open && play.scene.repo.tip(PLATFORM).is_none());
    play.settles(0);
    // That it was closed is nobody's no.
    play.commit("main", "uplinker.yaml", "version: 1\ndataPlane:\n  pins: ignore\n");
    play.run().exits(0).prints(&["edge-26.8.2 → edge-26.8.4: opened http://"]);
}

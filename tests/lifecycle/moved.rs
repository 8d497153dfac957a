//! A newer release while one is open, and a base branch that moves.

use std::sync::Arc;

use super::{FORGE, play::*};
use crate::support::{
    feed::release,
    repo::{ADA, BEN, put},
    scene::{PLATFORM, REPO},
};

const REPLACE: &str = "version: 1\nbranch:\n  history: replace\n";

#[test]
fn a_newer_release_moves_the_open_pull_request() {
    let play = Play::opened();
    let (base, first) = (play.tip("main"), play.tip(PLATFORM));
    play.publish(4);
    let pass = play
        .run()
        .exits(0)
        .asks(&[LOOK, &list(PLATFORM), WHO, PUSH, STATUS, &read(1), &write(1)])
        .prints(&["edge-26.8.2 → edge-26.8.4: updated http://", "/acme/config/pull/1\n"]);
    let patch = &pass.sent(&write(1))[0];
    assert_eq!(patch["title"], "Linkerd edge-26.8.2 → edge-26.8.4 (default, platform)");
    assert!(patch.get("state").is_none(), "{patch}");

    play.expect_platform(1, 4, &play.files("main"), &[first]);
    assert!(play.scene.repo.contains(PLATFORM, base) && play.scene.repo.ahead("main", PLATFORM) == 2);
    assert_eq!(play.statuses(PLATFORM), success());
    let body = play.body(1);
    assert!(body.contains("| **`2026.8.4`** |") && !body.contains("| **`2026.8.3`** |"), "{body}");
    assert!(
        body.contains("[edge-26.8.3](") && body.contains("[edge-26.8.4]("),
        "both are on the way:\n{body}"
    );
    assert!(body.contains("uplinker:skip edge-26.8.4") && !body.contains("skip edge-26.8.3"), "{body}");
    assert_eq!(play.scene.github.events(REPO, 1), ["labeled", "renamed"]);
    play.settles(0);
}

#[test]
fn advice_that_comes_later_is_written_and_pushes_nothing() {
    let play = Play::opened();
    let ours = play.tip(PLATFORM);
    let advised = release("edge-26.8.3", "2026-08-15T09:00:00Z");
    play.scene.feed.publish(advised.notes("This release is recommended for all users.\n"));
    play.run()
        .exits(0)
        .asks(&[LOOK, &list(PLATFORM), &read(1), &write(1)])
        .prints(&["edge-26.8.2 → edge-26.8.3: updated http://"]);
    assert_eq!(play.tip(PLATFORM), ours);
    assert!(play.body(1).contains("Linkerd recommends `edge-26.8.3`"), "{}", play.body(1));
    play.settles(0);
}

#[test]
fn with_replace_one_commit_stays_one_commit() {
    let play = Play::configured(REPLACE).begun();
    let base = play.tip("main");
    play.publish(4);
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM), WHO, PUSH, STATUS, &read(1), &write(1)]);
    play.expect_platform(1, 4, &play.files("main"), &[base]);
    assert_eq!(play.scene.github.events(REPO, 1), ["labeled", "head_ref_force_pushed", "renamed"]);
    play.settles(0);
}

#[test]
fn a_base_that_moved_elsewhere_changes_nothing() {
    let play = Play::opened();
    let (before, world) = (play.tip(PLATFORM), play.pull(1).body);
    play.commit("main", "docs/notes.md", "Something about versions: 2026.8.2.\n");
    play.replace("main", "web.yaml", "shop/web:1", "shop/web:2");
    play.run().exits(0).asks(&[LOOK, FETCH, &list(PLATFORM)]).prints(&["/acme/config/pull/1 is up to date"]);
    assert_eq!((play.tip(PLATFORM), play.pull(1).body), (before, world));
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM)]).stays_warm();
    play.settles(0);
}

#[test]
fn a_base_that_moved_in_a_file_of_the_change_set_is_taken_in() {
    let play = Play::opened();
    let first = play.tip(PLATFORM);
    let base = play.replace("main", "crds.yaml", "# moved by", "# moved, as always, by");
    let base_files = play.files("main");
    play.run()
        .exits(0)
        .asks(&[LOOK, FETCH, &list(PLATFORM), WHO, PUSH, STATUS, &read(1), &write(1)])
        .prints(&["edge-26.8.2 → edge-26.8.3: updated http://"]);
    let pull = play.expect_platform(1, 3, &base_files, &[first, base]);
    assert_eq!(marker(&pull)["base"], base.to_string());
    assert_eq!(play.statuses(PLATFORM), success());
    assert_eq!(play.scene.github.events(REPO, 1), ["labeled"], "no forced push, no new title");
    play.settles(0);
}

#[test]
fn with_replace_it_becomes_one_fresh_commit() {
    let play = Play::configured(REPLACE).begun();
    let base = play.replace("main", "crds.yaml", "# moved by", "# moved, as always, by");
    play.run().exits(0).asks(&[LOOK, FETCH, &list(PLATFORM), WHO, PUSH, STATUS, &read(1), &write(1)]);
    play.expect_platform(1, 3, &play.files("main"), &[base]);
    assert_eq!(play.scene.repo.ahead("main", PLATFORM), 1);
    play.settles(0);
}

#[test]
fn with_behind_every_move_of_the_base_is_followed() {
    for (history, parents) in [("append", 2), ("replace", 1)] {
        let config = format!("version: 1\nbranch:\n  update: behind\n  history: {history}\n");
        let play = Play::configured(&config).begun();
        let first = play.tip(PLATFORM);
        play.run().exits(0).asks(&[LOOK, &list(PLATFORM)]).stays_warm();
        let base = play.commit("main", "docs/notes.md", "Something.\n");
        play.run().exits(0).asks(&[LOOK, FETCH, &list(PLATFORM), WHO, PUSH, STATUS, &read(1), &write(1)]);
        let all = [first, base];
        play.expect_platform(1, 3, &play.files("main"), &all[2 - parents..]);
        play.run().exits(0).asks(&[LOOK, &list(PLATFORM)]).stays_warm();
        play.settles(0);
    }
}

#[test]
fn a_base_that_moves_between_read_and_push_starts_the_run_over() {
    // The moment is a request of GitHub's.
    if is_elsewhere() {
        return;
    }
    let play = Play::new();
    let (first, repo) = (play.tip("main"), Arc::clone(&play.scene.repo));
    let files = replaced(&play.files("main"), &["crds.yaml"], "# moved by", "# taken along by");
    play.scene.github.controls().rules.before("GET", "/api/v3/user", move |_| {
        repo.commit(
            "main",
            &BEN,
            "Meanwhile",
            &[put("crds.yaml", std::str::from_utf8(&files["crds.yaml"]).unwrap())],
        );
    });
    play.run()
        .exits(0)
        .asks(&[LOOK, FETCH, &list(PLATFORM), WHO, LOOK, LOOK, FETCH, &list(PLATFORM), PUSH, &opens(1)])
        .prints(&["opened http://"]);
    let base = play.tip("main");
    assert_ne!(base, first);
    play.expect_platform(1, 3, &play.files("main"), &[base]);
    play.settles(0);
}

#[test]
fn a_branch_that_moves_between_read_and_push_keeps_its_commit() {
    for at in ["/acme/config.git/info/refs?service=git-receive-pack", "/acme/config.git/git-receive-pack"] {
        let play = Play::opened();
        play.publish(4);
        let repo = Arc::clone(&play.scene.repo);
        play.scene.github.controls().rules.before("*", at, move |_| {
            repo.commit(PLATFORM, &ADA, "Meanwhile", &[put("docs/notes.md", "Ada was here.\n")]);
        });
        play.run().exits(0).prints(&["#1 has commits of a person; tick its box to hand the branch back"]);
        assert_eq!(play.scene.repo.read(PLATFORM, "docs/notes.md").as_deref(), Some("Ada was here.\n"));
        assert_eq!(play.scene.repo.message(PLATFORM), "Meanwhile");
        assert!(play.body(1).contains("`edge-26.8.4` is out; this branch does not go there by itself."));
        play.settles(0);
    }
}

#[test]
fn update_branch_pressed_by_a_person_stays_ours() {
    let play = Play::opened();
    let first = play.tip(PLATFORM);
    let base = play.commit("main", "docs/notes.md", "Something.\n");
    let merge = play.scene.github.update_branch(REPO, 1, &ADA);
    // The button's merge is a new head: its status and marker are renewed, and nothing is pushed.
    let pass = play.run().exits(0).prints(&["edge-26.8.2 → edge-26.8.3: updated http://"]);
    assert!(!pass.asked.iter().any(|l| l.contains("receive-pack")), "{:#?}", pass.asked);
    let asked: Vec<&String> = pass.asked.iter().filter(|l| l.contains("/api/")).collect();
    let lines = [list(PLATFORM), STATUS.to_owned(), read(1), write(1)];
    assert_eq!(
        asked,
        lines.iter().flat_map(|line| FORGE.lines(line)).collect::<Vec<_>>().iter().collect::<Vec<_>>()
    );
    let pull = play.pull(1);
    assert_eq!((pull.head_sha, play.tip(PLATFORM)), (merge, merge));
    assert_eq!(marker(&pull)["head"], merge.to_string());
    assert_eq!(marker(&pull)["base"], base.to_string());
    assert!(marker(&pull).get("person").is_none());
    assert_eq!(play.statuses(PLATFORM), success());
    let files = replaced(&play.files("main"), &CHARTS, "2026.8.2", "2026.8.3");
    assert_same_files(&play.files(PLATFORM), &files);
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM)]).stays_warm();
    play.settles(0);

    // And what is newer goes on top of it.
    play.publish(4);
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM), WHO, PUSH, STATUS, &read(1), &write(1)]);
    play.expect_platform(1, 4, &play.files("main"), &[merge]);
    assert!(play.scene.repo.contains(PLATFORM, first));
    play.settles(0);
}

#[test]
fn update_branch_over_a_base_that_changed_our_files_stays_ours() {
    let play = Play::opened();
    let base = play.replace("main", "crds.yaml", "metadata:\n", "metadata:\n  labels: {team: mesh}\n");
    let merge = play.scene.github.update_branch(REPO, 1, &ADA);
    assert!(play.scene.repo.read(PLATFORM, "crds.yaml").unwrap().contains("team: mesh"), "both are merged");
    play.run().exits(0).prints(&["edge-26.8.2 → edge-26.8.3: updated http://"]);
    let pull = play.expect_platform(1, 3, &play.files("main"), &[merge, base]);
    assert!(marker(&pull).get("person").is_none(), "{pull:?}");
    play.settles(0);
}

/// What Git merges by itself is no person's, also where nothing is wanted any more that it could be compared with.
#[test]
fn a_merge_of_what_both_changed_is_closed_as_ours() {
    let play = Play::opened();
    play.replace("main", "crds.yaml", "metadata:\n", "metadata:\n  labels: {team: mesh}\n");
    play.scene.github.update_branch(REPO, 1, &ADA);
    for chart in CHARTS {
        play.replace("main", chart, "2026.8.2", "2026.8.3");
    }
    play.run().exits(0).prints(&["closed http://"]);
    assert!(!play.pull(1).open && play.scene.repo.tip(PLATFORM).is_none());
    play.settles(0);
}

#[test]
fn a_merge_that_changes_our_files_is_a_persons() {
    let play = Play::opened();
    play.commit("main", "docs/notes.md", "Something.\n");
    play.scene.github.update_branch(REPO, 1, &ADA);
    let files = replaced(&play.files(PLATFORM), &["crds.yaml"], "2026.8.3", "2026.8.1");
    let text = std::str::from_utf8(&files["crds.yaml"]).unwrap().to_owned();
    let evil = play.scene.repo.amend(PLATFORM, &ADA, None, &[put("crds.yaml", &text)]);
    play.run().exits(0).prints(&["#1 has commits of a person"]);
    assert_eq!(play.tip(PLATFORM), evil);
    assert_eq!(marker(&play.pull(1))["person"], true);
    play.settles(0);

    // Also where nothing is wanted any more: it is not what Git makes of both sides.
    for chart in CHARTS {
        play.replace("main", chart, "2026.8.2", "2026.8.3");
    }
    play.run().exits(0).prints(&["#1 is not wanted any more but has commits of a person"]);
    assert!(play.pull(1).open && play.tip(PLATFORM) == evil);
}

//! A person's commits on our branch, and a person's words in the body.

use super::play::*;
use crate::support::{
    repo::{ADA, put},
    scene::{PLATFORM, REPO},
};

const NOTE: &str = "**Somebody else pushed to this branch, so uplinker leaves it alone.**";

/// An open pull request with a commit of a person, which our run has noted.
fn with_a_commit_of_ada(config: &str) -> (Play, git2::Oid) {
    let play = Play::configured(config).begun();
    let theirs = play.commit(PLATFORM, "docs/notes.md", "Ada was here.\n");
    play.run()
        .exits(0)
        .asks(&[LOOK, &list(PLATFORM), FETCH, &read(1), &write(1)])
        .prints(&["left alone, #1 has commits of a person; tick its box to hand the branch back (http://"]);
    (play, theirs)
}

#[test]
fn a_persons_commit_is_never_overwritten() {
    let (play, theirs) = with_a_commit_of_ada("version: 1\n");
    let (pull, title) = (play.pull(1), "Linkerd edge-26.8.2 → edge-26.8.3 (default, platform)");
    assert_eq!((play.tip(PLATFORM), pull.title.as_str()), (theirs, title));
    let body = play.body(1);
    assert!(body.starts_with("<!-- uplinker:note -->\n> ") && body.contains(NOTE), "{body}");
    assert!(body.contains("- [ ] Hand this branch back to uplinker <!-- uplinker:retake -->"), "{body}");
    assert!(body.contains("replaces what was changed on it by hand, in every file"), "{body}");
    assert!(body.contains("| `linkerd-crds` | `2026.8.2` | **`2026.8.3`** |"), "the text stays:\n{body}");
    assert_eq!(
        (&marker(&pull)["person"], &marker(&pull)["head"]),
        (&true.into(), &theirs.to_string().into())
    );
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM)]).stays_warm();
    play.settles(0);

    // Neither a newer release nor another base moves it; the note names the release, once.
    play.publish(4);
    play.replace("main", "crds.yaml", "# moved by", "# moved, as always, by");
    play.run().exits(0).asks(&[LOOK, FETCH, &list(PLATFORM), &read(1), &write(1)]);
    assert_eq!(play.tip(PLATFORM), theirs);
    assert!(play.body(1).contains("`edge-26.8.4` is out; this branch does not go there by itself."));
    assert_eq!(play.body(1).matches(NOTE).count(), 1);
    play.settles(0);
}

#[test]
fn a_ticked_box_hands_the_branch_back() {
    for (history, one) in [("append", false), ("replace", true)] {
        let (play, theirs) = with_a_commit_of_ada(&format!("version: 1\nbranch:\n  history: {history}\n"));
        play.scene.github.tick(REPO, 1, "Hand this branch back");
        let base = play.tip("main");
        play.run()
            .exits(0)
            .asks(&[LOOK, &list(PLATFORM), WHO, PUSH, STATUS, &read(1), &write(1)])
            .prints(&["edge-26.8.2 → edge-26.8.3: updated http://"]);
        let both = [theirs, base];
        let pull = play.expect_platform(1, 3, &play.files("main"), if one { &both[1..] } else { &both });
        let body = pull.body.unwrap();
        assert!(!body.contains(NOTE) && !body.contains("[x]") && body.contains("uplinker:rebase"), "{body}");
        assert_eq!(play.statuses(PLATFORM).last(), success().last());
        play.settles(0);

        // From then on it is ours again.
        play.publish(4);
        play.run().exits(0).asks(&[LOOK, &list(PLATFORM), WHO, PUSH, STATUS, &read(1), &write(1)]);
        assert_eq!(play.scene.repo.contains(PLATFORM, theirs), !one);
        play.settles(0);
    }
}

#[test]
fn an_amended_message_leaves_the_commit_ours() {
    let play = Play::opened();
    let reworded = format!("Reworded by Ada\n\n{}", play.scene.repo.message(PLATFORM));
    let amended = play.scene.repo.amend(PLATFORM, &ADA, Some(&reworded), &[]);
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM), FETCH, STATUS, &read(1), &write(1)]);
    let pull = play.pull(1);
    assert_eq!((pull.head_sha, play.tip(PLATFORM)), (amended, amended));
    assert_eq!(marker(&pull)["head"], amended.to_string());
    assert!(marker(&pull).get("person").is_none());
    play.settles(0);
    play.publish(4);
    play.run().exits(0).prints(&["updated http://"]);
    play.expect_platform(1, 4, &play.files("main"), &[amended]);
}

#[test]
fn an_amended_commit_is_a_persons() {
    let play = Play::opened();
    let amended = play.scene.repo.amend(PLATFORM, &ADA, None, &[put("docs/notes.md", "Ada was here.\n")]);
    play.publish(4);
    play.run()
        .exits(0)
        .asks(&[LOOK, &list(PLATFORM), FETCH, &read(1), &write(1)])
        .prints(&["left alone, #1 has commits of a person"]);
    assert_eq!(play.tip(PLATFORM), amended);
    assert!(play.body(1).contains(NOTE));
    play.settles(0);
}

#[test]
fn a_persons_commit_that_is_taken_away_again_leaves_no_note() {
    let play = Play::opened();
    let ours = play.tip(PLATFORM);
    play.commit(PLATFORM, "docs/notes.md", "Ada was here.\n");
    play.run().exits(0).prints(&["has commits of a person"]);
    play.scene.repo.set_tip(PLATFORM, ours);
    play.run()
        .exits(0)
        .asks(&[LOOK, &list(PLATFORM), STATUS, &read(1), &write(1)])
        .prints(&["updated http://"]);
    play.expect_platform(1, 3, &play.files("main"), &[play.tip("main")]);
    assert!(!play.body(1).contains(NOTE));
    play.settles(0);
}

#[test]
fn the_first_box_declines_the_release() {
    let play = Play::opened();
    play.scene.github.tick(REPO, 1, "Skip `edge-26.8.3`");
    let pass = play
        .run()
        .exits(0)
        .asks(&[LOOK, &list(PLATFORM), &read(1), &write(1), DELETE, &write(1)])
        .prints(&["left alone, edge-26.8.3 was declined in #1; the next release will be offered"]);
    let sent = pass.sent(&write(1));
    assert!(sent[0]["body"].as_str().unwrap().contains(r#""closing":true,"declined":true"#), "{}", sent[0]);
    assert_eq!(sent[1], serde_json::json!({"state": "closed"}));
    let pull = play.pull(1);
    assert!(!pull.open && pull.merged_at.is_none());
    assert_eq!(play.scene.repo.tip(PLATFORM), None);
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM)]).stays_warm();
    play.settles(0);

    play.publish(4);
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM), WHO, PUSH, &opens(2)]).prints(&["opened http://"]);
    play.expect_platform(2, 4, &play.files("main"), &[play.tip("main")]);
    play.settles(0);
}

#[test]
fn the_second_box_takes_the_base_branch_in() {
    let play = Play::opened();
    let first = play.tip(PLATFORM);
    let base = play.commit("main", "docs/notes.md", "Something.\n");
    play.scene.github.tick(REPO, 1, "Apply this to the base branch");
    play.run().exits(0).asks(&[LOOK, FETCH, &list(PLATFORM), WHO, PUSH, STATUS, &read(1), &write(1)]);
    play.expect_platform(1, 3, &play.files("main"), &[first, base]);
    assert!(!play.body(1).contains("[x]"), "{}", play.body(1));
    play.settles(0);

    // Where there is nothing to take in, the tick only goes.
    play.scene.github.tick(REPO, 1, "Apply this to the base branch");
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM), &read(1), &write(1)]);
    assert!(!play.body(1).contains("[x]"), "{}", play.body(1));
    play.settles(0);
}

#[test]
fn the_third_box_asks_again() {
    // The moment and the words are GitHub's.
    if is_elsewhere() {
        return;
    }
    let play = Play::configured("version: 1\npullRequest:\n  reviewers: [ben]\n");
    let refused = "`ben` was not asked for a review: Reviews may only be requested from collaborators.";
    play.run().exits(0).prints(&["opened http://", refused]);
    play.settles(0);
    play.scene.github.settings(REPO, |repo| repo.collaborators.extend(["ben".to_owned()]));
    play.settles(0);
    play.scene.github.tick(REPO, 1, "Ask again for labels, people and status");
    play.run().exits(0).asks(&[
        LOOK,
        &list(PLATFORM),
        STATUS,
        &ask(1, "labels"),
        &ask(1, "requested_reviewers"),
        &read(1),
        &write(1),
    ]);
    assert_eq!(play.pull(1).reviewers, ["ben"]);
    assert!(!play.body(1).contains("[x]"), "{}", play.body(1));
    play.settles(0);
}

/// Edits the body in the moment between our reading the list and our writing the body.
fn meanwhile(play: &Play, edit: impl Fn(&str) -> String + Send + Sync + 'static) {
    play.scene.github.before(("POST", "*/statuses/*"), move |state| {
        let pull = state.repo_mut(REPO).and_then(|repo| repo.pulls.get_mut(&1)).unwrap();
        pull.body = Some(edit(pull.body.as_deref().unwrap_or_default()));
    });
}

#[test]
fn a_box_ticked_between_our_read_and_our_write_is_carried_over() {
    let play = Play::opened();
    play.publish(4);
    meanwhile(&play, |body| body.replace("- [ ] Apply this", "- [x] Apply this"));
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM), WHO, PUSH, STATUS, &read(1), &write(1)]);
    play.expect_platform(1, 4, &play.files("main"), &[play.scene.repo.parents(PLATFORM)[0]]);
    let body = play.body(1);
    assert!(body.contains("- [x] Apply this to the base branch as it is now"), "{body}");
    // The next run answers it.
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM), &read(1), &write(1)]);
    assert!(!play.body(1).contains("[x]"), "{}", play.body(1));
    play.settles(0);
}

#[test]
fn a_no_ticked_between_our_read_and_our_write_is_heard() {
    let play = Play::opened();
    play.publish(4);
    meanwhile(&play, |body| body.replace("- [ ] Skip", "- [x] Skip"));
    play.run().exits(0).prints(&["edge-26.8.4: updated http://"]);
    // The tick declines edge-26.8.3; the pull request goes to edge-26.8.4 now, which nobody declined.
    assert!(play.pull(1).open);
    assert_eq!(marker(&play.pull(1))["release"], "edge-26.8.4");
    play.settles(0);
}

#[test]
fn a_no_to_the_same_release_ticked_meanwhile_is_answered_by_the_next_run() {
    let play = Play::opened();
    play.replace("main", "crds.yaml", "# moved by", "# moved, as always, by");
    meanwhile(&play, |body| body.replace("- [ ] Skip", "- [x] Skip"));
    play.run().exits(0).asks(&[LOOK, FETCH, &list(PLATFORM), WHO, PUSH, STATUS, &read(1), &write(1)]);
    assert!(play.body(1).contains("- [x] Skip `edge-26.8.3`"), "{}", play.body(1));
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM), &read(1), &write(1), DELETE, &write(1)]);
    assert!(!play.pull(1).open);
    play.run().exits(0).prints(&["edge-26.8.3 was declined in #1"]);
    play.settles(0);
}

#[test]
fn a_close_between_our_read_and_our_write_is_a_no() {
    let play = Play::opened();
    play.replace("main", "crds.yaml", "# moved by", "# moved, as always, by");
    play.scene.github.before(("POST", "*/statuses/*"), |state| state.note(REPO, 1, "ada", "closed"));
    play.run()
        .exits(0)
        .asks(&[LOOK, FETCH, &list(PLATFORM), WHO, PUSH, STATUS, &read(1), LOOK, &list(PLATFORM), &events(1)])
        .prints(&["edge-26.8.3 was declined in #1"]);
    assert_eq!(play.scene.github.pulls(REPO).len(), 1);
    assert!(!play.pull(1).open);
    play.settles(0);
}

#[test]
fn a_merge_between_our_read_and_our_push_starts_the_run_over() {
    // The moment and the words are GitHub's.
    if is_elsewhere() {
        return;
    }
    let play = Play::configured("version: 1\ndataPlane:\n  pins: ignore\n").begun();
    play.publish(4);
    let repo = std::sync::Arc::clone(&play.scene.repo);
    play.scene.github.before(("GET", "/api/v3/user"), move |state| {
        let merge = repo.merge("main", PLATFORM, &ADA, "Merge pull request #1").unwrap();
        state.note(REPO, 1, "ada", "merged");
        state.note(REPO, 1, "ada", "closed");
        state.repo_mut(REPO).and_then(|r| r.pulls.get_mut(&1)).unwrap().merge_commit = Some(merge);
    });
    play.run().exits(0).prints(&["edge-26.8.3 → edge-26.8.4: opened http://", "/acme/config/pull/2\n"]);
    assert!(play.pull(1).merged_at.is_some());
    assert_eq!(play.scene.repo.parents(PLATFORM), [play.tip("main")]);
    play.settles(0);
}

#[test]
fn a_persons_words_stay_until_there_is_news() {
    let play = Play::opened();
    play.scene.github.edit_body(REPO, 1, |body| {
        body.replace("### What changed up", "Ada: fine by me.\n\n### What changed up")
    });
    play.settles(0);
    assert!(play.body(1).contains("Ada: fine by me."));
    // A body whose marker is gone is written anew, since nothing else says what the pull request is.
    play.scene.github.edit_body(REPO, 1, |_| "Ada cleared this.".to_owned());
    play.run()
        .exits(0)
        .asks(&[LOOK, &list(PLATFORM), STATUS, &ask(1, "labels"), &read(1), &write(1)])
        .prints(&["updated http://"]);
    play.expect_platform(1, 3, &play.files("main"), &[play.tip("main")]);
    play.settles(0);
}

//! What passes by itself on GitHub: its limits. And its merge queue, which is left to do its work.

use super::play::*;
use crate::support::{
    controls::Fault,
    http::Response,
    scene::{PLATFORM, REPO},
};

#[test]
fn what_is_opened_too_quickly_is_left_for_the_next_run() {
    let mut files = cluster("staging/", 2);
    files.extend(cluster("production/", 2));
    let targets = "version: 1\ntargets:\n  - {name: staging, paths: [staging]}\n  - {name: production, paths: [production]}\n";
    files.push(("uplinker.yaml".to_owned(), targets.to_owned()));
    let play = Play::with(&files);
    play.scene.github.settings(REPO, |repo| repo.pace = Some(1));
    play.run().exits(5).complains(&["rate limit reached", "hint: wait"]);
    assert_eq!(play.scene.only_pull().head_ref, "uplinker/staging/platform");
    play.scene.github.settings(REPO, |repo| repo.pace = None);
    play.run().exits(0).prints(&["production, platform: edge-26.8.2 → edge-26.8.3: opened http://"]);
    play.settles(0);
}

#[test]
fn a_block_on_content_creation_is_left_for_the_next_run() {
    let play = Play::new();
    let words = r#"{"message":"You have exceeded a secondary rate limit and have been temporarily blocked from content creation. Please retry your request again later."}"#;
    let fault = Fault::Answer(Response::text(403, words));
    play.scene.github.controls().rules.fault("POST", "*/pulls", fault);
    play.run().exits(5).complains(&["rate limit reached"]);
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM), &opens(1)]);
    play.settles(0);
}

#[test]
fn a_commit_with_a_thousand_statuses_keeps_nothing_back() {
    let play = Play::opened();
    play.scene.github.settings(REPO, |repo| {
        let first = repo.statuses[0].clone();
        repo.statuses.resize(1000, first);
    });
    play.scene.github.tick(REPO, 1, "Ask again for labels, people and status");
    play.run()
        .exits(0)
        .asks(&[LOOK, &list(PLATFORM), STATUS, &ask(1, "labels"), &read(1), &write(1)])
        .prints(&["note: the status `uplinker/verify` was not set: ", "maximum number of statuses"]);
    play.settles(0);
}

#[test]
fn a_pull_request_in_the_merge_queue_is_not_pushed_out_of_it() {
    let play = Play::configured("version: 1\ndataPlane:\n  pins: ignore\n").begun();
    let (ours, body) = (play.tip(PLATFORM), play.body(1));
    let queue = play.scene.github.enqueue(REPO, 1, "ada");
    play.settles(0);
    play.publish(4);
    let waits =
        "left alone, #1 is in the merge queue and stays as it is until it is merged or taken out (http://";
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM)]).prints(&[waits]);
    assert_eq!((play.tip(PLATFORM), play.body(1)), (ours, body));
    assert!(play.scene.repo.tip(&queue).is_some(), "it is still in the queue");
    play.settles(0);

    // Merged, the next release has its pull request; taken out, the open one goes on.
    play.scene.github.merge_queued(REPO, 1);
    play.run().exits(0).prints(&["edge-26.8.3 → edge-26.8.4: opened http://"]);
    assert!(play.pull(1).merged_at.is_some());
    play.settles(0);
    let queue = play.scene.github.enqueue(REPO, 2, "ada");
    play.publish(5);
    play.run().exits(0).prints(&["left alone, #2 is in the merge queue"]);
    play.scene.repo.delete_branch(&queue);
    play.run().exits(0).prints(&["edge-26.8.5: updated http://"]);
    play.settles(0);
}

#[test]
fn what_must_not_be_merged_any_more_is_taken_out_of_the_merge_queue() {
    let play = Play::configured("version: 1\ndataPlane:\n  pins: ignore\n").begun();
    let queue = play.scene.github.enqueue(REPO, 1, "ada");
    play.commit(
        "main",
        "uplinker.yaml",
        "version: 1\ndataPlane:\n  pins: ignore\npolicy:\n  skip: [edge-26.8.3]\n",
    );
    play.run().exits(0).prints(&["closed http://"]);
    assert!(play.pull(1).merged_at.is_none() && !play.pull(1).open);
    assert!(play.scene.repo.tip(&queue).is_none(), "the queue has let it go");
    play.settles(0);
}

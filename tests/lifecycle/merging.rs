//! Merging by itself: what needs nobody, after its time, where nothing speaks against it.

use super::play::*;
use crate::support::{
    controls::Fault,
    http::Response,
    scene::{DATA_PLANE, REPO},
};

const CONFIG: &str = "version: 1\ndataPlane: {after: 0d}\nmerge: {when: routine, after: 2h}\n";
const GATED: &str =
    "version: 1\ndataPlane: {after: 0d}\nmerge: {when: routine, after: 0d}\ngates:\n  proposed: [\"ci/*\"]\n";

const MERGES: &str = "PUT /api/v3/repos/acme/config/pulls/1/merge";

/// The proxies alone are behind, so that nothing has to be rendered: the checks find nothing to settle.
fn routine(config: &str) -> Play {
    let mut files = cluster("", 2);
    for (path, text) in files.iter_mut().filter(|(path, _)| CHARTS.contains(&path.as_str())) {
        assert!(text.contains("2026.8.2"), "{path}");
        *text = text.replace("2026.8.2", "2026.8.3");
    }
    files.push(("uplinker.yaml".to_owned(), config.to_owned()));
    let play = Play::with(&files);
    play.reads_gates();
    play.scene.github.set_clock(now() - 60);
    let play = play.begun();
    assert_eq!(play.pull(1).labels, ["linkerd: routine"]);
    play
}

fn says(play: &Play, state: &str) {
    play.says(DATA_PLANE, "ci/kind", state);
}

fn is_open(play: &Play) -> bool {
    play.pull(1).open
}

#[test]
fn a_routine_change_is_merged_after_its_time() {
    let play = routine(CONFIG);
    play.run().exits(0).prints(&["note: #1 is not merged: it waits until 20"]);
    assert!(is_open(&play));
    // By the forge's clock, three hours later.
    play.scene
        .github
        .settings(REPO, |repo| repo.statuses.iter_mut().for_each(|status| status.at -= 3 * 3600));
    let pass =
        play.run().exits(0).prints(&["default, data-plane: edge-26.8.2 → edge-26.8.3: merged http://"]);
    assert_eq!(pass.sent(MERGES).len(), 1);
    let pull = play.pull(1);
    assert!(pull.merged_at.is_some());
    assert_eq!(play.files("main")["web.yaml"], play.files(DATA_PLANE)["web.yaml"]);
    play.run().exits(0).prints(&["default, data-plane: level with the control plane at edge-26.8.3"]);
}

#[test]
fn a_status_check_of_the_head_keeps_it_open() {
    let play = routine(GATED);
    play.run()
        .exits(0)
        .prints(&["#1 is not merged: it waits until `ci/*` says something, expected until 20"]);
    says(&play, "pending");
    play.run().exits(0).prints(&["#1 is not merged: it waits until `ci/kind` succeeds: pending since 20"]);
    says(&play, "failure");
    play.run().exits(0).prints(&["#1 is not merged: it waits until `ci/kind` succeeds: failed since 20"]);
    assert!(is_open(&play));
    says(&play, "success");
    play.run().exits(0).prints(&["merged http://"]);
}

#[test]
fn what_needs_a_person_is_never_merged() {
    let config = CONFIG.replace("2h", "0d");
    let kept = |change: fn(&Play)| {
        let play = routine(&config);
        change(&play);
        let pass = play.run().exits(0);
        assert!(pass.sent(MERGES).is_empty(), "it is not even tried");
        assert!(is_open(&play));
    };
    let label = |label: &'static str| {
        move |play: &Play| {
            play.scene.github.settings(REPO, |repo| {
                repo.pulls.get_mut(&1).expect("it").labels.push(label.to_owned());
            });
        }
    };
    // By a label more, by one less, as a draft, with a commit of somebody; and by our own word.
    for one in ["linkerd: attention", "Linkerd: Blocked"] {
        let play = routine(&config);
        label(one)(&play);
        play.run().exits(0);
        assert!(is_open(&play), "{one}");
    }
    kept(|play| play.scene.github.settings(REPO, |repo| repo.pulls.get_mut(&1).expect("it").labels.clear()));
    kept(|play| play.scene.github.settings(REPO, |repo| repo.pulls.get_mut(&1).expect("it").draft = true));
    kept(|play| {
        play.commit(DATA_PLANE, "notes.md", "mine\n");
    });
    let play = Play::configured(&config).begun();
    play.scene
        .github
        .settings(REPO, |repo| repo.pulls.get_mut(&1).expect("it").labels = vec!["linkerd: routine".into()]);
    play.run().exits(0);
    assert!(is_open(&play), "nothing was rendered, whatever label somebody gives it");
}

#[test]
fn what_the_forge_refuses_is_told_and_left_open() {
    let rule = "At least 1 approving review is required by reviewers with write access.";
    let play = routine(&CONFIG.replace("2h", "0d"));
    play.scene.github.settings(REPO, |repo| repo.merge_rule = Some(rule.to_owned()));
    play.run()
        .exits(0)
        .prints(&["note: #1 is not merged: cannot merge the pull request: At least 1 approving review"]);
    assert!(is_open(&play));
    let play = routine(&CONFIG.replace("2h", "0d"));
    play.scene.github.settings(REPO, |repo| repo.squash_only = true);
    play.run().exits(0).prints(&["merged http://"]);
    assert_eq!(play.scene.repo.parents("main").len(), 1, "squashed");
}

#[test]
fn a_lost_answer_to_a_merge_is_found_merged_by_the_next_run() {
    // The request is GitHub's.
    if is_elsewhere() {
        return;
    }
    let play = routine(&CONFIG.replace("2h", "0d"));
    let lost = Fault::AnswerAfter(Response::text(502, "Bad Gateway"));
    play.scene.github.controls().rules.fault_nth("PUT", "*/pulls/1/merge", 0, 1, lost);
    play.run().exits(5);
    assert!(play.pull(1).merged_at.is_some());
    play.run().exits(0).prints(&["default, data-plane: level with the control plane at edge-26.8.3"]);
}

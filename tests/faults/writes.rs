//! Every write of every scenario, found by a counter, broken in five ways.

use super::{
    place::{Place, complete, settled},
    scenario::{self, Scenario, check_kept},
};
use crate::support::{controls::WriteFault, scene::TOKEN};

const FAULTS: [(&str, WriteFault); 5] = [
    ("killed before", WriteFault::KillBefore),
    ("killed after", WriteFault::KillAfter),
    ("answer lost", WriteFault::LoseAnswer),
    ("dropped before", WriteFault::DropBefore),
    ("applied, and a 502", WriteFault::BadGatewayAfter),
];

/// Breaks each write in turn; the next run has to end where a run without faults ends.
fn break_every_write(scenario: Scenario) {
    break_with(scenario, &FAULTS);
}

/// The same for what is written as elsewhere, but for a request or two: killed before and after each.
fn kill_at_every_write(scenario: Scenario) {
    break_with(scenario, &FAULTS[..2]);
}

fn break_with(scenario: Scenario, faults: &[(&str, WriteFault)]) {
    let (clean, count) = scenario.clean();
    for n in 1..=count {
        for (name, fault) in faults {
            let case = format!("write {n} of {count}, {name}");
            let (scene, kept) = scenario.set();
            let writes = &scene.github.controls().writes;
            let before = writes.count();
            writes.plan(n, *fault);
            let done = scene.run().done().never_says(TOKEN);
            assert!(writes.count() - before >= n, "{case}: the fault never came\n{done}");
            match fault {
                WriteFault::KillBefore | WriteFault::KillAfter => {
                    assert!(done.was_killed(), "{case}\n{done}")
                }
                _ => assert!(matches!(done.status.code(), Some(0 | 5)), "{case}\n{done}"),
            }
            let again = complete(&scene);
            assert_eq!(Place::of(&scene), clean, "{case}\n{done}\n{again}");
            check_kept(&scene, &kept);
            // The same place has nothing left to write, as the run without faults showed; this looks at the cache too.
            if matches!(fault, WriteFault::KillAfter) {
                settled(&scene);
            }
        }
    }
}

#[test]
fn the_first_pull_request() {
    break_every_write(scenario::FIRST);
}

#[test]
fn a_newer_release_moves_the_open_one() {
    break_every_write(scenario::NEWER);
}

#[test]
fn the_base_changed_a_file_of_the_change_set() {
    break_every_write(scenario::BASE_TOUCHED);
}

#[test]
fn a_close_by_us() {
    break_every_write(scenario::CLOSE);
}

#[test]
fn a_release_declined_by_its_box() {
    break_every_write(scenario::DECLINED);
}

#[test]
fn a_data_plane_pull_request() {
    break_every_write(scenario::FOLLOWING);
}

#[test]
fn a_person_s_branch_is_noted() {
    break_every_write(scenario::PERSON);
}

#[test]
fn a_branch_handed_back_by_its_box() {
    break_every_write(scenario::HANDED_BACK);
}

#[test]
fn one_commit_replaces_the_other() {
    break_every_write(scenario::REPLACED);
}

#[test]
fn a_branch_left_behind_by_a_squash_merge() {
    break_every_write(scenario::LEFT_BEHIND);
}

#[test]
fn a_label_of_ours_goes_and_another_comes() {
    break_every_write(scenario::LABELS_CHANGE);
}

#[test]
fn a_repository_without_drafts() {
    break_every_write(scenario::NO_DRAFTS);
}

#[test]
fn reviewers_are_asked_one_by_one() {
    break_every_write(scenario::ONE_BY_ONE);
}

#[test]
fn a_pull_request_that_is_left_over_is_closed() {
    break_every_write(scenario::STRAY);
}

#[test]
fn two_targets() {
    kill_at_every_write(scenario::TARGETS);
}

#[test]
fn a_box_that_rebases() {
    kill_at_every_write(scenario::REBASED);
}

#[test]
fn a_box_that_asks_again() {
    kill_at_every_write(scenario::RETRIED);
}

#[test]
fn a_token_of_an_app() {
    kill_at_every_write(scenario::BY_APP);
}

#[test]
fn manifests_that_helm_makes_again() {
    kill_at_every_write(scenario::RENDERING);
}

#[test]
fn a_commit_that_github_signs() {
    break_every_write(scenario::NEWER.signed());
}

#[test]
fn commits_that_github_signs_on_every_kind_of_branch() {
    for scenario in [scenario::FIRST, scenario::BASE_TOUCHED, scenario::REPLACED, scenario::HANDED_BACK] {
        kill_at_every_write(scenario.signed());
    }
}

//! The base branch moves, or somebody else moves ours.

use super::*;

#[test]
fn a_moved_base_that_touches_no_pin_is_nothing() {
    let world = open_world();
    world.commit("main", "other", "x");
    assert_settled(&world, 2, APPEND);
}

#[test]
fn a_moved_base_is_followed_when_asked() {
    let behind = Options { update: Update::Behind, ..APPEND };
    let world = open_world();
    let first = world.tip(BRANCH).expect("a tip");
    let base = world.commit("main", "other", "x");
    assert_eq!(run_with(&world, 2, behind).done, Done::Updated);
    assert_eq!(world.info(world.tip(BRANCH).expect("a tip")).parents, [first, base]);
    assert_eq!(head_file(&world, "other"), "x");
    assert_settled(&world, 2, behind);
}

#[test]
fn a_base_that_changed_a_file_of_ours_is_followed() {
    let world = open_world();
    let first = world.tip(BRANCH).expect("a tip");
    let base = world.commit("main", PIN, "1 with a comment");
    assert_eq!(run(&world, 2).done, Done::Updated);
    assert_eq!(world.info(world.tip(BRANCH).expect("a tip")).parents, [first, base]);
    assert_settled(&world, 2, APPEND);
}

#[test]
fn update_branch_leaves_it_ours() {
    let world = open_world();
    world.commit("main", "other", "x");
    world.update_branch();
    world.commit("main", "other", "y");
    world.update_branch();
    let tip = world.tip(BRANCH);
    assert_eq!(run(&world, 2).done, Done::Updated);
    assert_eq!(log(&world), "fetch status update", "the new head needs its status, and no push");
    assert_eq!(world.tip(BRANCH), tip);
    assert_settled(&world, 2, APPEND);
    assert_settled(&world, 2, Options { update: Update::Behind, ..APPEND });
    assert_eq!(run(&world, 3).done, Done::Updated);
    assert!(world.reaches(world.tip(BRANCH).expect("a tip"), tip.expect("a tip")));
}

#[test]
fn a_base_that_moved_since_it_was_read_starts_over() {
    let world = World::new();
    let changes = world.changes(2);
    let (intent, refs) = (world.intent(2, changes.as_ref()), world.refs().expect("refs"));
    world.commit("main", "other", "x");
    assert_eq!(apply(&world.context(APPEND), &intent, &refs).expect("carried out").done, Done::StartOver);
    assert_eq!((log(&world).as_str(), world.writes.get()), ("", 0));
}

#[test]
fn two_runs_at_once_make_one_pull_request() {
    let world = World::new();
    let changes = world.changes(2);
    let (intent, refs) = (world.intent(2, changes.as_ref()), world.refs().expect("refs"));
    let one = apply(&world.context(APPEND), &intent, &refs).expect("carried out");
    let other = apply(&world.context(APPEND), &intent, &refs).expect("carried out");
    assert_eq!((one.done, other.done), (Done::Opened, Done::StartOver));
    assert_settled(&world, 2, APPEND);
}

//! Pull requests that were merged, closed, or have to be.

use super::*;

#[test]
fn a_close_by_a_person_is_a_no_until_a_newer_release() {
    for left in [true, false] {
        let world = open_world();
        world.close(Closer::Person("ada".into()));
        if !left {
            world.set(BRANCH, None);
        }
        assert_eq!(run(&world, 2).done, Done::Held(Held::Declined { release: release(2), pull: 1 }));
        assert_eq!(log(&world), "");
        assert_eq!(run(&world, 3).done, Done::Opened);
        assert_eq!(world.open_pull().expect("open").number, 2);
        assert_settled(&world, 3, APPEND);
    }
}

#[test]
fn a_reopened_one_goes_on() {
    let world = open_world();
    world.close(Closer::Person("ada".into()));
    run(&world, 2);
    world.reopen();
    assert_settled(&world, 2, APPEND);
}

#[test]
fn a_no_survives_an_emptied_body() {
    let world = open_world();
    world.edit_body(|_| String::new());
    world.close(Closer::Unknown);
    assert_eq!(run(&world, 2).done, Done::Held(Held::Declined { release: release(2), pull: 1 }));
    assert_eq!(run(&world, 3).done, Done::Opened);
}

#[test]
fn a_close_by_a_bot_or_with_the_base_is_not_a_no() {
    for closer in [Closer::Bot("stale[bot]".into()), Closer::BaseGone] {
        let world = open_world();
        world.close(closer);
        assert_eq!(run(&world, 2).done, Done::Opened);
        assert_eq!(
            log(&world),
            "fetch open status add_labels_and_reviewers update",
            "the commit is there already"
        );
        assert_settled(&world, 2, APPEND);
    }
}

#[test]
fn pins_changed_by_hand_close_it_and_that_is_not_a_no() {
    let world = open_world();
    world.commit("main", PIN, "2");
    let closed = run(&world, 2);
    assert_eq!((closed.done, closed.pull.map(|p| p.state)), (Done::Closed, Some(PullState::Closed)));
    assert_eq!(log(&world), "fetch update delete close");
    assert_eq!(world.tip(BRANCH), None);
    assert_settled(&world, 2, APPEND);
    world.commit("main", PIN, "1");
    assert_eq!(run(&world, 2).done, Done::Opened, "closing was ours, so it may come again");
}

#[test]
fn a_persons_branch_is_not_closed_by_us() {
    let world = open_world();
    world.commit(BRANCH, "person", "x");
    world.commit("main", PIN, "2");
    assert_eq!(run(&world, 2).done, Done::Held(Held::NothingLeft { pull: 1 }));
    assert_eq!((log(&world).as_str(), world.open_pull().is_some()), ("fetch", true));
}

#[test]
fn a_commit_that_comes_while_we_close_keeps_branch_and_pull_request() {
    let world = open_world();
    world.commit("main", PIN, "2");
    *world.meanwhile.borrow_mut() = Some(Box::new(|w| {
        w.commit(BRANCH, "person", "x");
    }));
    assert_eq!(run(&world, 2).done, Done::StartOver);
    assert!(world.open_pull().is_some() && head_file(&world, "person") == "x");
    assert_eq!(run(&world, 2).done, Done::Held(Held::NothingLeft { pull: 1 }));
}

#[test]
fn what_would_be_done_is_told_and_not_done() {
    let world = World::new();
    let look = |to: u32| {
        let changes = world.changes(to);
        let (intent, refs) = (world.intent(to, changes.as_ref()), world.refs().expect("refs"));
        let carried = dry_run(&world.context(APPEND), &intent, &refs).expect("foreseen");
        (carried.done, carried.pull.map(|p| p.number))
    };
    assert_eq!(look(2), (Done::Opened, None));
    run(&world, 2);
    let writes = world.writes.get();
    assert_eq!(look(2), (Done::Unchanged, Some(1)));
    assert_eq!(look(3), (Done::Updated, Some(1)));
    world.tick("uplinker:skip");
    assert_eq!(look(2), (Done::Held(Held::Declined { release: release(2), pull: 1 }), None));
    world.commit("main", PIN, "2");
    assert_eq!(look(2), (Done::Closed, Some(1)));
    world.close(Closer::Person("ada".into()));
    world.commit("main", PIN, "1");
    assert_eq!(look(2), (Done::Held(Held::Declined { release: release(2), pull: 1 }), None));
    assert_eq!(
        (world.writes.get(), world.info(world.tip(BRANCH).expect("a tip")).parents.len()),
        (writes, 1)
    );
}

#[test]
fn the_box_declines_a_release() {
    let world = open_world();
    world.tick("uplinker:skip");
    assert_eq!(run(&world, 2).done, Done::Held(Held::Declined { release: release(2), pull: 1 }));
    assert_eq!((world.open_pull(), world.tip(BRANCH)), (None, None));
    run(&world, 2);
    assert_eq!(log(&world), "", "quiet");
    assert_eq!(run(&world, 3).done, Done::Opened);
}

#[test]
fn the_box_declines_on_a_persons_branch_and_the_branch_stays() {
    let world = open_world();
    let theirs = world.commit(BRANCH, "person", "x");
    run(&world, 3);
    world.tick("uplinker:skip");
    assert_eq!(run(&world, 3).done, Done::Held(Held::Declined { release: release(3), pull: 1 }));
    assert_eq!((world.open_pull(), world.tip(BRANCH)), (None, Some(theirs)));
}

#[test]
fn a_branch_left_behind_by_a_squash_is_replaced() {
    let world = open_world();
    world.commit(BRANCH, "person", "their fix went in with it");
    world.squash();
    assert_settled(&world, 2, APPEND);
    assert_eq!(run(&world, 3).done, Done::Opened);
    assert_eq!(world.info(world.tip(BRANCH).expect("a tip")).parents, Vec::from_iter(world.tip("main")));
    assert_settled(&world, 3, APPEND);
}

#[test]
fn a_branch_with_other_commits_is_occupied() {
    let world = open_world();
    world.squash();
    let theirs = world.commit(BRANCH, "person", "x");
    assert_eq!(run(&world, 3).done, Done::Held(Held::BranchOccupied { tip: theirs }));
    let closed = open_world();
    let theirs = closed.commit(BRANCH, "person", "x");
    closed.close(Closer::Person("ada".into()));
    assert_eq!(
        run(&closed, 3).done,
        Done::Held(Held::BranchOccupied { tip: theirs }),
        "their commits are nowhere else"
    );
}

#[test]
fn a_pull_request_that_was_closed_meanwhile_starts_over() {
    let world = open_world();
    *world.meanwhile.borrow_mut() = Some(Box::new(|w| w.close(Closer::Person("ada".into()))));
    assert_eq!(run(&world, 3).done, Done::StartOver);
}

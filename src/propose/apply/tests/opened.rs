//! A pull request is opened, taken over, and moved to what is newer.

use super::*;

#[test]
fn a_new_release_is_proposed_once() {
    let world = World::new();
    let carried = run(&world, 2);
    assert_eq!(carried.done, Done::Opened);
    assert_eq!(carried.notes, ["nobody was asked"]);
    assert_eq!(log(&world), "push open status add_labels_and_reviewers update");
    assert_eq!(head_file(&world, PIN), "2");
    assert_settled(&world, 2, APPEND);
}

#[test]
fn a_newer_release_moves_the_open_one() {
    let world = open_world();
    let first = world.tip(BRANCH);
    let moved = run(&world, 3);
    assert_eq!(
        (moved.done, moved.pull.map(|p| p.title)),
        (Done::Updated, Some(format!("Linkerd → {}", release(3))))
    );
    assert_eq!(log(&world), "fetch push status update");
    assert_eq!(world.info(world.tip(BRANCH).expect("a tip")).parents, Vec::from_iter(first));
    let pull = world.open_pull().expect("open");
    assert_eq!((pull.number, pull.title), (1, format!("Linkerd → {}", release(3))));
    assert!(pull.body.contains("Goes to edge-26.8.3"));
    assert_settled(&world, 3, APPEND);
}

#[test]
fn replace_keeps_one_commit() {
    let replace = Options { history: History::Replace, ..APPEND };
    let world = World::new();
    run_with(&world, 2, replace);
    run_with(&world, 3, replace);
    assert_eq!(world.info(world.tip(BRANCH).expect("a tip")).parents, Vec::from_iter(world.tip("main")));
    assert_settled(&world, 3, replace);
}

#[test]
fn one_opened_by_hand_is_taken_over() {
    let world = World::new();
    world.forbid_pulls.set(true);
    let refused = try_run(&world, 2, APPEND).expect_err("forbidden");
    assert!(
        matches!(refused, ProposeError::Forge(ForgeError::PullsForbidden { compare: Some(_) })),
        "{refused:?}"
    );
    assert!(world.tip(BRANCH).is_some(), "the branch stays");
    world.forbid_pulls.set(false);
    let new = NewPull {
        title: "By hand".into(),
        body: String::new(),
        head: BRANCH.into(),
        base: "main".into(),
        draft: false,
    };
    world.open(&new).expect("opens");
    assert_eq!(run(&world, 2).done, Done::Updated);
    assert!(marker::read(&world.open_pull().expect("open").body).is_some());
    assert_settled(&world, 2, APPEND);
}

#[test]
fn a_block_brings_a_label_and_takes_it_away_again() {
    let world = World::new();
    let changes = world.changes(2);
    let run = |blocked: bool| {
        let mut intent = world.intent(2, changes.as_ref());
        if let Intent::Propose(proposal) = &mut intent {
            proposal.wanted.status.success = !blocked;
            proposal.wanted.text = format!("blocked: {blocked}");
            proposal.wanted.extras.labels.truncate(1);
            proposal.wanted.extras.labels.extend(blocked.then(|| BLOCKED.to_owned()));
        }
        apply(&world.context(APPEND), &intent, &world.refs().expect("refs")).expect("carried out");
        world.open_pull().expect("open").labels.iter().any(|l| l == BLOCKED)
    };
    assert!(run(true));
    assert!(!run(false));
}

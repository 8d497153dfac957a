//! What people push, tick and write while a pull request is open.

use super::*;

#[test]
fn the_box_rebases_once() {
    let world = open_world();
    let base = world.commit("main", "other", "x");
    world.tick("uplinker:rebase");
    run(&world, 2);
    assert!(world.reaches(world.tip(BRANCH).expect("a tip"), base));
    assert!(!world.open_pull().expect("open").body.contains("- [x]"));
    assert_settled(&world, 2, APPEND);
    world.tick("uplinker:rebase");
    run(&world, 2);
    assert_eq!(
        log(&world),
        "fetch status update".replace("status ", ""),
        "nothing to rebase: only the tick goes"
    );
}

#[test]
fn the_box_asks_again() {
    let world = open_world();
    world.tick("uplinker:retry");
    run(&world, 2);
    assert_eq!(log(&world), "fetch status add_labels_and_reviewers update");
    assert_settled(&world, 2, APPEND);
}

#[test]
fn a_persons_commit_is_left_alone() {
    let world = open_world();
    let theirs = world.commit(BRANCH, "person", "x");
    let carried = run(&world, 2);
    assert_eq!(carried.done, Done::Held(Held::PersonsBranch { pull: 1 }));
    assert_eq!(log(&world), "fetch update");
    let body = world.open_pull().expect("open").body;
    assert!(body.contains("leaves it alone") && body.contains("uplinker:retake"), "{body}");
    assert!(body.contains("Goes to edge-26.8.2."));
    run(&world, 2);
    assert_eq!(log(&world), "", "told once");
    run(&world, 3);
    assert_eq!(log(&world), "fetch update", "the newer release is told once");
    assert!(world.open_pull().expect("open").body.contains("`edge-26.8.3` is out"));
    run(&world, 3);
    assert_eq!((log(&world).as_str(), world.tip(BRANCH)), ("", Some(theirs)));
}

#[test]
fn a_branch_is_handed_back() {
    for history in [History::Append, History::Replace] {
        let options = Options { history, ..APPEND };
        let world = open_world();
        let theirs = world.commit(BRANCH, "person", "x");
        run_with(&world, 3, options);
        world.tick("uplinker:retake");
        assert_eq!(run_with(&world, 3, options).done, Done::Updated);
        let tip = world.tip(BRANCH).expect("a tip");
        assert_eq!((head_file(&world, PIN), head_file(&world, "person")), ("3".into(), String::new()));
        assert_eq!(
            world.reaches(tip, theirs),
            history == History::Append,
            "the history keeps what was theirs"
        );
        let body = world.open_pull().expect("open").body;
        assert!(!body.contains("leaves it alone") && !body.contains("- [x]"), "{body}");
        assert_settled(&world, 3, options);
    }
}

#[test]
fn an_amended_commit_of_ours_is_ours() {
    let world = open_world();
    world.amend();
    assert_eq!(run(&world, 2).done, Done::Updated);
    assert_eq!(log(&world), "fetch status update", "no push");
    assert_settled(&world, 2, APPEND);
    assert_eq!(run(&world, 3).done, Done::Updated);
}

#[test]
fn a_box_ticked_between_read_and_write_is_kept() {
    let world = open_world();
    *world.meanwhile.borrow_mut() = Some(Box::new(|w| w.tick("uplinker:rebase")));
    assert_eq!(run(&world, 3).done, Done::Updated);
    let body = world.open_pull().expect("open").body;
    assert!(body.contains("- [x] Apply this"), "{body}");
    run(&world, 3);
    assert!(!world.open_pull().expect("open").body.contains("- [x]"));
}

#[test]
fn a_persons_words_in_the_body_stay_until_there_is_news() {
    let world = open_world();
    world.edit_body(|body| body.replace("Goes to", "Ada says: goes to").replace('\n', "\r\n"));
    assert_settled(&world, 2, APPEND);
    assert!(world.open_pull().expect("open").body.contains("Ada says"));
}

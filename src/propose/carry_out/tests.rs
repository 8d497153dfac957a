//! Each row of the decision table, carried out in a small world; then anything at all, with faults.

#[path = "model.rs"]
mod model;

use model::{BRANCH, Fault, PIN, World, release};
use proptest::prelude::*;

use super::*;
use crate::propose::{Closer, ForgeError, History, PullState, Update, reconcile::Held, wanted::BLOCKED};

const APPEND: Options = Options { history: History::Append, update: Update::Conflict };

fn try_run(world: &World, to: u32, options: Options) -> Result<Carried, ProposeError> {
    let changes = world.changes(to);
    let wish = world.wish(to, changes.as_ref());
    let refs = world.refs().expect("refs");
    carry_out(&world.desk(options), &wish, &refs)
}

fn run_with(world: &World, to: u32, options: Options) -> Carried {
    world.log.borrow_mut().clear();
    try_run(world, to, options).expect("carried out")
}

fn run(world: &World, to: u32) -> Carried {
    run_with(world, to, APPEND)
}

fn log(world: &World) -> String {
    world.log.borrow().join(" ")
}

/// Nothing is left to do, and it takes two requests and no fetch to know it.
fn assert_settled(world: &World, to: u32, options: Options) {
    world.reads.set(0);
    let carried = run_with(world, to, options);
    assert_eq!((carried.done, log(world).as_str()), (Done::Unchanged, ""));
    assert!(world.reads.get() <= 2, "{} requests", world.reads.get());
}

fn open_world() -> World {
    let world = World::new();
    assert_eq!(run(&world, 2).done, Done::Opened);
    world
}

fn head_file(world: &World, path: &str) -> String {
    world.files(world.tip(BRANCH).expect("the branch")).get(path).cloned().unwrap_or_default()
}

#[test]
fn a_new_release_is_proposed_once() {
    let world = World::new();
    let carried = run(&world, 2);
    assert_eq!(carried.done, Done::Opened);
    assert_eq!(carried.notes, ["nobody was asked"]);
    assert_eq!(log(&world), "push status open decorate update");
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
    assert_eq!(log(&world), "fetch status decorate update");
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
        assert_eq!(log(&world), "fetch status open decorate update", "the commit is there already");
        assert_settled(&world, 2, APPEND);
    }
}

#[test]
fn pins_changed_by_hand_close_it_and_that_is_not_a_no() {
    let world = open_world();
    world.commit("main", PIN, "2");
    let closed = run(&world, 2);
    assert_eq!((closed.done, closed.pull.map(|p| p.state)), (Done::Closed, Some(PullState::Closed)));
    assert_eq!(log(&world), "fetch update close delete");
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
    assert_eq!(run(&world, 2).done, Done::Held(Held::PersonsBranch { pull: 1 }));
    assert_eq!((log(&world).as_str(), world.open_pull().is_some()), ("fetch", true));
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

#[test]
fn a_pull_request_that_was_closed_meanwhile_starts_over() {
    let world = open_world();
    *world.meanwhile.borrow_mut() = Some(Box::new(|w| w.close(Closer::Person("ada".into()))));
    assert_eq!(run(&world, 3).done, Done::StartOver);
}

#[test]
fn a_base_that_moved_since_it_was_read_starts_over() {
    let world = World::new();
    let changes = world.changes(2);
    let (wish, refs) = (world.wish(2, changes.as_ref()), world.refs().expect("refs"));
    world.commit("main", "other", "x");
    assert_eq!(carry_out(&world.desk(APPEND), &wish, &refs).expect("carried out").done, Done::StartOver);
    assert_eq!((log(&world).as_str(), world.writes.get()), ("", 0));
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
        let mut wish = world.wish(2, changes.as_ref());
        if let Wish::Propose(proposal) = &mut wish {
            proposal.wanted.status.success = !blocked;
            proposal.wanted.text = format!("blocked: {blocked}");
            proposal.wanted.extras.labels.truncate(1);
            proposal.wanted.extras.labels.extend(blocked.then(|| BLOCKED.to_owned()));
        }
        carry_out(&world.desk(APPEND), &wish, &world.refs().expect("refs")).expect("carried out");
        world.open_pull().expect("open").labels.iter().any(|l| l == BLOCKED)
    };
    assert!(run(true));
    assert!(!run(false));
}

#[test]
fn two_runs_at_once_make_one_pull_request() {
    let world = World::new();
    let changes = world.changes(2);
    let (wish, refs) = (world.wish(2, changes.as_ref()), world.refs().expect("refs"));
    let one = carry_out(&world.desk(APPEND), &wish, &refs).expect("carried out");
    let other = carry_out(&world.desk(APPEND), &wish, &refs).expect("carried out");
    assert_eq!((one.done, other.done), (Done::Opened, Done::StartOver));
    assert_settled(&world, 2, APPEND);
}

/// What happens to a world between and during runs.
#[derive(Clone, Debug)]
enum Event {
    Run(Option<(usize, Fault)>),
    NextRelease,
    BaseElsewhere(u8),
    BasePin(u32),
    PersonPushes(u8),
    Amend,
    UpdateBranch,
    Close(bool),
    Reopen,
    Squash,
    Tick(&'static str),
    EmptyBody,
    DeleteBranch,
}

fn event() -> impl Strategy<Value = Event> {
    let fault = prop_oneof![
        Just(Fault::KilledBefore),
        Just(Fault::KilledAfter),
        Just(Fault::AnswerLost),
        Just(Fault::NotSent)
    ];
    let boxes = prop_oneof![Just("skip"), Just("retake"), Just("rebase"), Just("retry")];
    prop_oneof![
        8 => proptest::option::of((1..7usize, fault)).prop_map(Event::Run),
        2 => Just(Event::NextRelease),
        1 => any::<u8>().prop_map(Event::BaseElsewhere),
        1 => (0..9u32).prop_map(Event::BasePin),
        1 => any::<u8>().prop_map(Event::PersonPushes),
        1 => Just(Event::Amend),
        1 => Just(Event::UpdateBranch),
        1 => any::<bool>().prop_map(Event::Close),
        1 => Just(Event::Reopen),
        1 => Just(Event::Squash),
        2 => boxes.prop_map(Event::Tick),
        1 => Just(Event::EmptyBody),
        1 => Just(Event::DeleteBranch),
    ]
}

/// Without faults.
fn calm_event() -> impl Strategy<Value = Event> {
    event().prop_map(|event| match event {
        Event::Run(_) => Event::Run(None),
        event => event,
    })
}

fn apply(world: &World, event: Event, to: &mut u32, options: Options) {
    match event {
        Event::Run(fault) => {
            world.fault.set(fault.map(|(n, fault)| (world.writes.get() + n, fault)));
            drop(try_run(world, *to, options));
            world.fault.set(None);
        }
        Event::NextRelease => *to += 1,
        Event::BaseElsewhere(n) => {
            world.commit("main", "app.yaml", &n.to_string());
        }
        Event::BasePin(n) => {
            world.commit("main", PIN, &n.to_string());
        }
        Event::PersonPushes(n) if world.tip(BRANCH).is_some() => {
            world.commit(BRANCH, "person", &n.to_string());
        }
        Event::PersonPushes(_) => {}
        Event::Amend => world.amend(),
        Event::UpdateBranch => world.update_branch(),
        Event::Close(person) => world.close(match person {
            true => Closer::Person("ada".into()),
            false => Closer::Bot("stale[bot]".into()),
        }),
        Event::Reopen => world.reopen(),
        Event::Squash => world.squash(),
        Event::Tick(name) => world.tick(&format!("uplinker:{name}")),
        Event::EmptyBody => world.edit_body(|_| String::new()),
        Event::DeleteBranch => world.set(BRANCH, None),
    }
}

/// Runs until nothing changes, and then once more: nothing must be written.
fn settle(world: &World, to: u32, options: Options) -> Done {
    for _ in 0..4 {
        drop(run_with(world, to, options));
    }
    let writes = world.writes.get();
    let done = run_with(world, to, options).done;
    assert_eq!(world.writes.get(), writes, "still writing: {} ({done:?})", log(world));
    done
}

/// The pull requests, but for the marker's note of the base: it only saves a commit without changes.
fn shown(world: &World) -> Vec<(PullState, String, String)> {
    let show = |(pull, _): &(PullRequest, Closer)| {
        let sign = marker::read(&pull.body).map(|m| Marker { base: None, ..m });
        (pull.state, pull.title.clone(), format!("{}{sign:?}", marker::strip(&pull.body)))
    };
    world.pulls.borrow().iter().map(show).collect()
}

fn all_options() -> impl Strategy<Value = Options> {
    (any::<bool>(), any::<bool>()).prop_map(|(replace, behind)| Options {
        history: if replace { History::Replace } else { History::Append },
        update: if behind { Update::Behind } else { Update::Conflict },
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// Whatever people do and wherever a run ends: it settles, one pull request at most is open, no commit of a
    /// person is pushed over (the world itself checks that), and what is open is right.
    #[test]
    fn any_history_settles(events in proptest::collection::vec(event(), 1..24), options in all_options()) {
        let world = World::new();
        let mut to = 2;
        for event in events {
            apply(&world, event, &mut to, options);
        }
        let done = settle(&world, to, options);
        let open = world.pulls.borrow().iter().filter(|(p, _)| p.state == PullState::Open).count();
        prop_assert!(open <= 1);
        if done == Done::Unchanged && world.changes(to).is_some() {
            prop_assert_eq!(open, 1);
            let files = world.files(world.tip(BRANCH).expect("the branch"));
            prop_assert_eq!(files.get(PIN), Some(&to.to_string()));
            let body = world.open_pull().expect("open").body;
            prop_assert!(body.contains(&format!("Goes to {}.", release(to))), "{}", body);
        }
    }

    /// Killed after any write, in any of the ways: the end is the same as of a run that was not.
    #[test]
    fn a_killed_run_ends_in_the_same_place(
        before in proptest::collection::vec(calm_event(), 0..8),
        options in all_options(),
        fault in prop_oneof![Just(Fault::KilledBefore), Just(Fault::KilledAfter), Just(Fault::AnswerLost), Just(Fault::NotSent)],
    ) {
        let build = || {
            let world = World::new();
            let mut to = 2;
            for event in before.clone() {
                apply(&world, event, &mut to, options);
            }
            (world, to)
        };
        let (calm, to) = build();
        let start = calm.writes.get();
        drop(try_run(&calm, to, options));
        let writes = calm.writes.get() - start;
        let done = settle(&calm, to, options);
        for n in 1..=writes {
            let (world, to) = build();
            apply(&world, Event::Run(Some((n, fault))), &mut to.clone(), options);
            prop_assert_eq!(&settle(&world, to, options), &done, "write {} of {}", n, writes);
            prop_assert_eq!(world.tip(BRANCH), calm.tip(BRANCH), "write {} of {}", n, writes);
            prop_assert_eq!(shown(&world), shown(&calm), "write {} of {}", n, writes);
        }
    }
}

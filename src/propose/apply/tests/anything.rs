//! Anything at all, in any order, with faults: whatever happens, it settles.

use proptest::prelude::*;

use super::{model::Fault, *};

/// What happens to a world between and during runs.
#[derive(Clone, Debug)]
enum Event {
    Run(Option<(usize, Fault)>),
    NextRelease,
    BaseElsewhere(u8),
    BasePin(u32),
    PersonPushes(u8),
    Amend,
    AmendFile(&'static str, u8),
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
        1 => (prop_oneof![Just("person"), Just(PIN)], any::<u8>()).prop_map(|(path, n)| Event::AmendFile(path, n)),
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
        Event::AmendFile(path, n) => world.amend_file(path, &n.to_string()),
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

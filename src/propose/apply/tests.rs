//! Each row of the decision table, carried out in a small world; then anything at all, with faults.

mod anything;
mod closed;
mod model;
mod moved;
mod opened;
mod people;

use model::{BRANCH, PIN, World, release};

use jiff::Timestamp;

use super::*;
use crate::{
    explain::{Marker, marker},
    propose::{
        History, Options, Sought, UpToDate, Update,
        forge::{Closer, Forge as _, ForgeError, PullState},
        reconcile::Held,
        up_to_date,
        wanted::BLOCKED,
    },
    repo::Remote as _,
};

const APPEND: Options = Options { history: History::Append, update: Update::Conflict };

fn try_run(world: &World, to: u32, options: Options) -> Result<Applied, ProposeError> {
    let changes = world.changes(to);
    let intent = world.intent(to, changes.as_ref());
    let refs = world.refs().expect("refs");
    let now = Timestamp::UNIX_EPOCH;
    let (kept, writes) = (kept(world, &intent, &refs, options, now), world.writes.get());
    let applied = apply(&world.context(options), &intent, &refs);
    match (kept, &applied) {
        (Some(kept), applied) => {
            let applied = applied.as_ref().expect("nothing to fail at");
            assert_eq!(world.writes.get(), writes, "it was said to be up to date: {}", log(world));
            assert_eq!(applied.done, kept.held.map_or(Done::Unchanged, Done::Held));
            assert_eq!(applied.pull, Some(kept.pull));
        }
        (None, Ok(Applied { done: Done::Unchanged, pull: Some(_), .. })) => {
            panic!("it was not said to be up to date")
        }
        (None, _) => {}
    }
    applied
}

/// What is said before anything is made.
fn kept(
    world: &World,
    intent: &Intent<'_>,
    refs: &Refs,
    options: Options,
    now: Timestamp,
) -> Option<UpToDate> {
    let context = world.context(options);
    let wanted = &intent.proposal()?.wanted;
    let sought = Sought {
        target: &context.target,
        stage: context.stage,
        release: wanted.release,
        branch: &context.branch,
        base: &context.base,
        options,
        now,
    };
    let pulls = world.pulls.borrow().iter().map(|(pull, _)| pull.clone()).collect();
    up_to_date(&sought, pulls, refs, |basis| Some(basis) == wanted.basis.as_ref())
}

fn run_with(world: &World, to: u32, options: Options) -> Applied {
    world.log.borrow_mut().clear();
    try_run(world, to, options).expect("carried out")
}

fn run(world: &World, to: u32) -> Applied {
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

#[test]
fn what_stands_until_a_day_is_made_again_on_it() {
    let world = open_world();
    let changes = world.changes(2);
    let (intent, refs) = (world.intent(2, changes.as_ref()), world.refs().expect("refs"));
    let kept = |now| kept(&world, &intent, &refs, APPEND, now);
    let held = kept(Timestamp::UNIX_EPOCH).expect("up to date").basis.stretch;
    let (since, until) = held.since.zip(held.until).expect("both ends");
    let before = |at: Timestamp| at - jiff::Span::new().seconds(1);
    assert!(kept(since).is_some() && kept(before(until)).is_some());
    assert!(kept(before(since)).is_none() && kept(until).is_none());
}

fn head_file(world: &World, path: &str) -> String {
    world.files(world.tip(BRANCH).expect("the branch")).get(path).cloned().unwrap_or_default()
}

//! The matrix: how rendered charts lie in a repository, which charts, with which values, what was done to them by hand,
//! and what the configuration says of that. Nothing moves without a reason, an upgrade is what a fresh render gives, what
//! was changed by hand is named and nothing else, and what no chart gives is its owner's.
//!
//! `cargo test` takes a sample in which every two values of two dimensions meet. `UPLINKER_MATRIX=all` takes everything, a
//! pattern such as `*/linkerd-viz/*/Removed/*` what it names; `scripts/matrix` does so. With `UPLINKER_REAL_CHARTS`, a
//! folder of Linkerd's packages, the same is asked of those.
#![allow(clippy::print_stdout)]

mod by_hand;
mod cases;
mod cells;
mod goldens;
mod known;
mod layout;
mod oracle;
mod repository;
mod world;

use std::{
    env,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use cells::{Cell, all, sample};
use known::KNOWN;
use world::World;

/// Chooses the cells that are asked for.
fn chosen() -> Vec<Cell> {
    let all = all();
    match env::var("UPLINKER_MATRIX").ok().as_deref() {
        None => sample(&all),
        Some("all") => all,
        Some(pattern) => all.into_iter().filter(|cell| cell.is_named(pattern)).collect(),
    }
}

/// Runs cells over the cores, and returns each with what is wrong.
fn run_all(world: &World, cells: &[Cell]) -> Vec<(Cell, Vec<String>)> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
            let wrong = oracle::run(world, cell);
            done.lock().unwrap().push((*cell, wrong));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(cell, _)| *cell);
    done
}

/// Fails for a cell that is wrong and not known to be, and for one that is known to be wrong and is not.
fn judge(done: &[(Cell, Vec<String>)]) {
    let mut report = String::new();
    let mut failures = 0;
    for (cell, wrong) in done {
        let known = KNOWN.iter().find(|(pattern, _)| cell.is_named(pattern));
        match (known, wrong.is_empty()) {
            (None, false) => {
                failures += 1;
                report.push_str(&format!("\n=== {cell}\n{}\n", wrong.join("\n")));
            }
            (Some((pattern, reason)), true) => {
                failures += 1;
                report.push_str(&format!("\n=== {cell} is right, though `{pattern}` is known: {reason}\n"));
            }
            _ => {}
        }
    }
    assert!(failures == 0, "{failures} of {} cells are not as they should be\n{report}", done.len());
}

#[test]
fn our_charts_in_every_form_with_every_change() {
    judge(&run_all(world::ours(), &chosen()));
}

#[test]
fn real_charts_in_every_form_with_every_change() {
    let Some(world) = world::real() else { return };
    judge(&run_all(world, &chosen()));
}

#[test]
fn repositories_that_went_wrong_once() {
    let wrong = cases::run().unwrap_or_default();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_the_linkerd_cli_prints_changes_nothing_else() {
    let wrong = goldens::run().unwrap_or_default();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_sample_is_spread_over_all_dimensions() {
    let (all, sample) = (all(), sample(&all()));
    assert!(sample.len() < 90 && sample.len() * 10 < all.len(), "{} of {}", sample.len(), all.len());
    for n in 0..5 {
        let values = |cells: &[Cell]| {
            cells.iter().map(|c| c.words()[n].clone()).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(values(&all), values(&sample));
    }
}

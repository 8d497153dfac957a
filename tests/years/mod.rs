//! Years of three environments, by chance. [`life`] is what happens in one, [`rules`] what holds after each step of it, and a
//! [`place::Place`] where it happens: `hosted` is a Git server and the fake GitHub, `memory` a tree and a forge in memory. The
//! pipeline is the real one in both, and so is the program's death between two writes.
#![allow(clippy::print_stdout, reason = "a year is told as it goes")]

use std::{ops::Range, panic, thread};

use life::Year;
use place::Place;

pub mod chance;
pub mod fleet;
pub mod hosted;
pub mod life;
pub mod memory;
pub mod place;
pub mod rules;

/// The steps of a whole year.
pub const WHOLE: u64 = 2 * 365;

/// Returns the release that a year begins at: the first, where it is long enough to come to the last, else any.
pub fn first_of(seed: u64, steps: u64) -> usize {
    if steps < WHOLE { chance::Chance(seed).of(fleet::RELEASES - 8) } else { 0 }
}

/// Takes years of so many steps, one for each seed, on all cores; in so many of a hundred runs the program dies. `again` is the
/// command that takes one again. Returns how many pull requests were merged.
pub fn all<P: Place>(
    place: impl Fn(usize) -> P + Sync,
    (seeds, steps): (Range<u64>, u64),
    mortality: u64,
    again: impl Fn(u64) -> String + Sync,
) -> usize {
    let one = |seed: u64| {
        let mut year = Year::new(&place, (seed, first_of(seed, steps)), mortality, &again(seed));
        (0..steps).for_each(|_| year.step());
        println!("seed {seed}: {}", year.summary());
        year.merged()
    };
    let threads = thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let share = |thread: u64| seeds.clone().filter(|seed| seed % threads == thread).map(one).sum::<usize>();
    thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|thread| scope.spawn(move || share(thread))).collect();
        all.into_iter().map(|one| one.join().unwrap_or_else(|defect| panic::resume_unwind(defect))).sum()
    })
}

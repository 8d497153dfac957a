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

/// The half-days of a whole year.
pub const WHOLE: u64 = 2 * 365;

/// How much of a year there is, in half-days.
#[derive(Clone, Copy)]
pub struct Span {
    /// All of it.
    pub half_days: u64,
    /// From one run to the next.
    pub pace: u64,
}

// === impl Span ===

impl Span {
    /// Returns the command that takes one year again.
    pub fn again(self, seed: u64, test: &str) -> String {
        let Self { half_days, pace } = self;
        let which = format!(
            "UPLINKER_SEED={seed} UPLINKER_YEARS=1 UPLINKER_HALF_DAYS={half_days} UPLINKER_PACE={pace}"
        );
        format!("{which} cargo test --locked --test main {test}")
    }
}

/// Returns the release that a year begins at: the first, where it is long enough to come to the last, else any.
pub fn first_of(seed: u64, half_days: u64) -> usize {
    if half_days < WHOLE { chance::Chance(seed).of(fleet::RELEASES - 8) } else { 0 }
}

/// Takes years, one for each seed, on all cores; in so many of a hundred runs the program dies. `again` is the command that
/// takes one again. Returns how many pull requests were merged.
pub fn all<P: Place>(
    place: impl Fn(usize) -> P + Sync,
    (seeds, Span { half_days, pace }): (Range<u64>, Span),
    mortality: u64,
    again: impl Fn(u64) -> String + Sync,
) -> usize {
    let one = |seed: u64| {
        let mut year = Year::new(&place, (seed, first_of(seed, half_days)), mortality, &again(seed));
        (0..half_days / pace).for_each(|_| year.step(pace));
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

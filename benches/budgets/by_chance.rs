//! Parts of a thousand years by chance, in memory, with the rules held after each run: what fails ends the benchmark.

use std::time::Instant;

use super::{
    Scale,
    table::{Amount, Row},
    years::{all, memory::Memory},
};

/// Half a month each, from another release on.
const STEPS: u64 = 30;
/// The most seconds that one may take.
const EACH: f64 = 0.5;

pub fn rows(scale: &Scale) -> Vec<Row> {
    let years = scale.of(1000) as u64;
    let again = |seed| {
        format!(
            "UPLINKER_SEED={seed} UPLINKER_YEARS=1 UPLINKER_STEPS={STEPS} cargo test --locked --test main fifty_years"
        )
    };
    let begin = Instant::now();
    let merged = all(Memory::new, (1..years + 1, STEPS), 10, again);
    let took = Amount::Seconds(begin.elapsed().as_secs_f64());
    let work = format!("{years} years by chance, {STEPS} steps of each, {merged} pull requests merged");
    vec![Row::at_most(work, took, Amount::Seconds(EACH * years as f64))]
}

//! A thousand years by chance, in memory, with the rules held after each run: what fails ends the benchmark. `UPLINKER_SEED=7`
//! begins with that one.

use std::time::Instant;

use super::{
    Scale,
    table::{Amount, Row},
    years::{Span, WHOLE, all, memory::Memory},
};

/// A year with a run every three days.
const SPAN: Span = Span { half_days: WHOLE, pace: 6 };
/// The most seconds that one may take.
const EACH: f64 = 2.0;

pub fn rows(scale: &Scale) -> Vec<Row> {
    let years = scale.of(1000) as u64;
    let first = std::env::var("UPLINKER_SEED").map_or(1, |seed| seed.parse::<u64>().expect("a seed"));
    let begin = Instant::now();
    let merged = all(Memory::new, (first..first + years, SPAN), 10, |seed| SPAN.again(seed, "twenty_years"));
    let took = Amount::Seconds(begin.elapsed().as_secs_f64());
    let work = format!(
        "{years} years by chance with {} runs each, {merged} pull requests merged",
        SPAN.half_days / SPAN.pace
    );
    vec![Row::at_most(work, took, Amount::Seconds(EACH * years as f64))]
}

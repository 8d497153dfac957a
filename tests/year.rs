//! Years of three environments, by chance, with the rules that hold at all times held against the repository itself after each
//! run. `cargo test` takes a part of one year on a Git server and the fake GitHub with a run every twelve hours, and twenty in memory
//! with a run every two months; `cargo bench -- years` a thousand with a run every three days.
//!
//! `UPLINKER_YEARS=5 cargo test --release --test main hosted` takes whole years; `UPLINKER_SEED=7` begins with that one,
//! `UPLINKER_PACE=14` has a run every week, `UPLINKER_HALF_DAYS=100` ends them earlier. What fails prints the command that tells
//! it again.

use std::env;

use crate::years::{
    Span, WHOLE,
    hosted::{self, Hosted},
    memory::Memory,
    place::Place,
};

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// Takes so many years, unless the environment says otherwise.
fn take<P: Place>(
    test: &str,
    place: impl Fn(usize) -> P + Sync,
    (years, span): (u64, Span),
    mortality: u64,
) -> usize {
    let first = number("UPLINKER_SEED").unwrap_or(1);
    let (years, half_days) = match number("UPLINKER_YEARS") {
        Some(years) => (years, number("UPLINKER_HALF_DAYS").unwrap_or(WHOLE)),
        None => (years, span.half_days),
    };
    let span = Span { half_days, pace: number("UPLINKER_PACE").unwrap_or(span.pace) };
    crate::years::all(place, (first..first + years, span), mortality, |seed| span.again(seed, test))
}

#[test]
fn the_rules_hold_at_every_step_of_a_hosted_year() {
    if hosted::alone() {
        return;
    }
    let merged = take(hosted::TEST, Hosted::new, (1, Span { half_days: 40, pace: 1 }), 5);
    assert!(merged > 5, "little happened");
}

#[test]
fn the_rules_hold_at_every_step_of_twenty_years_in_memory() {
    let span = Span { half_days: WHOLE, pace: 122 };
    let merged = take("the_rules_hold_at_every_step_of_twenty_years_in_memory", Memory::new, (20, span), 10);
    assert!(merged > 5, "little happened");
}

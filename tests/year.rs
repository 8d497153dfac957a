//! Years of three environments, by chance, with the rules that hold at all times held against the repository itself after each
//! run. `cargo test` takes a part of one year on a Git server and the fake GitHub, and parts of fifty in memory, each from another
//! release on; `cargo bench -- years` parts of a thousand.
//!
//! `UPLINKER_YEARS=5 cargo test --release --test main hosted` takes whole years; `UPLINKER_SEED=7` begins with that one,
//! `UPLINKER_STEPS=100` ends them earlier. What fails prints the command that tells it again.

use std::env;

use crate::years::{
    WHOLE,
    hosted::{self, Hosted},
    memory::Memory,
    place::Place,
};

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// Takes so many years of so many steps, unless the environment says otherwise.
fn take<P: Place>(
    test: &str,
    place: impl Fn(usize) -> P + Sync,
    (years, steps): (u64, u64),
    mortality: u64,
) -> usize {
    let first = number("UPLINKER_SEED").unwrap_or(1);
    let (years, steps) = match number("UPLINKER_YEARS") {
        Some(years) => (years, number("UPLINKER_STEPS").unwrap_or(WHOLE)),
        None => (years, steps),
    };
    let again = |seed| {
        format!(
            "UPLINKER_SEED={seed} UPLINKER_YEARS=1 UPLINKER_STEPS={steps} cargo test --locked --test main {test}"
        )
    };
    crate::years::all(place, (first..first + years, steps), mortality, again)
}

#[test]
fn the_rules_hold_at_every_step_of_a_hosted_year() {
    if hosted::alone() {
        return;
    }
    let merged = take(hosted::TEST, Hosted::new, (1, 60), 5);
    assert!(merged > 5, "little happened");
}

#[test]
fn the_rules_hold_at_every_step_of_fifty_years_in_memory() {
    let merged = take("the_rules_hold_at_every_step_of_fifty_years_in_memory", Memory::new, (50, 10), 10);
    assert!(merged > 10, "little happened");
}

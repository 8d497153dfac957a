//! The table on github.com, whose API is on a host of its own.

pub const FORGE: crate::support::flavor::Flavor = crate::support::flavor::Flavor::DotCom;

rows!();

// What GitHub alone has: its permissions, its rules, its limits.
#[path = "../lifecycle/barriers.rs"]
mod barriers;
#[path = "../lifecycle/first.rs"]
mod first;
#[path = "../lifecycle/late.rs"]
mod late;
#[path = "../lifecycle/limits.rs"]
mod limits;
#[path = "../lifecycle/rules.rs"]
mod rules;

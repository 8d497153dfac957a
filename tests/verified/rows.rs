//! Rows of the table of pull requests where GitHub makes and signs the commits.

pub const FORGE: crate::support::flavor::Flavor = crate::support::flavor::Flavor::Signing;

#[path = "../lifecycle/closed.rs"]
mod closed;
#[path = "../lifecycle/merged.rs"]
mod merged;
#[path = "../lifecycle/moved.rs"]
mod moved;
#[path = "../lifecycle/opened.rs"]
mod opened;
#[path = "../lifecycle/people.rs"]
mod people;
#[allow(dead_code, reason = "only the rows of GitHub use all of it")]
#[path = "../lifecycle/play.rs"]
mod play;

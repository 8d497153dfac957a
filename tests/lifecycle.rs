//! The life of a pull request, end to end: the built program, the fake GitHub, the real Git server. One test for each
//! row of the table in the documentation, with the requests, the refs, the trees and the words in the assertion.

/// The forge that the requests in the assertions are for; `tests/forges.rs` runs the same on the others.
pub const FORGE: crate::support::flavor::Flavor = crate::support::flavor::Flavor::GitHub;

mod barriers;
mod closed;
mod first;
mod fleet;
mod foretold;
mod gates;
mod lagging;
mod late;
mod limits;
mod merged;
mod merging;
mod moved;
mod odd;
mod opened;
mod people;
mod planned;
mod play;
mod promoted;
mod refused;
mod renamed;
mod restarts;
mod rollback;
mod rules;
mod settings;
mod standing;
mod waves;

//! The table on GitLab.

pub const FORGE: crate::support::flavor::Flavor = crate::support::flavor::Flavor::GitLab;

#[path = "../lifecycle/closed.rs"]
mod closed;
#[path = "../lifecycle/fleet.rs"]
mod fleet;
#[path = "../lifecycle/gates.rs"]
mod gates;
#[path = "../lifecycle/merged.rs"]
mod merged;
#[path = "../lifecycle/merging.rs"]
mod merging;
#[path = "../lifecycle/moved.rs"]
mod moved;
#[path = "../lifecycle/opened.rs"]
mod opened;
#[path = "../lifecycle/people.rs"]
mod people;
#[path = "../lifecycle/planned.rs"]
mod planned;
#[path = "../lifecycle/play.rs"]
mod play;
#[path = "../lifecycle/promoted.rs"]
mod promoted;
#[path = "../lifecycle/restarts.rs"]
mod restarts;
#[path = "../lifecycle/rollback.rs"]
mod rollback;
#[path = "../lifecycle/settings.rs"]
mod settings;

//! The life of a pull request on the other forges: the same rows as in `tests/lifecycle.rs`, against a fake of each.
#![allow(clippy::unwrap_used, clippy::expect_used)]
// The rows that only GitHub has use a part of what they share.
#![allow(dead_code)]
// Each forge runs the same rows.
#![allow(clippy::duplicate_mod)]

/// The rows that every forge has.
macro_rules! rows {
    () => {
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
    };
}

#[path = "forges/gitea.rs"]
mod gitea;
#[path = "forges/gitlab.rs"]
mod gitlab;
mod support;

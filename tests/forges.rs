//! The life of a pull request on the other forges: the same rows as in `tests/lifecycle.rs`, against a fake of each. Those are
//! on GitHub as an Enterprise Server has it; `tests/directory.rs` has the rows of the forge that is a folder.

/// The rows that every forge has.
macro_rules! rows {
    () => {
        #[path = "../lifecycle/closed.rs"]
        mod closed;
        #[path = "../lifecycle/fleet.rs"]
        mod fleet;
        #[path = "../lifecycle/gates.rs"]
        mod gates;
        #[path = "../lifecycle/lagging.rs"]
        mod lagging;
        #[path = "../lifecycle/merged.rs"]
        mod merged;
        #[path = "../lifecycle/merging.rs"]
        mod merging;
        #[path = "../lifecycle/moved.rs"]
        mod moved;
        #[path = "../lifecycle/odd.rs"]
        mod odd;
        #[path = "../lifecycle/opened.rs"]
        mod opened;
        #[path = "../lifecycle/people.rs"]
        mod people;
        #[path = "../lifecycle/planned.rs"]
        mod planned;
        #[allow(dead_code, reason = "only the rows of GitHub use all of it")]
        #[path = "../lifecycle/play.rs"]
        mod play;
        #[path = "../lifecycle/promoted.rs"]
        mod promoted;
        #[path = "../lifecycle/refused.rs"]
        mod refused;
        #[path = "../lifecycle/renamed.rs"]
        mod renamed;
        #[path = "../lifecycle/restarts.rs"]
        mod restarts;
        #[path = "../lifecycle/rollback.rs"]
        mod rollback;
        #[path = "../lifecycle/settings.rs"]
        mod settings;
        #[path = "../lifecycle/standing.rs"]
        mod standing;
        #[path = "../lifecycle/waves.rs"]
        mod waves;
    };
}

mod dotcom;
mod gitea;
mod gitlab;

//! Step 10, propose: the pull request that carries a plan, and what becomes of it.
//!
//! In: the wanted proposal and what was observed. Out: actions, in an order that is safe to be killed in.
//! [`reconcile`] decides and is pure; a [`Forge`](forge::Forge) carries out; this is where commits and pull requests meet.

mod apply;
mod context;
pub mod forge;
pub mod observe;
pub mod ownership;
pub mod reconcile;
mod up_to_date;
mod wanted;

use crate::pins::Stage;

pub use apply::{Applied, CommitParts, Done, Intent, Proposal, apply, dry_run};
pub use context::{History, Options, ProposalContext, ProposeError, Update};
pub use reconcile::Held;
pub use up_to_date::{Sought, UpToDate, up_to_date};
pub use wanted::{ATTENTION, BLOCKED, ROUTINE, Wanted, is_routine, title_of};

/// Returns the branch of a target's stage.
pub fn branch(prefix: &str, target: &str, stage: Stage) -> String {
    format!("{prefix}{target}/{}", stage.name())
}

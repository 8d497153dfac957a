//! Step 10, propose: the pull request that carries a plan, and what becomes of it.
//!
//! In: the wanted proposal and what was observed. Out: actions, in an order that is safe to be killed in.
//! [`reconcile`] decides and is pure; a [`Forge`](forge::Forge) carries out; this is where commits and pull requests meet.

mod apply;
mod context;
mod declined;
pub mod forge;
pub mod observe;
pub mod ownership;
pub mod reconcile;
mod up_to_date;
mod wanted;

use crate::{linkerd::EdgeVersion, pins::Stage};
use forge::{Closer, ForgeError, PullRequest};

pub use apply::{Applied, CommitParts, Done, Intent, Proposal, apply, dry_run};
pub use context::{History, Options, ProposalContext, ProposeError, Update};
pub use reconcile::Held;
pub use up_to_date::{Sought, UpToDate, up_to_date};
pub use wanted::{ATTENTION, BLOCKED, ROUTINE, Wanted, is_routine, title_of};

/// Returns the branch of a target's stage.
pub fn branch(prefix: &str, target: &str, stage: Stage) -> String {
    format!("{prefix}{target}/{}", stage.name())
}

/// Says why a pull request is not where it would be opened now.
pub fn why_elsewhere(branch: &str, prefix: &str) -> String {
    format!("its branch `{branch}` does not begin with `{prefix}`, as `branch.prefix` says")
}

/// Tells whether a branch is that of a target's stage under some prefix.
pub fn is_branch_of(branch: &str, target: &str, stage: Stage) -> bool {
    let prefix = branch.strip_suffix(&self::branch("", target, stage));
    prefix.is_some_and(|prefix| prefix.len() > 1 && prefix.ends_with(['/', '-']))
}

/// Tells whether a branch may be that of a target's stage, whatever they are called and whatever prefix it is under.
pub fn is_like_a_branch(branch: &str) -> bool {
    let stages = [Stage::Platform, Stage::DataPlane].map(Stage::name);
    let before = branch.rsplit_once('/').filter(|(_, stage)| stages.contains(stage));
    before.is_some_and(|(before, _)| before.trim_start_matches(['/', '-']).contains(['/', '-']))
}

/// Says who declined a release of a target's stage, of the pull requests of its branch; `closer` is asked no more than once
/// for each of them.
pub fn declined(
    (target, stage): (&str, Stage),
    release: EdgeVersion,
    pulls: Vec<PullRequest>,
    closer: impl Fn(u64) -> Result<Closer, ForgeError>,
) -> Result<Option<Held>, ForgeError> {
    let mut seen = observe::seen(pulls, target, stage);
    loop {
        match declined::declined(release, &seen) {
            Ok(no) => return Ok(no.map(|no| Held::Declined { release: no.release, pull: no.pull })),
            Err(observe::Question::Closer(number)) => {
                let told = closer(number)?;
                let asked = seen.iter_mut().filter(|seen| seen.pull.number == number);
                asked.for_each(|seen| seen.closer = Some(told.clone()));
            }
            // The head has no part in it.
            Err(observe::Question::Head) => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_of_a_stage_is_known_under_any_prefix_and_nothing_else_is() {
        for prefix in ["uplinker/", "bots/mesh-", "x-"] {
            let branch = branch(prefix, "production-eu", Stage::Platform);
            assert!(is_like_a_branch(&branch), "{branch}");
            assert!(is_branch_of(&branch, "production-eu", Stage::Platform), "{branch}");
            assert!(!is_branch_of(&branch, "production-eu", Stage::DataPlane), "{branch}");
        }
        // A longer name that ends alike is taken for one under another prefix: the marker tells.
        assert!(is_branch_of("uplinker/production-eu/platform", "eu", Stage::Platform));
        for other in
            ["platform", "feature/platform", "/platform", "-/platform", "a/b/platforms", "a/b/platform/c"]
        {
            assert!(!is_like_a_branch(other), "{other}");
        }
        assert!(!is_branch_of("neu/platform", "eu", Stage::Platform));
        assert!(!is_branch_of("/eu/platform", "eu", Stage::Platform));
    }
}

//! The targets of a repository that lists none.

use jiff::Timestamp;

use crate::{
    config::TargetConfig,
    linkerd::EdgeVersion,
    pins::{Inventory, Stage},
    plan::{self, Split, Target},
    policy::{self, Decision},
    release::Catalog,
};

/// What is known of where everything is to go.
#[derive(Clone, Copy, Default)]
pub(super) struct Aim {
    /// `--to`.
    pub to: Option<EdgeVersion>,
    /// The time, where the policy may be asked.
    pub now: Option<Timestamp>,
}

/// Makes the targets, each like the one that is configured for all.
pub(super) fn targets(
    inventory: &Inventory,
    options: &plan::Options,
    catalog: &Catalog,
    split: Split,
    like: &TargetConfig,
    aim: Aim,
) -> Vec<TargetConfig> {
    let wanted = wanted(inventory, options, catalog, like, aim).or_else(|| plan::newest(inventory));
    let made = plan::split(inventory, split, wanted, &catalog.knowledge);
    made.into_iter().map(|target| like.like(target)).collect()
}

/// Finds the release that is wanted: of what the policy says of each installation, the newest.
fn wanted(
    inventory: &Inventory,
    options: &plan::Options,
    catalog: &Catalog,
    like: &TargetConfig,
    aim: Aim,
) -> Option<EdgeVersion> {
    let installations = &inventory.facts.installations;
    if aim.to.is_some() || installations.len() < 2 {
        return aim.to;
    }
    let now = aim.now?;
    let policy = policy::Policy { to: aim.to.or(like.policy.to), ..like.policy.clone() };
    let decide = |name| {
        let target = Target::serving(name);
        let needs = plan::needs(inventory, &target, Stage::Platform, options);
        policy::decide(&policy, catalog, &needs, now)
    };
    let decisions: Vec<Decision> = installations.iter().map(decide).collect();
    let goes = decisions.iter().filter_map(|decision| match decision {
        Decision::Target { version, hop_towards, .. } => Some(hop_towards.map_or(*version, |(last, _)| last)),
        Decision::Hold(_) => None,
    });
    let waits = decisions.iter().filter_map(|decision| match decision {
        Decision::Hold(hold) => hold.release,
        Decision::Target { .. } => None,
    });
    goes.max().or_else(|| waits.max())
}

//! The targets of a repository that lists none.

use jiff::Timestamp;

use crate::{
    config::TargetConfig,
    linkerd::EdgeVersion,
    pins::Stage,
    pipeline::survey::Survey,
    plan::{self, Target},
    policy::{self, Decision},
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
pub(super) fn targets(survey: &Survey<'_>, aim: Aim) -> Vec<TargetConfig> {
    let Some(like) = survey.targets.first() else { return Vec::new() };
    let knowledge = &survey.catalog.knowledge;
    let wanted = wanted(survey, aim, like).or_else(|| plan::newest(&survey.inventory));
    let made = plan::split(&survey.inventory, survey.config().split, wanted, knowledge);
    made.into_iter().map(|target| like.like(target)).collect()
}

/// Finds the release that is wanted: of what the policy says of each installation, the newest.
fn wanted(survey: &Survey<'_>, aim: Aim, like: &TargetConfig) -> Option<EdgeVersion> {
    let installations = &survey.inventory.facts.installations;
    if aim.to.is_some() || installations.len() < 2 {
        return aim.to;
    }
    let now = aim.now?;
    let policy = policy::Policy { to: aim.to.or(like.policy.to), ..like.policy.clone() };
    let decide = |name| {
        let target = Target::serving(name);
        let needs = plan::needs(&survey.inventory, &target, Stage::Platform, &survey.options);
        policy::decide(&policy, survey.catalog, &needs, now)
    };
    let decisions: Vec<Decision> = installations.iter().map(decide).collect();
    let goes = decisions.iter().filter_map(|decision| match decision {
        Decision::Target { version, hop_towards } => Some(hop_towards.map_or(*version, |(last, _)| last)),
        Decision::Hold(_) => None,
    });
    let waits = decisions.iter().filter_map(|decision| match decision {
        Decision::Hold(hold) => hold.release,
        Decision::Target { .. } => None,
    });
    goes.max().or_else(|| waits.max())
}

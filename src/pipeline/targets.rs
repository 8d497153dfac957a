//! The targets of a repository that does not list each of them.

use std::{collections::BTreeSet, sync::Arc};

use jiff::Timestamp;

use crate::{
    config::TargetConfig,
    linkerd::EdgeVersion,
    pins::{Inventory, Stage},
    plan::{self, Split, Target, Wave, WaveShare},
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

/// An entry whose labels no installation has.
pub(super) struct Unlabelled {
    /// Its name.
    pub target: String,
    /// The first of its labels that none has, where there is one.
    pub unknown: Option<String>,
    /// The labels that installations have.
    pub known: Vec<String>,
}

/// Gives each entry with labels the installations that have all of them.
pub(super) fn labelled(
    inventory: &Inventory,
    configured: &[TargetConfig],
) -> Result<Vec<TargetConfig>, Unlabelled> {
    let narrowed = |entry: &TargetConfig| {
        if entry.labels.is_empty() {
            return Ok(entry.clone());
        }
        let labels = inventory.facts.labels.iter();
        let fits = labels.filter(|(_, has)| entry.labels.iter().all(|label| has.contains(label)));
        let fits: BTreeSet<Arc<str>> = fits.map(|(name, _)| name.clone()).collect();
        match fits.is_empty() {
            true => Err(unlabelled(inventory, entry)),
            false => Ok(entry.like(plan::narrowed(inventory, &entry.target, &fits))),
        }
    };
    configured.iter().map(narrowed).collect()
}

fn unlabelled(inventory: &Inventory, entry: &TargetConfig) -> Unlabelled {
    let all: BTreeSet<&(String, String)> = inventory.facts.labels.values().flatten().collect();
    let text = |(key, value): &(String, String)| format!("{key}={value}");
    let known: Vec<String> = all.iter().map(|label| text(label)).collect();
    let unknown = entry.labels.iter().find(|label| !all.contains(label)).map(text);
    Unlabelled { target: entry.target.name.clone(), unknown, known }
}

/// Makes the targets of what is configured, each like the one that it is made of.
pub(super) fn targets(
    inventory: &Inventory,
    options: &plan::Options,
    catalog: &Catalog,
    configured: &[TargetConfig],
    aim: Aim,
) -> Vec<TargetConfig> {
    let taken: Vec<&str> = configured.iter().map(|target| target.group.as_str()).collect();
    let made = |like: &TargetConfig| -> Vec<TargetConfig> {
        let to = match like.split {
            Split::Laggards => {
                wanted(inventory, options, catalog, like, aim).or_else(|| plan::newest(inventory))
            }
            Split::Whole | Split::Each => None,
        };
        let wanted = plan::Wanted { to, knowledge: &catalog.knowledge, taken: &taken };
        let made = plan::split(inventory, &like.target, like.split, wanted);
        made.into_iter().map(|target| like.like(target)).collect()
    };
    configured.iter().flat_map(made).collect()
}

/// Sets the waves of each target apart that has proxies in them.
pub(super) fn waves(targets: Vec<TargetConfig>, inventory: &Inventory, waves: &[Wave]) -> Vec<TargetConfig> {
    if waves.is_empty() {
        return targets;
    }
    let waves: Arc<[Wave]> = waves.into();
    let apart = |whole: TargetConfig| -> Vec<TargetConfig> {
        let part = |mine: Option<usize>, name: String| {
            let wave = WaveShare { of: whole.target.name.clone(), waves: waves.clone(), mine };
            whole.like(Target { name, wave: Some(wave), ..whole.target.clone() })
        };
        let name = |wave: &Wave| format!("{}-{}", whole.target.name, wave.name);
        let has = |part: &TargetConfig| inventory.pins().any(|pin| part.target.has(pin));
        let parts = waves.iter().enumerate().map(|(n, wave)| part(Some(n), name(wave))).filter(has);
        [part(None, whole.target.name.clone())].into_iter().chain(parts).collect()
    };
    targets.into_iter().flat_map(apart).collect()
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

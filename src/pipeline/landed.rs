//! Since when a platform change has been on the base branch: from its pull request, else from history.

use jiff::Timestamp;

use crate::{
    commit::git::{GitRemote, LocalClone},
    config::Config,
    pipeline::{Base, Error},
    plan::{self, Target},
    propose::{self, Forge, PullState, marker},
    release::EdgeVersion,
    scan::{Inventory, Pin, Stage},
};

/// The chart whose version says which release the control plane runs.
const CONTROL_PLANE: &str = "linkerd-control-plane";

/// Tells since when a target's control plane has been at a release.
pub(super) trait Landed {
    /// Returns the time; `None` where nothing tells.
    fn since(
        &self,
        release: EdgeVersion,
        target: &Target,
        inventory: &Inventory,
    ) -> Result<Option<Timestamp>, Error>;
}

/// By the history of a clone.
pub(super) struct InHistory<'a>(pub &'a LocalClone);

/// By the merged pull request, else by the history of the base branch.
pub(super) struct OnRemote<'a> {
    pub remote: &'a GitRemote<'a>,
    pub forge: Option<&'a dyn Forge>,
    pub base: &'a Base,
    pub config: &'a Config,
}

impl Landed for InHistory<'_> {
    fn since(
        &self,
        release: EdgeVersion,
        target: &Target,
        inventory: &Inventory,
    ) -> Result<Option<Timestamp>, Error> {
        latest(pins(release, target, inventory).map(|pin| Ok(self.0.landed(&pin.path, &pin.value)?)))
    }
}

impl Landed for OnRemote<'_> {
    fn since(
        &self,
        release: EdgeVersion,
        target: &Target,
        inventory: &Inventory,
    ) -> Result<Option<Timestamp>, Error> {
        if let Some(forge) = self.forge {
            let branch = propose::branch(&self.config.branch.prefix, &target.name, Stage::Platform);
            let brought = |body: &str| marker::read(body).is_some_and(|m| m.release == release);
            let merged = forge.pulls(&branch)?.into_iter().find(|pull| {
                pull.state == PullState::Merged && pull.base == self.base.branch && brought(&pull.body)
            });
            if let Some(at) = merged.and_then(|pull| pull.closed_at) {
                return Ok(Some(at));
            }
        }
        let base = self.base;
        let landed = |pin: &Pin| Ok(self.remote.landed(&base.branch, base.tip.id, &pin.path, &pin.value)?);
        latest(pins(release, target, inventory).map(landed))
    }
}

/// The pins that say that the control plane is at the release: the target's own, else anybody's.
fn pins<'i>(
    release: EdgeVersion,
    target: &Target,
    inventory: &'i Inventory,
) -> impl Iterator<Item = &'i Pin> {
    let says = move |p: &&Pin| p.chart.as_deref() == Some(CONTROL_PLANE) && plan::edge_of(p) == Some(release);
    let all: Vec<&Pin> = inventory.pins.iter().filter(says).collect();
    let own: Vec<&Pin> = all.iter().copied().filter(|p| target.covers(&p.path)).collect();
    if own.is_empty() { all } else { own }.into_iter()
}

fn latest(times: impl Iterator<Item = Result<Option<Timestamp>, Error>>) -> Result<Option<Timestamp>, Error> {
    times.collect::<Result<Vec<_>, _>>().map(|times| times.into_iter().flatten().max())
}

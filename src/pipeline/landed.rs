//! Since when a platform change has been on the base branch: from its pull request, else from history.

use std::{cell::RefCell, collections::BTreeMap};

use jiff::Timestamp;

use crate::{
    commit::git::{GitRemote, LocalClone},
    config::Config,
    pipeline::{Base, Error},
    plan::{self, Target},
    propose::{self, Forge, PullRequest, PullState, marker},
    release::EdgeVersion,
    scan::{Inventory, Pin, Stage},
};

/// The chart whose version says which release the control plane runs.
const CONTROL_PLANE: &str = "linkerd-control-plane";
/// Since when, where it is known that the wait is over.
const LONG_AGO: Timestamp = Timestamp::UNIX_EPOCH;

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
    remote: &'a GitRemote<'a>,
    forge: Option<&'a dyn Forge>,
    base: &'a Base,
    config: &'a Config,
    lists: RefCell<Lists>,
}

/// The pull requests of each branch that was asked about.
pub(super) type Lists = BTreeMap<String, Vec<PullRequest>>;

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

// === impl OnRemote ===

impl<'a> OnRemote<'a> {
    /// Asks nothing yet; without a forge the history alone tells.
    pub fn new(
        remote: &'a GitRemote<'a>,
        forge: Option<&'a dyn Forge>,
        base: &'a Base,
        config: &'a Config,
    ) -> Self {
        Self { remote, forge, base, config, lists: RefCell::default() }
    }

    /// Returns the lists that were read, so that nobody asks for them a second time.
    pub fn into_lists(self) -> Lists {
        self.lists.into_inner()
    }

    /// Finds the pull request of a target's stage that goes to a release.
    fn pull(
        &self,
        forge: &dyn Forge,
        (target, stage, state): (&Target, Stage, PullState),
        release: EdgeVersion,
    ) -> Result<Option<PullRequest>, Error> {
        let branch = propose::branch(&self.config.branch.prefix, &target.name, stage);
        let known = self.lists.borrow().get(&branch).cloned();
        let pulls = match known {
            Some(pulls) => pulls,
            None => self.lists.borrow_mut().entry(branch.clone()).or_insert(forge.pulls(&branch)?).clone(),
        };
        let goes_there = |body: &str| marker::read(body).is_some_and(|m| m.release == release);
        let wanted = |p: &PullRequest| p.state == state && p.base == self.base.branch && goes_there(&p.body);
        Ok(pulls.into_iter().find(wanted))
    }

    fn has_branch(&self, target: &Target, stage: Stage) -> bool {
        let branch = propose::branch(&self.config.branch.prefix, &target.name, stage);
        self.base.refs.branches.contains_key(&branch)
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
            // One that is open was due once: there is nothing more to wait for.
            if self.has_branch(target, Stage::DataPlane)
                && self.pull(forge, (target, Stage::DataPlane, PullState::Open), release)?.is_some()
            {
                return Ok(Some(LONG_AGO));
            }
            let merged = self.pull(forge, (target, Stage::Platform, PullState::Merged), release)?;
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

//! The decision for a target's platform stage.
//!
//! In: policy, catalog, needs, time. Out: the release to go to, or the hold. Pure. The order of the reasons: what
//! leaves nothing to do; what a person has stopped; what the release still lacks; the schedule.

use jiff::Timestamp;

use super::{
    Decision, Hold, HoldReason, Lack, Needs, Policy, describe,
    eligible::Question,
    quiet::{by_hand, by_schedule},
};
use crate::{
    linkerd::{EdgeVersion, Hop},
    release::{Catalog, Release},
};

/// What there is to do before pauses and windows are looked at.
struct Wanted {
    version: EdgeVersion,
    hop_towards: Option<(EdgeVersion, &'static str)>,
}

/// Decides for one target.
pub fn decide(policy: &Policy, catalog: &Catalog, needs: &Needs, now: Timestamp) -> Decision {
    let question = Question { policy, catalog, needs, now };
    let wanted = question.release().and_then(|version| question.by_hop(version));
    let release = match &wanted {
        Ok(wanted) => Some(wanted.version),
        Err(hold) if leaves_nothing_to_do(&hold.reason) => return Decision::Hold(hold.clone()),
        Err(hold) => hold.release,
    };
    if let Some((reason, until)) = by_hand(policy, now) {
        return Decision::Hold(Hold { reason, release, until });
    }
    let wanted = match wanted {
        Ok(wanted) => wanted,
        Err(hold) => return Decision::Hold(hold),
    };
    match by_schedule(policy, now) {
        Some((reason, until)) => Decision::Hold(Hold { reason, release, until }),
        None => {
            let Wanted { version, hop_towards } = wanted;
            let promoted = needs.before.iter().filter_map(|before| before.promoted(version)).collect();
            Decision::Target { version, hop_towards, promoted }
        }
    }
}

/// Says why a release is not to be taken, whoever asked for it before: a rule leaves it out, or it is advised against.
pub fn refusal(
    policy: &Policy,
    catalog: &Catalog,
    needs: &Needs,
    release: EdgeVersion,
    now: Timestamp,
) -> Option<String> {
    let question = Question { policy, catalog, needs, now };
    let is_asked_for = policy.to == Some(release);
    catalog.get(release).filter(|_| !is_asked_for).and_then(|release| question.left_out(release))
}

/// Returns each release above what the repository runs that is passed over, with the reason, newest first.
pub fn passed_over(
    policy: &Policy,
    catalog: &Catalog,
    needs: &Needs,
    now: Timestamp,
) -> Vec<(EdgeVersion, String)> {
    let question = Question { policy, catalog, needs, now };
    let reason = |release: &Release| {
        question.passed_over(release).or_else(|| question.waits(release).map(|hold| describe(&hold)))
    };
    question.ahead().filter_map(|release| Some((release.version, reason(release)?))).collect()
}

fn leaves_nothing_to_do(reason: &HoldReason) -> bool {
    matches!(reason, HoldReason::UpToDate | HoldReason::Downgrade { .. } | HoldReason::UnknownRelease)
}

// === impl Question ===

impl<'a> Question<'a> {
    /// Returns the releases that would move a pin up and none down, newest first.
    fn ahead(&self) -> impl Iterator<Item = &'a Release> {
        let Needs { lowest, highest, unnamed, .. } = *self.needs;
        let useful = move |release: &&Release| {
            let version = release.version;
            let moves = match (lowest, highest) {
                (Some(lowest), _) => version > lowest || unnamed && version == lowest,
                (None, Some(highest)) if unnamed => version >= highest,
                // Only held pins name a release: there is nothing to move.
                (None, Some(_)) => false,
                (None, None) => true,
            };
            moves && highest.is_none_or(|highest| version >= highest)
        };
        self.catalog.releases.values().rev().filter(useful)
    }

    /// Finds the release to go to in the end.
    fn release(&self) -> Result<EdgeVersion, Hold> {
        match self.policy.to {
            Some(to) => self.fixed(to),
            None => self.newest(),
        }
    }

    /// `--to` chooses in place of channel, range and guidance; whatever holds a release still holds it.
    fn fixed(&self, to: EdgeVersion) -> Result<EdgeVersion, Hold> {
        let hold = |reason| Err(Hold { reason, release: Some(to), until: None });
        let Some(release) = self.catalog.get(to) else { return hold(HoldReason::UnknownRelease) };
        match (self.needs.lowest, self.needs.highest) {
            (_, Some(running)) if running > to => return hold(HoldReason::Downgrade { running }),
            (Some(lowest), _) if lowest > to || lowest == to && !self.needs.unnamed => {
                return hold(HoldReason::UpToDate);
            }
            (None, Some(_)) if !self.needs.unnamed => return hold(HoldReason::UpToDate),
            _ => {}
        }
        self.waits(release).map_or(Ok(to), Err)
    }

    /// Takes the newest eligible release; where that one has to wait, the newest of those that have not.
    fn newest(&self) -> Result<EdgeVersion, Hold> {
        let Some(newest) = self.ahead().next() else {
            let release = self.needs.highest.or(self.needs.lowest);
            return Err(Hold { reason: HoldReason::UpToDate, release, until: None });
        };
        let mut waiting: Option<Hold> = None;
        for release in self.ahead().filter(|release| self.passed_over(release).is_none()) {
            match self.waits(release) {
                None => return Ok(release.version),
                // The hold that is told is the one that ends first; without any end, of the newest that came furthest.
                Some(hold) => match &waiting {
                    Some(told) if !ends_before(&hold, told) => {}
                    _ => waiting = Some(hold),
                },
            }
        }
        Err(waiting.unwrap_or_else(|| Hold {
            reason: HoldReason::NoneEligible { reason: self.passed_over(newest).unwrap_or_default() },
            release: Some(newest.version),
            until: None,
        }))
    }

    /// Puts a required stop before a release, where the step would cross one.
    fn by_hop(&self, version: EdgeVersion) -> Result<Wanted, Hold> {
        let hop = self.needs.steps_from.and_then(|lowest| self.catalog.knowledge.hop(lowest, version));
        let Some(hop) = hop else { return self.beside(version) };
        let mut first: Option<Hold> = None;
        for stop in self.stops(hop) {
            match self.hinders(stop) {
                None => return Ok(Wanted { version: stop, hop_towards: Some((version, hop.why.text())) }),
                Some((reason, until)) => {
                    let reason = HoldReason::HopUnavailable { hop: stop, reason };
                    first.get_or_insert(Hold { reason, release: Some(version), until });
                }
            }
        }
        let reason = HoldReason::HopUnavailable { hop: hop.below, reason: "it names no stop".to_owned() };
        Err(first.unwrap_or(Hold { reason, release: Some(version), until: None }))
    }

    /// Does not let shared files lead an installation past a stop that it has to make: they go to the stop, or wait.
    fn beside(&self, version: EdgeVersion) -> Result<Wanted, Hold> {
        let straight = Ok(Wanted { version, hop_towards: None });
        let Some(beside) = &self.needs.beside else { return straight };
        let Some(hop) = self.catalog.knowledge.hop(beside.lowest, version) else { return straight };
        let useful = |stop: &EdgeVersion| self.needs.lowest.is_some_and(|lowest| lowest < *stop);
        if let Some(stop) = self.stops(hop).find(|stop| useful(stop) && self.hinders(*stop).is_none()) {
            return Ok(Wanted { version: stop, hop_towards: Some((version, hop.why.text())) });
        }
        let reason = HoldReason::Serves {
            installation: beside.installation.clone(),
            running: beside.lowest,
            stop: hop.via.first().copied().unwrap_or(hop.below),
        };
        Err(Hold { reason, release: Some(version), until: None })
    }

    /// Returns the stops of a hop: those that are named, then any other release of its stretch, newest first.
    fn stops(&self, hop: &Hop) -> impl Iterator<Item = EdgeVersion> {
        let others = self.catalog.releases.range(hop.below..hop.reaching).rev().map(|(version, _)| *version);
        let others = others.filter(|version| !hop.via.contains(version));
        hop.via.iter().copied().chain(others).collect::<Vec<_>>().into_iter()
    }

    /// Says why a stop cannot be taken now.
    fn hinders(&self, stop: EdgeVersion) -> Option<(String, Option<Timestamp>)> {
        if let Some(highest) = self.needs.highest.filter(|highest| *highest > stop) {
            let behind = self.needs.laggard.as_deref().unwrap_or("a pin that is behind");
            return Some((
                format!(
                    "{behind} needs it, and other pins of this target are at {highest} and would go down; move it \
                     by hand, or give what is behind a target of its own"
                ),
                None,
            ));
        }
        let Some(release) = self.catalog.get(stop) else {
            return Some(("no feed names it".to_owned(), None));
        };
        if let Some(reason) = self.left_out(release) {
            return Some((reason, None));
        }
        self.waits(release).map(|hold| (describe(&hold), hold.until))
    }
}

fn ends_before(one: &Hold, other: &Hold) -> bool {
    match (one.until, other.until) {
        (Some(one), Some(other)) => one < other,
        (None, None) => !has_not_run(one) && has_not_run(other),
        (one, None) => one.is_some(),
        (None, Some(_)) => false,
    }
}

/// Tells whether a release waits until the target before has it at all.
fn has_not_run(hold: &Hold) -> bool {
    matches!(hold.reason, HoldReason::Promotion { lacks: Lack::NotRun { .. }, .. })
}

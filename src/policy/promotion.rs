//! Promotion: nothing goes to a target that those before it have not run.
//!
//! In: what a target's base branch has had, newest first. Out: which releases go on, and why one does not yet. Pure.

use jiff::{SignedDuration, Timestamp};

use super::{Gates, Hold, HoldReason, Lack, StatusCheck};
use crate::linkerd::EdgeVersion;

/// A target that goes before another one.
#[derive(Clone, Debug)]
pub struct Before {
    /// Its name.
    pub target: String,
    /// How long it must have run a release.
    pub soak: SignedDuration,
    /// The release that all of it is at now: nothing newer goes on.
    pub running: Option<EdgeVersion>,
    /// Where its control plane takes releases without a commit, so that nobody can tell which one it runs.
    pub untold: Option<String>,
    /// What it has run, newest first; `None` until somebody has looked.
    pub ran: Option<Vec<Ran>>,
    /// What it asks of the commits that it runs.
    pub gates: Gates,
}

/// A release that a target has run and has not gone back from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The release.
    pub release: EdgeVersion,
    /// Since when.
    pub since: Timestamp,
    /// The status checks of the commits that had it; why they cannot be read.
    pub checks: Result<Vec<StatusCheck>, String>,
}

/// What let a release go on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Promoted {
    /// The target that it comes from.
    pub target: String,
    /// Since when it has been there.
    pub since: Timestamp,
    /// The gates that are open.
    pub gates: Vec<String>,
}

/// Reads out of where a target was, newest first, what it has run. What it went back from is not among it: a release
/// counts from the first time on after which nothing older came. A newer one does not start it again.
pub fn ran(was: impl IntoIterator<Item = Ran>) -> Vec<Ran> {
    let mut all: Vec<Ran> = Vec::new();
    for one in was {
        match all.last_mut() {
            Some(oldest) if one.release > oldest.release => {}
            Some(oldest) if one.release == oldest.release => oldest.since = one.since,
            _ => all.push(one),
        }
    }
    all
}

// === impl Before ===

impl Before {
    /// Says why a release can never come from there.
    pub(super) fn lacks(&self, release: EdgeVersion) -> Option<String> {
        let ran = self.ran.as_ref()?;
        let is_past = self.running.is_some_and(|running| release <= running);
        let lacks = is_past && !ran.iter().any(|one| one.release == release);
        lacks.then(|| format!("target `{}` has not run it, or went back from it", self.target))
    }

    /// Says why a release does not come from there yet.
    pub(super) fn waits(&self, release: EdgeVersion, now: Timestamp) -> Option<Hold> {
        let (lacks, until) = self.lack(release, now)?;
        let reason = HoldReason::Promotion { target: self.target.clone(), lacks };
        Some(Hold { reason, release: Some(release), until })
    }

    pub(super) fn lack(&self, release: EdgeVersion, now: Timestamp) -> Option<(Lack, Option<Timestamp>)> {
        if let Some(pin) = &self.untold {
            return Some((Lack::Untold { pin: pin.clone() }, None));
        }
        let not_run = Lack::NotRun { running: self.running };
        if self.running.is_none_or(|running| running < release) {
            return Some((not_run, None));
        }
        self.ran.as_ref()?;
        let Some(ran) = self.has_run(release) else { return Some((not_run, None)) };
        match ran.since.checked_add(self.soak).ok() {
            Some(until) if until <= now => self.shut(ran, now),
            until if ran.since > now => Some((Lack::Ahead { dated: ran.since }, until)),
            until => Some((Lack::Soak { since: ran.since }, until)),
        }
    }

    /// Says what of its gates is shut for a release that it has run, and until when.
    fn shut(&self, ran: &Ran, now: Timestamp) -> Option<(Lack, Option<Timestamp>)> {
        match &ran.checks {
            Ok(checks) => self.gates.shut(ran.since, checks, now),
            Err(_) if self.gates.active.is_empty() => None,
            Err(reason) => Some((Lack::Unread { reason: reason.clone() }, None)),
        }
    }

    /// Returns when and how it has run a release.
    pub(super) fn has_run(&self, release: EdgeVersion) -> Option<&Ran> {
        self.ran.iter().flatten().find(|one| one.release == release)
    }

    /// Says what let a release go on from there.
    pub(super) fn promoted(&self, release: EdgeVersion) -> Option<Promoted> {
        let gates = self.gates.active.iter().map(|glob| glob.glob().to_string()).collect();
        Some(Promoted { target: self.target.clone(), since: self.has_run(release)?.since, gates })
    }
}

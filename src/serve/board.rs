//! What the daemon knows: of each repository what the last pass over it found, of releases how many there are.
//!
//! In: the reports of passes. Out: the facts that the pages and the metrics are made from. All of it is found again by the
//! next passes of a daemon that starts anew.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use prometheus_client::metrics::histogram::Histogram;

use crate::{
    linkerd::EdgeVersion,
    report::{DecisionOutcome, Outcome, PinRow, RunReport, StageDecision, StageReport, StatusReport},
};

/// The upper ends of the classes that passes are counted in by the seconds that they took.
const SECONDS: [f64; 10] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0];

/// What the daemon knows, shared by those who find it out and those who show it.
pub struct Board(Mutex<Facts>);

/// What is known.
#[derive(Debug)]
pub(super) struct Facts {
    /// When the daemon started.
    pub(super) started: Timestamp,
    /// The time from one pass to the next.
    pub(super) interval: Duration,
    /// Whether it was asked to stop.
    pub(super) stops: bool,
    /// What the feeds told, once they were read.
    pub(super) releases: Option<Releases>,
    /// Every repository of the list.
    pub(super) repositories: BTreeMap<String, Known>,
    /// When a pass over any of them succeeded last.
    pub(super) succeeded: Option<Timestamp>,
    /// The passes since the start, by how they ended.
    pub(super) passes: BTreeMap<&'static str, u64>,
    /// How many seconds each took.
    pub(super) durations: Histogram,
    /// What became of pull requests since the start.
    pub(super) changes: BTreeMap<&'static str, u64>,
}

/// What the feeds tell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Releases {
    pub(super) count: usize,
    pub(super) newest: Option<(EdgeVersion, Option<Timestamp>)>,
}

/// What is known of a repository.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The last pass.
    pub(super) pass: Option<Pass>,
    /// Where its targets stand, as of the last pass that succeeded.
    pub(super) status: Option<StatusReport>,
    /// What that pass decided.
    pub(super) stages: Vec<Decided>,
    /// The pins that it found.
    pub(super) pins: Vec<PinRow>,
    /// What the status was found for.
    basis: String,
}

/// One pass.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Its id, as in the log.
    pub run: String,
    /// When it began.
    pub began: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// Why it failed.
    pub failure: Option<String>,
    /// Whether what made it fail may pass by itself.
    pub temporary: bool,
}

/// What a pass found.
pub struct Done<'r> {
    /// The report of the pass.
    pub report: &'r RunReport,
    /// Where the targets stand, where that was looked at again.
    pub status: Option<StatusReport>,
}

/// What was decided for a stage.
#[derive(Clone, Debug)]
pub(super) struct Decided {
    pub(super) outcome: DecisionOutcome,
    /// The kind of the hold, of a closed list.
    pub(super) hold: Option<String>,
    /// The state of its pull request.
    pub(super) pull: Option<&'static str>,
}

// === impl Board ===

impl Board {
    /// Knows nothing yet.
    pub fn new(started: Timestamp, interval: Duration) -> Self {
        Self(Mutex::new(Facts {
            started,
            interval,
            stops: false,
            releases: None,
            repositories: BTreeMap::new(),
            succeeded: None,
            passes: BTreeMap::new(),
            durations: Histogram::new(SECONDS),
            changes: BTreeMap::new(),
        }))
    }

    /// Takes a new list of repositories; what is not on it is forgotten.
    pub fn list<'n>(&self, names: impl IntoIterator<Item = &'n str>) {
        let mut facts = self.lock();
        let mut before = std::mem::take(&mut facts.repositories);
        let known = |name: &str| (name.to_owned(), before.remove(name).unwrap_or_default());
        facts.repositories = names.into_iter().map(known).collect();
    }

    /// Returns the repositories whose last pass failed.
    pub fn failing(&self) -> BTreeSet<String> {
        let facts = self.lock();
        let failing = facts.repositories.iter().filter(|(_, known)| known.fails());
        failing.map(|(name, _)| name.clone()).collect()
    }

    /// Notes what the feeds told.
    pub fn releases(&self, count: usize, newest: Option<(EdgeVersion, Option<Timestamp>)>) {
        self.lock().releases = Some(Releases { count, newest });
    }

    /// Tells whether where the targets of a repository stand has to be looked at again after a pass: what the pass found
    /// differs from what the last look was for.
    pub fn is_news(&self, repository: &str, report: &RunReport) -> bool {
        let facts = self.lock();
        let known = facts.repositories.get(repository);
        known.is_some_and(|known| known.status.is_none() || known.basis != facts.basis(report))
    }

    /// Notes a pass.
    pub fn passed(&self, repository: &str, pass: Pass, done: Option<Done<'_>>) {
        let facts = &mut *self.lock();
        let word = match (&pass.failure, pass.temporary) {
            (None, _) => "success",
            (Some(_), true) => "temporary",
            (Some(_), false) => "failed",
        };
        *facts.passes.entry(word).or_default() += 1;
        facts.durations.observe(pass.took.as_secs_f64());
        if pass.failure.is_none() {
            facts.succeeded = Some(pass.began);
        }
        let changed = done.iter().flat_map(|done| &done.report.stages).filter_map(change);
        changed.for_each(|word| *facts.changes.entry(word).or_default() += 1);
        let basis = done.as_ref().map(|done| facts.basis(done.report));
        // It may have been taken off the list meanwhile.
        let Some(known) = facts.repositories.get_mut(repository) else { return };
        known.pass = Some(pass);
        let Some(Done { report, status }) = done else { return };
        known.stages = report.stages.iter().map(Decided::of).collect();
        known.pins.clone_from(&report.pins.pins);
        if let Some(status) = status {
            // A pull request that was opened a moment ago may not show yet: then the next pass looks again.
            known.basis = basis.filter(|_| shows(&status, report)).unwrap_or_default();
            known.status = Some(status);
        }
    }

    /// Notes that it was asked to stop.
    pub fn stops(&self) {
        self.lock().stops = true;
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Facts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Facts ===

impl Facts {
    /// What a look at where targets stand depends on, as far as a pass sees it.
    fn basis(&self, report: &RunReport) -> String {
        let newest = self.releases.and_then(|releases| releases.newest);
        let stages = report.stages.iter().map(|stage| {
            let hold = match &stage.decision {
                StageDecision::Hold { text, .. } => text.as_str(),
                _ => "",
            };
            let to = stage.decision.plan().map(|plan| plan.to);
            let pull = stage.outcome.as_ref().and_then(Outcome::pull).map(|pull| (pull.number, pull.state));
            format!("{} {} {hold} {to:?} {pull:?}", stage.target, stage.stage.name())
        });
        format!("{} {newest:?} {}", report.base_commit, stages.collect::<Vec<_>>().join("\n"))
    }
}

// === impl Known ===

impl Known {
    /// Tells whether the last pass failed.
    pub(super) fn fails(&self) -> bool {
        self.pass.as_ref().is_some_and(|pass| pass.failure.is_some())
    }
}

// === impl Decided ===

impl Decided {
    fn of(stage: &StageReport) -> Self {
        let hold = match &stage.decision {
            StageDecision::Hold { hold, .. } => Some(&hold.reason),
            _ => None,
        };
        let kind = |reason| Some(serde_json::to_value(reason).ok()?.get("kind")?.as_str()?.to_owned());
        let pull = match &stage.outcome {
            Some(Outcome::LeftAlone { .. }) => Some("left-alone"),
            Some(Outcome::Opened(pull) | Outcome::Updated(pull) | Outcome::Unchanged(pull)) => {
                Some(if pull.draft { "draft" } else { "open" })
            }
            Some(Outcome::Merged(_) | Outcome::Closed(_)) | None => None,
        };
        Self { outcome: stage.decision.outcome(), hold: hold.and_then(kind), pull }
    }
}

/// What became of a pull request in this pass; `None` where nothing did.
fn change(stage: &StageReport) -> Option<&'static str> {
    let outcome = stage.outcome.as_ref()?;
    let changed = !matches!(outcome, Outcome::Unchanged(_) | Outcome::LeftAlone { .. });
    changed.then(|| outcome.word(true))
}

/// Tells whether a look has every pull request that the pass knew to be open.
fn shows(status: &StatusReport, report: &RunReport) -> bool {
    report.stages.iter().all(|stage| {
        let open = match &stage.outcome {
            Some(Outcome::Opened(pull) | Outcome::Updated(pull) | Outcome::Unchanged(pull)) => pull,
            _ => return true,
        };
        let mut rows =
            status.targets.iter().filter(|row| (&row.target, row.stage) == (&stage.target, stage.stage));
        rows.all(|row| row.pull_request.as_ref().is_some_and(|pull| pull.number == open.number))
    })
}

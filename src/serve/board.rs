//! What the daemon knows: of each repository what the last pass over it found, of releases how many there are.
//!
//! In: the reports of passes. Out: the facts that the pages and the metrics are made from. All of it is found again by the
//! next passes of a daemon that starts anew.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use prometheus_client::metrics::histogram::Histogram;
use sha2::{Digest as _, Sha256};

use crate::{
    linkerd::EdgeVersion,
    pins::Stage,
    report::{
        DecisionOutcome, Event, EventRow, Outcome, PassRow, PinRow, RepositoryRow, RunReport, ServiceReport,
        ServiceRepositoryReport, StageDecision, StageReport, StatusReport, word_of,
    },
};

/// The upper ends of the classes that passes are counted in by the seconds that they took.
const SECONDS: [f64; 10] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0];

/// So many events are remembered.
const EVENTS: usize = 200;

/// The longest text of an event, in characters.
const LONGEST: usize = 500;

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
    /// What happened since then, oldest first.
    pub(super) events: VecDeque<EventRow>,
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

/// One thing that happened, as it is noted.
#[derive(Clone, Copy)]
struct Happened<'a> {
    time: Timestamp,
    event: Event,
    text: &'a str,
    repository: Option<&'a str>,
    of: Option<(&'a str, Stage)>,
    url: Option<&'a str>,
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
            events: VecDeque::new(),
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
        let failing = facts.repositories.iter().filter(|(_, known)| known.failure().is_some());
        failing.map(|(name, _)| name.clone()).collect()
    }

    /// Notes what the feeds told.
    pub fn releases(&self, now: Timestamp, count: usize, newest: Option<(EdgeVersion, Option<Timestamp>)>) {
        let facts = &mut *self.lock();
        let before = facts.newest();
        facts.releases = Some(Releases { count, newest });
        if let (Some(before), Some(newest)) = (before, facts.newest())
            && before < newest
        {
            facts.happened(Happened {
                event: Event::Released,
                text: &newest.to_string(),
                ..Happened::at(now)
            });
        }
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
        for stage in done.iter().flat_map(|done| &done.report.stages) {
            facts.stage_changed(repository, stage, pass.began);
        }
        let failed = facts.repositories.get(repository).and_then(Known::failure).is_some();
        let turn = match &pass.failure {
            Some(failure) if !failed => Some((Event::Failing, failure.as_str())),
            None if failed => Some((Event::Recovered, "")),
            _ => None,
        };
        if let Some((event, text)) = turn {
            let repository = Some(repository);
            facts.happened(Happened { event, text, repository, ..Happened::at(pass.began) });
        }
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
    /// Returns the newest release that is not advised against.
    pub(super) fn newest(&self) -> Option<EdgeVersion> {
        self.releases.and_then(|releases| Some(releases.newest?.0))
    }

    /// Finds a repository by the id that its addresses have.
    pub(super) fn find(&self, id: &str) -> Option<(&String, &Known)> {
        self.repositories.iter().find(|(name, _)| id_of(name) == id)
    }

    /// Returns all of it, for programs.
    pub(super) fn report(&self, ready: bool) -> ServiceReport {
        ServiceReport {
            started: self.started,
            ready,
            newest: self.newest(),
            repositories: self.repositories.iter().map(|(name, known)| known.row(name)).collect(),
        }
    }

    /// Returns a repository with its pins, for programs.
    pub(super) fn repository(&self, id: &str) -> Option<ServiceRepositoryReport> {
        let (name, known) = self.find(id)?;
        Some(ServiceRepositoryReport { repository: known.row(name), pins: known.pins.clone() })
    }

    fn stage_changed(&mut self, repository: &str, stage: &StageReport, time: Timestamp) {
        let event = match &stage.outcome {
            Some(Outcome::Opened(_)) => Event::Opened,
            Some(Outcome::Updated(_)) => Event::Updated,
            Some(Outcome::Merged(_)) => Event::Merged,
            Some(Outcome::Closed(_)) => Event::Closed,
            Some(Outcome::Unchanged(_) | Outcome::LeftAlone { .. }) | None => return,
        };
        let Some((outcome, pull)) = stage.outcome.as_ref().and_then(|o| Some((o, o.pull()?))) else { return };
        *self.changes.entry(outcome.word(true)).or_default() += 1;
        self.happened(Happened {
            event,
            text: &pull.title,
            repository: Some(repository),
            of: Some((&stage.target, stage.stage)),
            url: Some(&pull.url),
            ..Happened::at(time)
        });
    }

    fn happened(&mut self, what: Happened<'_>) {
        if self.events.len() >= EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(what.row());
    }

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
    fn row(&self, name: &str) -> RepositoryRow {
        let pass = self.pass.as_ref().map(|pass| PassRow {
            run: pass.run.clone(),
            began: pass.began,
            milliseconds: u64::try_from(pass.took.as_millis()).unwrap_or(u64::MAX),
            failure: pass.failure.clone(),
        });
        RepositoryRow { id: id_of(name), name: name.to_owned(), pass, status: self.status.clone() }
    }

    /// Returns why the last pass failed, where it did.
    pub(super) fn failure(&self) -> Option<&str> {
        self.pass.as_ref()?.failure.as_deref()
    }
}

// === impl Decided ===

impl Decided {
    fn of(stage: &StageReport) -> Self {
        let hold = match &stage.decision {
            StageDecision::Hold { hold, .. } => Some(&hold.reason),
            _ => None,
        };
        let pull = match &stage.outcome {
            Some(Outcome::LeftAlone { .. }) => Some("left-alone"),
            Some(Outcome::Opened(pull) | Outcome::Updated(pull) | Outcome::Unchanged(pull)) => {
                Some(if pull.draft { "draft" } else { "open" })
            }
            Some(Outcome::Merged(_) | Outcome::Closed(_)) | None => None,
        };
        Self { outcome: stage.decision.outcome(), hold: hold.map(word_of), pull }
    }
}

// === impl Happened ===

impl<'a> Happened<'a> {
    fn at(time: Timestamp) -> Self {
        Self { time, event: Event::Released, text: "", repository: None, of: None, url: None }
    }

    fn row(&self) -> EventRow {
        let Self { time, event, text, repository, of, url } = *self;
        let text: String = text.chars().take(LONGEST).collect();
        let id = short(&format!("{event:?} {time} {repository:?} {of:?} {url:?} {text}"));
        EventRow {
            id,
            time,
            event,
            repository: repository.map(str::to_owned),
            target: of.map(|(target, _)| target.to_owned()),
            stage: of.map(|(_, stage)| stage),
            text,
            url: url.map(str::to_owned),
        }
    }
}

/// Returns what the addresses of a repository's pages have of it.
pub(super) fn id_of(repository: &str) -> String {
    short(repository)
}

fn short(text: &str) -> String {
    Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
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

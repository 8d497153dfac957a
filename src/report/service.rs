//! What a daemon tells of the repositories on its list.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{PinRow, StatusReport, escape::json as to_json};
use crate::{linkerd::EdgeVersion, pins::Stage};

/// All repositories of a daemon.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ServiceReport {
    /// When the daemon started.
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// Whether it is ready, as `/readyz` says.
    pub ready: bool,
    /// The newest release that Linkerd does not advise against, once the feeds were read.
    pub newest: Option<EdgeVersion>,
    /// The repositories on its list, by name.
    pub repositories: Vec<RepositoryRow>,
}

/// One repository of a daemon.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RepositoryRow {
    /// What its own addresses have of it: it hangs on the name alone.
    pub id: String,
    /// Its address, as on the list.
    pub name: String,
    /// The last pass; none before the first.
    pub pass: Option<PassRow>,
    /// Where its targets stand, as of the last look; none before the first.
    pub status: Option<StatusReport>,
}

/// One pass over a repository.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PassRow {
    /// Its id, as in the log.
    pub run: String,
    /// When it began.
    #[schemars(with = "String")]
    pub began: Timestamp,
    /// How long it took.
    pub milliseconds: u64,
    /// Why it failed; none where it did not.
    pub failure: Option<String>,
}

/// One repository with its pins.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ServiceRepositoryReport {
    /// The repository.
    #[serde(flatten)]
    pub repository: RepositoryRow,
    /// Its pins, as of the last pass that succeeded.
    pub pins: Vec<PinRow>,
}

/// What happened since the daemon started.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EventsReport {
    /// The events, newest first; the oldest are forgotten.
    pub events: Vec<EventRow>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EventRow {
    /// It hangs on what happened alone, so that who has seen it knows it again.
    pub id: String,
    /// When the pass began that saw it.
    #[schemars(with = "String")]
    pub time: Timestamp,
    /// What happened.
    pub event: Event,
    /// The repository; none for a release.
    pub repository: Option<String>,
    /// The target and its stage, where it is about one.
    pub target: Option<String>,
    /// The stage.
    pub stage: Option<Stage>,
    /// The title of the pull request, the error, or the release.
    pub text: String,
    /// The pull request's page.
    pub url: Option<String>,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A pull request was opened.
    Opened,
    /// One was moved, or its text renewed.
    Updated,
    /// One was merged by us, as asked.
    Merged,
    /// One was closed by us.
    Closed,
    /// Passes over a repository fail.
    Failing,
    /// They succeed again.
    Recovered,
    /// The feeds name a newer release.
    Released,
}

/// `uplinker.service/v1`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Service<'r> {
    schema: &'static str,
    #[serde(flatten)]
    report: &'r ServiceReport,
}

/// `uplinker.service-repository/v1`.
#[derive(Serialize, JsonSchema)]
pub(super) struct ServiceRepository<'r> {
    schema: &'static str,
    #[serde(flatten)]
    report: &'r ServiceRepositoryReport,
}

/// `uplinker.service-events/v1`.
#[derive(Serialize, JsonSchema)]
pub(super) struct ServiceEvents<'r> {
    schema: &'static str,
    #[serde(flatten)]
    report: &'r EventsReport,
}

impl ServiceReport {
    /// Returns the report as JSON.
    pub fn json(&self) -> String {
        to_json(&Service { schema: "uplinker.service/v1", report: self })
    }
}

impl ServiceRepositoryReport {
    /// Returns the report as JSON.
    pub fn json(&self) -> String {
        to_json(&ServiceRepository { schema: "uplinker.service-repository/v1", report: self })
    }
}

impl EventsReport {
    /// Returns the report as JSON.
    pub fn json(&self) -> String {
        to_json(&ServiceEvents { schema: "uplinker.service-events/v1", report: self })
    }
}

impl Event {
    /// Returns what happened, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Updated => "updated",
            Self::Merged => "merged",
            Self::Closed => "closed",
            Self::Failing => "passes fail",
            Self::Recovered => "passes succeed again",
            Self::Released => "new release",
        }
    }
}

//! Step 11, report: what a command found or did, as text, JSON or Markdown.
//!
//! In: plain structs of the steps before. Out: text, ready to print. Pure. Text that comes from a repository, a
//! feed or a forge is escaped here, once, so that nothing in it can move a cursor or open a code fence.

mod actions;
mod diff;
mod doctor;
mod escape;
mod note;
mod overview;
mod pins;
mod plan;
mod reading;
mod releases;
mod repositories;
mod run;
mod schema;
mod service;
mod status;
mod summary;
mod table;
#[cfg(test)]
mod tests;
mod verify;

use std::{collections::BTreeSet, fmt};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    explain::Content,
    linkerd::EdgeVersion,
    pins::{PinKind, Reason, SkipReason, Skipped, Stage},
    plan::Plan,
    policy::Hold,
    propose::forge::PullRequest,
    release::{Feed, Release},
    repo::{ChangeSet, RepoPath},
    verify::{Finding, Severity},
    words::{count, listed},
};

pub(crate) use crate::explain::word_of;
pub use actions::outputs;
pub use doctor::{Check, DoctorReport, Health};
pub use escape::{for_json, for_terminal, lines_for_terminal};
pub use note::{HEAD_ALONE, Note};
pub use overview::Overview;
pub use plan::DecisionOutcome;
pub use repositories::RepositoriesReport;
pub use schema::{Document, schema};
pub use service::{
    Event, EventRow, EventsReport, PassRow, RepositoryRow, ServiceReport, ServiceRepositoryReport,
};
pub use status::{Behind, MergedPull, OpenPull, StatusReport, StatusRow};
pub use verify::{DriftRow, ManifestRow, OwnRow, UnprovenRow, VerifyReport};

/// The form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people at a terminal.
    #[default]
    Text,
    /// For programs; versioned by its `schema`.
    Json,
    /// For pages.
    Markdown,
}

/// How a report is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// The form.
    pub format: Format,
    /// Whether text may be coloured.
    pub color: bool,
    /// Whether file changes are shown line by line.
    pub diff: bool,
    /// Whether a terminal shows it: the text of a pull request has no signs of Markdown there.
    pub terminal: bool,
    /// Whether results are shown without notes.
    pub quiet: bool,
}

/// Every pin and every skip of a repository.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct PinsReport {
    /// The release that the pins were judged against; without one, `moves` means that a pin may move.
    pub to: Option<EdgeVersion>,
    /// The pins, ordered by path, then position.
    pub pins: Vec<PinRow>,
    /// The files that were not read.
    pub skipped: Vec<Skipped>,
}

/// One pin as reported; the fields and their order are those of `uplinker.pins/v1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PinRow {
    /// The file.
    pub path: RepoPath,
    /// The line of the scalar's first character, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    /// Its document in the file, from 0.
    pub document: usize,
    /// The shape.
    pub kind: PinKind,
    /// The chart that it fixes.
    pub chart: Option<String>,
    /// What else reads it, and so moves with it: other charts, and `proxies`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The text as it stands.
    pub value: String,
    /// The release that it names; `None` for a digest.
    pub version: Option<EdgeVersion>,
    /// The text that it gets; `None` where it stays, and for a digest that is computed with the edit.
    pub new: Option<String>,
    /// The target that it belongs to.
    pub target: Option<String>,
    /// The installations that it serves, ordered; none where the repository does not tell.
    pub installations: Vec<String>,
    /// When it moves.
    pub stage: Stage,
    /// Whether it moves; without a release, whether it may.
    pub moves: bool,
    /// Why it stays.
    pub reason: Option<RowReason>,
    /// The line elsewhere that keeps it: that of a comment, or of what reads it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_by: Option<String>,
}

/// Why a pin stays, as reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum RowReason {
    /// For what it is.
    Stays(Reason),
    /// For where it is.
    Outside(Outside),
}

/// The reason of a pin that nothing is proposed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outside {
    /// No target's `paths` name its file.
    NoTarget,
    /// Its stage proposes nothing now; the stage's decision says why.
    NotProposed,
}

/// The catalog, newest first.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ReleasesReport {
    /// The releases.
    pub releases: Vec<ReleaseRow>,
    /// What became of each feed.
    pub feeds: Vec<Feed>,
    /// Entries of the chart index that were passed over, and why.
    pub remarks: Vec<String>,
}

/// One release as reported.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReleaseRow {
    /// What is known of it.
    #[serde(flatten)]
    pub release: Release,
    /// Why it is passed over; `None` for one that may be taken.
    pub passed_over: Option<String>,
}

/// What `plan` would do, or what `run` did.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The repository, without credentials.
    pub repository: String,
    /// The branch to propose against.
    pub base: String,
    /// The commit of that branch that was read.
    pub base_commit: String,
    /// Whether anything was to be written: `run`, not `plan`.
    pub writes: bool,
    /// The pins as judged, and the files that were not read.
    pub pins: PinsReport,
    /// One entry for each target and stage that has pins, in the order of the configuration, platform first.
    pub stages: Vec<StageReport>,
    /// What else a person should know: a feed that failed, another bot that manages the same pins.
    pub notes: Vec<String>,
}

/// One target's stage.
#[derive(Clone, Debug)]
pub struct StageReport {
    /// The target's name.
    pub target: String,
    /// The stage.
    pub stage: Stage,
    /// What was decided.
    pub decision: StageDecision,
    /// The file changes; empty on hold.
    pub changes: ChangeSet,
    /// What the checks say.
    pub findings: Vec<Finding>,
    /// The pull request as wanted; `None` where none is, and where nothing was made.
    pub proposal: Option<Proposal>,
    /// Where nothing was made, since the open pull request would become what it is: what is known of it all the same.
    pub kept: Option<Kept>,
    /// What became of it, in a plan what would; `None` where nothing is open and nothing is in the way.
    pub outcome: Option<Outcome>,
}

/// What is known of an open pull request that was not made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Our branch.
    pub branch: String,
    /// The branch that it is merged into.
    pub base: String,
    /// The title that it was given.
    pub title: String,
    /// Whether it would open as a draft.
    pub draft: bool,
    /// Whether a check blocked when it was made, and would again.
    pub blocked: bool,
}

/// What was decided for a stage.
#[derive(Clone, Debug)]
pub enum StageDecision {
    /// To propose this.
    Propose(Box<Plan>),
    /// To wait; `text` says until when or until what.
    Hold {
        /// The hold.
        hold: Hold,
        /// The hold in words.
        text: String,
    },
    /// Not to propose, since a check blocks and the configuration says `onBlock: hold`.
    Blocked(Box<Plan>),
    /// Not to propose, since the stage's pins cannot all be edited; the findings say which.
    Unplannable {
        /// The release that was to be proposed.
        release: EdgeVersion,
        /// Why, in one sentence.
        reason: String,
    },
}

/// A pull request as wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proposal {
    /// The branch.
    pub branch: String,
    /// The branch to be merged into.
    pub base: String,
    /// The title.
    pub title: String,
    /// The body.
    pub body: String,
    /// Whether it opens as a draft.
    pub draft: bool,
    /// What the body is written from, whole.
    pub content: Box<Content>,
}

/// What became of a stage's pull request in a run, or would, as far as a plan can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A pull request was opened.
    Opened(PullRequest),
    /// The open one was moved or its text renewed.
    Updated(PullRequest),
    /// The open one is as it should be.
    Unchanged(PullRequest),
    /// It is as it should be, and was merged.
    Merged(PullRequest),
    /// The open one was closed by us, since the base branch has what it proposes.
    Closed(PullRequest),
    /// Nothing was written: a person's refusal, a person's commit, an occupied branch.
    LeftAlone {
        /// Why, in one sentence.
        reason: String,
        /// The pull request that it is about.
        pull: Option<PullRequest>,
    },
}

// === impl PinsReport, ReleasesReport, RunReport ===

impl PinsReport {
    /// Tells whether nothing was found that a deployer reads: a mention in a text for people is no pin.
    pub fn is_without_pins(&self) -> bool {
        self.pins.iter().all(|pin| pin.kind == PinKind::Other)
    }

    /// Says where texts name a release, and how such a line becomes a pin: the hint where there is no pin.
    pub fn mentions(&self) -> String {
        let (edge, others): (Vec<_>, Vec<_>) = self.pins.iter().partition(|pin| pin.version.is_some());
        let is_of_another = |pin: &&PinRow| pin.reason == Some(RowReason::Stays(Reason::Channel));
        let (of_others, bare): (Vec<_>, Vec<_>) = others.into_iter().partition(is_of_another);
        let (named, hint) = match () {
            () if !edge.is_empty() => (
                edge,
                "the comment `uplinker: edge` (`edge-26.8.3`) or `uplinker: chart` (`2026.8.3`) behind it makes a line a pin",
            ),
            () if !of_others.is_empty() => {
                (of_others, "it is on another channel than edge: go to the edge channel by hand first")
            }
            () => (
                bare,
                "a line becomes a pin where the release is written with its channel, `edge-26.8.3`, and the comment `uplinker: edge` behind it",
            ),
        };
        // A line may name several.
        let lines: BTreeSet<_> = named.iter().map(|pin| (&pin.path, pin.line)).collect();
        let places = listed(lines.iter().map(|(path, line)| format!("{path}:{line}")), MENTIONS);
        format!("a release is named in {places}; {hint}")
    }

    /// Returns the report in the style's form.
    pub fn render(&self, style: Style) -> String {
        match style.format {
            Format::Text => pins::text(self, style.color),
            Format::Json => pins::json(self),
            Format::Markdown => pins::markdown(self),
        }
    }
}

impl ReleasesReport {
    /// Returns the report in the style's form.
    pub fn render(&self, style: Style) -> String {
        match style.format {
            Format::Text => releases::text(self, style.color),
            Format::Json => releases::json(self),
            Format::Markdown => releases::markdown(self),
        }
    }
}

impl RunReport {
    /// Returns the report in the style's form.
    pub fn render(&self, style: Style) -> String {
        match style.format {
            Format::Text => run::text(self, style),
            Format::Json => plan::json(self),
            Format::Markdown => run::markdown(self, style.diff),
        }
    }

    /// Returns the report for a page that takes no more than so many bytes; what is left out is said.
    pub fn summary(&self, diff: bool, room: usize) -> String {
        summary::summary(self, diff, room)
    }

    /// Tells whether nothing was found that a deployer reads.
    pub fn is_without_pins(&self) -> bool {
        self.pins.is_without_pins()
    }

    /// Tells whether a pull request is open, was opened, or (in a plan) would be.
    pub fn proposes(&self) -> bool {
        self.stages.iter().any(|s| s.proposal.is_some() || s.kept.is_some())
    }

    /// Tells whether a pull request was opened, moved or closed.
    pub fn wrote(&self) -> bool {
        let changed =
            |o: &Outcome| matches!(o, Outcome::Opened(_) | Outcome::Updated(_) | Outcome::Closed(_));
        self.stages.iter().filter_map(|s| s.outcome.as_ref()).any(changed)
    }

    /// Tells whether a block kept a pull request from being proposed.
    pub fn is_held_by_block(&self) -> bool {
        let held = |s: &StageReport| {
            matches!(s.decision, StageDecision::Blocked(_) | StageDecision::Unplannable { .. })
        };
        self.stages.iter().any(held)
    }

    /// Tells whether any check blocks.
    pub fn has_block(&self) -> bool {
        self.is_held_by_block()
            || self.stages.iter().any(|s| s.kept.as_ref().is_some_and(|kept| kept.blocked))
            || self.stages.iter().flat_map(|s| &s.findings).any(|f| f.severity == Severity::Block)
    }
}

// === impl Outcome ===

impl Outcome {
    /// Returns the pull request that it is about.
    pub fn pull(&self) -> Option<&PullRequest> {
        match self {
            Self::Opened(pull)
            | Self::Updated(pull)
            | Self::Unchanged(pull)
            | Self::Merged(pull)
            | Self::Closed(pull) => Some(pull),
            Self::LeftAlone { pull, .. } => pull.as_ref(),
        }
    }

    /// Returns the outcome in one word, as programs read it.
    pub fn word(&self, writes: bool) -> &'static str {
        match self {
            Self::Opened(_) => "opened",
            Self::Updated(_) if writes => "updated",
            Self::Updated(_) => "would-update",
            Self::Unchanged(_) => "unchanged",
            Self::Merged(_) => "merged",
            Self::Closed(_) if writes => "closed",
            Self::Closed(_) => "would-close",
            Self::LeftAlone { .. } => "left-alone",
        }
    }
}

// === impl StageDecision ===

impl StageDecision {
    /// Returns what comes of it.
    pub fn outcome(&self) -> DecisionOutcome {
        match self {
            Self::Propose(_) => DecisionOutcome::Propose,
            Self::Hold { .. } => DecisionOutcome::Hold,
            Self::Blocked(_) | Self::Unplannable { .. } => DecisionOutcome::Blocked,
        }
    }

    /// Returns the plan, where there is one.
    pub fn plan(&self) -> Option<&Plan> {
        match self {
            Self::Propose(plan) | Self::Blocked(plan) => Some(plan),
            Self::Hold { .. } | Self::Unplannable { .. } => None,
        }
    }
}

// === impl Proposal ===

impl Proposal {
    /// Returns the body as a terminal shows it, without the signs of Markdown.
    pub fn in_words(&self) -> String {
        reading::as_text(&self.body)
    }
}

// === impl RowReason ===

impl fmt::Display for RowReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&word_of(self))
    }
}

/// Lines that a hint names.
const MENTIONS: usize = 5;

/// Helm templates that name no release are listed up to this number.
const TEMPLATES: usize = 5;

/// Returns the unread files that people are shown one by one, and a line that counts the rest: charts have many
/// templates, and among them the few files that may hold a pin would not be seen.
fn unread(skipped: &[Skipped]) -> (Vec<&Skipped>, Option<String>) {
    let (idle, listed): (Vec<_>, Vec<_>) =
        skipped.iter().partition(|s| s.reason == SkipReason::HelmTemplate && s.versions.is_empty());
    if idle.len() <= TEMPLATES {
        return (skipped.iter().collect(), None);
    }
    let others = if listed.is_empty() { "" } else { "other " };
    let rest =
        format!("{} {others}Helm templates that name no release; `--format json` lists them", idle.len());
    (listed, Some(rest))
}

fn date(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

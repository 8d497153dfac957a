//! Step 2, policy: which release to go to, or why not now.
//!
//! In: a [`Policy`], the [`Catalog`](crate::release::Catalog), the repository's [`Needs`] and the time. Out: a
//! [`Decision`]. Pure: policy never sees a file, a clock or a network.

mod data_plane;
mod decide;
mod describe;
mod eligible;
mod gates;
mod merge;
mod promotion;
mod quiet;

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::linkerd::EdgeVersion;

pub use data_plane::{ControlPlane, data_plane};
pub use decide::{decide, passed_over, refusal};
pub use describe::{describe, describe_proxies};
pub use eligible::missing_charts;
pub use gates::{CheckState, Gates, OnFailure, StatusCheck};
pub use merge::{Merge, MergeWait};
pub use promotion::{Before, Promoted, Ran, ran};

/// What the configuration allows, for one target.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Which releases are eligible at all.
    pub channel: Channel,
    /// The age that a release must have.
    pub soak: SignedDuration,
    /// Stay inside these versions.
    pub range: Option<Range>,
    /// Leave these out.
    pub skip: Vec<EdgeVersion>,
    /// When pull requests may be opened or moved; always when `None`.
    pub schedule: Option<Schedule>,
    /// A reason; nothing is proposed while it stands.
    pub paused: Option<String>,
    /// Periods in which nothing is proposed.
    pub freeze: Vec<Freeze>,
    /// `--to`: go to this release; hops, holds and downgrades still apply.
    pub to: Option<EdgeVersion>,
}

/// The channel of a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// The newest release that is not advised against.
    #[default]
    Edge,
    /// Only releases that Linkerd marks as recommended.
    Recommended,
    /// Only the first edge of each 2.x milestone.
    Milestone,
}

/// What the repository asks of a release, filled from the inventory by the pipeline.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// The charts that are pinned, each with where it is served from.
    pub charts: Vec<ChartNeed>,
    /// The oldest release that a moving pin names.
    pub lowest: Option<EdgeVersion>,
    /// The oldest of those with which a step may lead past a required stop.
    pub steps_from: Option<EdgeVersion>,
    /// Where the oldest of all stands, for people.
    pub laggard: Option<String>,
    /// The newest release that a moving or held pin names: never go below.
    pub highest: Option<EdgeVersion>,
    /// Whether a moving pin names no release: only rendering tells whether it is behind, or it is not there yet.
    pub unnamed: bool,
    /// The installation that moving pins serve and that is furthest behind with what another target has of it.
    pub beside: Option<Beside>,
    /// The control plane that proxies which may not move wait for.
    pub waits: Option<Waits>,
    /// The control plane of proxies that is left as it is, whatever release they are at.
    pub suspended: Option<Waits>,
    /// The targets that go before this one.
    pub before: Vec<Before>,
    /// What is not in the mirrors that were asked so far; what is not named here is taken to be there.
    pub absent: Vec<Absent>,
}

/// An installation that is served, and has pins of its own in another target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Beside {
    /// The oldest release that its own moving pins name.
    pub lowest: EdgeVersion,
    /// Its name.
    pub installation: String,
}

/// A control plane that is behind, and that proxies run beside.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waits {
    /// Its release; none where it is on another channel, or has none that is known.
    pub running: Option<EdgeVersion>,
    /// The installation, where it has a name.
    pub installation: Option<String>,
    /// Whether its deployer is told to leave it as it is.
    pub is_suspended: bool,
}

/// A chart that the repository pins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChartNeed {
    /// Its name.
    pub chart: String,
    /// The mirror that it comes from; `None` for the chart index.
    pub mirror: Option<String>,
}

/// A chart that a mirror does not have, as far as it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// Which chart of which mirror.
    pub need: ChartNeed,
    /// Since when, or why nobody knows.
    pub absence: Absence,
}

/// What a mirror said of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absence {
    /// It does not have the chart of this release.
    Of(EdgeVersion),
    /// It could not be asked, whatever the release is; the reason.
    Unread(String),
}

/// The outcome for one target.
#[derive(Clone, Debug)]
pub enum Decision {
    /// Go to this release.
    Target {
        /// The release to propose.
        version: EdgeVersion,
        /// The release wanted in the end, where `version` is a required hop on the way to it.
        hop_towards: Option<(EdgeVersion, &'static str)>,
        /// What let it go on from the targets before.
        promoted: Vec<Promoted>,
    },
    /// Not now.
    Hold(Hold),
}

/// A decision not to propose now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Hold {
    /// Why.
    pub reason: HoldReason,
    /// The release that would otherwise be proposed.
    pub release: Option<EdgeVersion>,
    /// When it ends, where that is known.
    #[schemars(with = "Option<String>")]
    pub until: Option<Timestamp>,
}

/// Why nothing is proposed now: a closed list. [`describe()`] says of each until when, or until what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HoldReason {
    /// Everything is at the newest eligible release.
    UpToDate,
    /// Every pin is on another channel, which nothing here leads away from.
    OtherChannel {
        /// How many they are.
        pins: usize,
    },
    /// Every pin is a range, or names no version.
    Floating {
        /// How many they are.
        pins: usize,
    },
    /// Every pin stays for what it is.
    NothingMoves {
        /// Why, each reason once.
        reasons: Vec<String>,
        /// How many of them are a range, or name no version.
        floating: usize,
    },
    /// `paused` in the configuration; its text.
    Paused {
        /// The reason as configured.
        reason: String,
    },
    /// Inside a freeze.
    Frozen {
        /// The reason as configured.
        reason: String,
    },
    /// Outside the schedule's window.
    Schedule,
    /// The release is younger than `policy.soak`.
    Soak,
    /// The release has no date, so its age cannot be told; names the feed that would give it.
    NoDate {
        /// Which feed is off or failed, or lacks the date.
        missing: String,
    },
    /// A target that goes before this one, or this one before its own proxies, lacks something.
    Promotion {
        /// The target.
        target: String,
        /// What it lacks.
        lacks: Lack,
    },
    /// A chart of the release is not in the index yet.
    NotReady {
        /// The charts that are missing.
        charts: Vec<String>,
    },
    /// The chart index could not be read, so that readiness cannot be told.
    IndexUnread {
        /// Why it could not be read.
        reason: String,
    },
    /// A chart of the release is not in the mirror that it comes from yet.
    MirrorLacks {
        /// The mirror's address.
        mirror: String,
        /// The charts that are missing.
        charts: Vec<String>,
    },
    /// A mirror could not be asked, so that readiness cannot be told.
    MirrorUnread {
        /// The mirror's address.
        mirror: String,
        /// Why it could not be asked.
        reason: String,
    },
    /// No release is eligible; why the newest is passed over.
    NoneEligible {
        /// The newest release's reason.
        reason: String,
    },
    /// `--to` names a release below what the repository runs.
    Downgrade {
        /// The release that it runs.
        running: EdgeVersion,
    },
    /// `--to` names a release that no feed knows.
    UnknownRelease,
    /// The required intermediate release is not ready or advised against.
    HopUnavailable {
        /// The hop.
        hop: EdgeVersion,
        /// Why it cannot be taken.
        reason: String,
    },
    /// An installation that the same files serve has a required stop to make first.
    Serves {
        /// The installation.
        installation: String,
        /// Where it is.
        running: EdgeVersion,
        /// Where it has to go first.
        stop: EdgeVersion,
    },
    /// Another target goes first: it has files that this one's installation reads too.
    After {
        /// The other target.
        target: String,
    },
    /// It was merged, and the base branch went back from it.
    WentBack {
        /// The release that it went back from, this one or a newer one.
        from: EdgeVersion,
        /// The pull request with which that was merged, or taken back, as the forge names it.
        pull: String,
        /// Whether that one took it back.
        undone: bool,
    },
    /// The last change is to be taken back, and cannot be.
    NoWayBack {
        /// Why.
        reason: String,
    },
    /// What a pull request would bring is not to be taken any more.
    Refused {
        /// Why.
        reason: String,
    },
    /// What a pull request would take back cannot be taken back any more.
    WayBackGone {
        /// Why.
        reason: String,
    },
    /// The control plane's last change is to be taken back, and its proxies are ahead of where it would go.
    ProxiesAhead {
        /// Whose proxies.
        target: String,
        /// Where they are.
        running: EdgeVersion,
    },
    /// There is no such target any more: what it had goes with another one again, or is gone.
    Gone,
    /// The platform change has not been on the base branch for `dataPlane.after`.
    DataPlaneWait,
    /// The control plane's release is not known from this repository.
    ControlPlaneUnknown,
    /// What is open for the proxies is for a release that the control plane went back from.
    ControlPlaneWentBack {
        /// Where it is.
        running: EdgeVersion,
    },
    /// The control plane is about to be taken back to a release before that of the proxies' next step.
    ControlPlaneGoesBack {
        /// Where it is to be.
        to: EdgeVersion,
    },
    /// The deployer of the control plane is told to leave it as it is, so that nothing here says which release it runs.
    ControlPlaneSuspended {
        /// Which one, where there may be several.
        #[serde(skip_serializing_if = "Option::is_none")]
        installation: Option<String>,
    },
    /// The control plane in this repository has not reached the release yet.
    ControlPlaneBehind {
        /// Where it is; none where that is no release of this channel.
        #[serde(skip_serializing_if = "Option::is_none")]
        running: Option<EdgeVersion>,
        /// Which one, where there may be several.
        #[serde(skip_serializing_if = "Option::is_none")]
        installation: Option<String>,
    },
}

/// What a target lacks for a release to go on from there: a closed list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Lack {
    /// It has not come to the release.
    NotRun {
        /// Where it is.
        running: Option<EdgeVersion>,
    },
    /// It has not run it for as long as it is to.
    Soak {
        /// Since when it has.
        #[schemars(with = "String")]
        since: Timestamp,
    },
    /// It has it by a commit that is dated ahead of the time.
    Ahead {
        /// The date.
        #[schemars(with = "String")]
        dated: Timestamp,
    },
    /// Nobody can tell what it runs: its control plane takes releases without a commit.
    Untold {
        /// The pin that says so.
        pin: String,
    },
    /// Something says that it does not work there, or not yet.
    Gate {
        /// In whose name it is said.
        name: String,
        /// What it says.
        state: CheckState,
        /// Since when.
        #[schemars(with = "String")]
        since: Timestamp,
    },
    /// Nothing was said of it.
    Silent {
        /// Who should have.
        glob: String,
        /// Since when it has run it.
        #[schemars(with = "String")]
        since: Timestamp,
    },
    /// What was said of it cannot be read.
    Unread {
        /// Why.
        reason: String,
    },
}

/// Versions between two ends, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// No lower.
    pub from: Option<EdgeVersion>,
    /// No higher.
    pub to: Option<EdgeVersion>,
}

/// A cron window.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The expression as configured: each minute that matches is inside the window.
    pub expression: String,
    /// The IANA time zone.
    pub timezone: String,
}

/// A period without proposals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// From this instant.
    pub from: Timestamp,
    /// Until this instant.
    pub to: Timestamp,
    /// Why.
    pub reason: String,
}

// === impl Waits ===

impl Waits {
    /// Returns why its proxies are held.
    pub fn reason(self) -> HoldReason {
        let Self { running, installation, is_suspended } = self;
        match is_suspended {
            true => HoldReason::ControlPlaneSuspended { installation },
            false => HoldReason::ControlPlaneBehind { running, installation },
        }
    }
}

// === impl HoldReason ===

impl HoldReason {
    /// Tells whether a person or the schedule wants nothing to be proposed now.
    pub fn is_pause(&self) -> bool {
        matches!(self, Self::Paused { .. } | Self::Frozen { .. } | Self::Schedule)
    }

    /// Tells whether a target that comes after the held one may go on: the held one is where it is to go, or waits for an
    /// installation that is of the other (`serves`).
    pub fn lets_go_on(&self, serves: impl Fn(&str) -> bool) -> bool {
        match self {
            Self::UpToDate
            | Self::NothingMoves { .. }
            | Self::OtherChannel { .. }
            | Self::Floating { .. } => true,
            Self::Serves { installation, .. } => serves(installation),
            _ => false,
        }
    }

    /// Tells whether it leaves nothing to propose, so that what is open for it goes; else all stays as it is.
    pub fn leaves_nothing(&self) -> bool {
        matches!(
            self,
            Self::UpToDate
                | Self::NothingMoves { .. }
                | Self::OtherChannel { .. }
                | Self::Floating { .. }
                | Self::Gone
                | Self::WentBack { .. }
                | Self::Refused { .. }
                | Self::WayBackGone { .. }
                | Self::ProxiesAhead { .. }
                | Self::ControlPlaneWentBack { .. }
                | Self::ControlPlaneGoesBack { .. }
                | Self::Promotion { lacks: Lack::NotRun { .. }, .. }
        )
    }
}

#[cfg(test)]
mod tests;

//! Step 1, release: what Linkerd has released.
//!
//! In: the release feeds. Out: a [`Catalog`] of [`Release`]s. This file holds the types and the
//! merge; one adapter a feed is named after it. Nothing here decides whether a release is taken.

mod version;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

pub use version::{EdgeVersion, NotAnEdge};

/// All releases that are known, by version.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// The releases, oldest first.
    pub releases: BTreeMap<EdgeVersion, Release>,
    /// Which feeds were read, and which were off or failed; a hold names what is missing.
    pub feeds: Vec<Feed>,
}

/// One Linkerd edge release as far as the feeds tell.
#[derive(Clone, Debug, Serialize)]
pub struct Release {
    /// The version, `edge-YY.M.N`.
    pub version: EdgeVersion,
    /// When GitHub published it; `None` where no feed said so. Never the index's `created`.
    pub published: Option<Timestamp>,
    /// The charts that the index serves for it, by chart name.
    pub charts: BTreeMap<String, Chart>,
    /// The milestone that it belongs to, such as `2.20`.
    pub milestone: Option<String>,
    /// Whether it is itself the first edge of a milestone.
    pub is_milestone: bool,
    /// What Linkerd advises.
    pub guidance: Guidance,
    /// The release notes as published: untrusted text.
    pub notes: Option<String>,
}

/// One packaged chart of a release in a Helm index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chart {
    /// The chart's version, such as `2026.8.3`, or of an older scheme.
    pub version: String,
    /// Where the package is, absolute.
    pub url: String,
    /// The SHA-256 of the package in hexadecimal; `None` where the index lacks it.
    pub digest: Option<String>,
    /// The range of Kubernetes versions that the chart accepts.
    pub kube_version: Option<String>,
}

/// Linkerd's advice on one release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum Guidance {
    /// Marked as recommended.
    Recommended {
        /// Where this was said.
        source: String,
    },
    /// Advised against.
    NotRecommended {
        /// The releases to use instead, where named.
        instead: Vec<EdgeVersion>,
        /// The sentence, untrusted text.
        note: String,
        /// Where this was said.
        source: String,
    },
    /// Fine but for a condition (GKE only, IPv6 only, CLI only).
    Caution {
        /// The condition, untrusted text.
        note: String,
        /// Where this was said.
        source: String,
    },
    /// Nothing was said; not the same as fine.
    Unknown,
}

/// What became of one feed in this run.
#[derive(Clone, Debug, Serialize)]
pub struct Feed {
    /// `versioncheck`, `charts`, `releases` or `milestones`.
    pub name: &'static str,
    /// What was read, or why not.
    pub state: FeedState,
}

/// The state of a feed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeedState {
    /// Read, or unchanged since it was cached.
    Read,
    /// Turned off by the operator.
    Off,
    /// Could not be read; the reason.
    Failed(String),
}

// === impl Catalog ===

impl Catalog {
    /// Returns the release of that version, where a feed names it.
    pub fn get(&self, version: EdgeVersion) -> Option<&Release> {
        self.releases.get(&version)
    }

    /// Returns the edge release that a chart version belongs to: by its own scheme since
    /// edge-24.3.1, through the index's `appVersion` before.
    pub fn edge_of_chart(&self, chart: &str, version: &str) -> Option<EdgeVersion> {
        EdgeVersion::from_chart(version).or_else(|| {
            // Not injective before edge-24.3.1: the newest release that ships the version.
            let ships = |r: &&Release| r.charts.get(chart).is_some_and(|c| c.version == version);
            self.releases.values().rev().find(ships).map(|r| r.version)
        })
    }
}

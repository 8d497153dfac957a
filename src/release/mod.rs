//! Step 1, release: what Linkerd has released.
//!
//! In: the release feeds. Out: a [`Catalog`] of [`Release`]s. This file holds the types; `load` asks the feeds
//! and merges them, one adapter a feed is named after it. Nothing here decides whether a release is taken.

mod advice;
mod feed;
mod github_releases;
mod helm_index;
mod lenient;
mod load;
mod milestones;
mod mirror;
mod mirrors;
pub mod notes;
mod registry;
mod source;
mod versioncheck;

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use load::{Purpose, ReleaseError, load};
pub use mirror::{BadMirror, Mirror};
pub use mirrors::{Asked, Mirrors, NoMirrors, Stock};
pub use source::{BadSource, CHARTS, RELEASES, SourceSetting, Sources, VERSIONCHECK};

use crate::linkerd::{EdgeVersion, Knowledge, Notice};

/// All releases that are known, by version.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// The releases, oldest first.
    pub releases: BTreeMap<EdgeVersion, Release>,
    /// Which feeds were read, and which were off or failed; a hold names what is missing.
    pub feeds: Vec<Feed>,
    /// Milestones, required stops, notices: the built-in facts, with the operator's.
    pub knowledge: Knowledge,
    /// What was odd in the feeds and passed over: entries without a version or digest, and the like.
    pub remarks: Vec<String>,
}

/// One Linkerd edge release as far as the feeds tell.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Release {
    /// The version, `edge-YY.M.N`.
    pub version: EdgeVersion,
    /// When GitHub published it; `None` where no feed said so. Never the index's `created`.
    #[schemars(with = "Option<String>")]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum Guidance {
    /// Marked as recommended.
    Recommended {
        /// Where this was said.
        source: String,
        /// Cautions that stand beside the recommendation, untrusted text.
        #[serde(skip_serializing_if = "Option::is_none")]
        cautions: Option<String>,
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
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Feed {
    /// `versioncheck`, `charts`, `releases` or `milestones`.
    pub name: &'static str,
    /// What was read, or why not.
    pub state: FeedState,
}

/// The state of a feed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
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

    /// Returns the newest release that a feed names.
    pub fn newest(&self) -> Option<&Release> {
        self.releases.values().next_back()
    }

    /// Returns the releases above `from`, up to and with `to`, oldest first: what an upgrade brings.
    pub fn between(&self, from: EdgeVersion, to: EdgeVersion) -> impl Iterator<Item = &Release> {
        self.releases.values().filter(move |release| release.version > from && release.version <= to)
    }

    /// Returns what is to be known of the releases above `from`, up to and with `to`, oldest first.
    pub fn notices_between(&self, from: EdgeVersion, to: EdgeVersion) -> impl Iterator<Item = &Notice> {
        self.knowledge.notices_between(from, to)
    }

    /// Returns the milestone that a version belongs to, such as `2.20`, also where no feed names the version.
    pub fn milestone_of(&self, version: EdgeVersion) -> Option<&str> {
        self.knowledge.milestone_of(version).map(|milestone| milestone.name.as_str())
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

    /// Returns the state of a feed by its name.
    pub fn feed(&self, name: &str) -> Option<&FeedState> {
        self.feeds.iter().find(|feed| feed.name == name).map(|feed| &feed.state)
    }

    /// Returns the release of that version, and makes it known where it was not.
    fn entry(&mut self, version: EdgeVersion) -> &mut Release {
        self.releases.entry(version).or_insert_with(|| Release::new(version))
    }
}

// === impl Chart ===

impl Chart {
    /// Tells whether its package can be proven: by the digest in the index, or by its manifest in a registry.
    pub fn is_provable(&self) -> bool {
        self.digest.is_some() || self.url.starts_with("oci://")
    }
}

// === impl Release ===

impl Release {
    /// Makes a release of which nothing but the version is known.
    pub fn new(version: EdgeVersion) -> Self {
        Self {
            version,
            published: None,
            charts: BTreeMap::new(),
            milestone: None,
            is_milestone: false,
            guidance: Guidance::Unknown,
            notes: None,
        }
    }
}

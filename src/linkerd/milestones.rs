//! Milestones: the 2.x versions of the project and the edge release that begins each.
//!
//! Types only; the milestones themselves are data (WEB linkerd.io/data/versions.yaml).

use serde::Deserialize;

use crate::linkerd::EdgeVersion;

/// A 2.x version of the project.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Milestone {
    /// Such as `2.20`.
    pub name: String,
    /// Its first edge release.
    pub first: EdgeVersion,
    /// Where this was said.
    #[serde(default)]
    pub source: Option<String>,
}

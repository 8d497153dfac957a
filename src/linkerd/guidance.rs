//! Advice on single releases that Linkerd published outside the release notes.
//!
//! Types only; the advice itself is data. A condition is never folded into a yes or a no.

use serde::Deserialize;

use crate::linkerd::EdgeVersion;

/// What was said of one release.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Advice {
    /// The release.
    pub release: EdgeVersion,
    /// For or against.
    pub verdict: Verdict,
    /// The releases to use instead, the first named first.
    #[serde(default)]
    pub instead: Vec<EdgeVersion>,
    /// Why, or under which condition.
    #[serde(default)]
    pub note: String,
    /// Where this was said.
    pub source: String,
}

/// For, against, or it depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Marked as recommended.
    Recommended,
    /// Advised against.
    NotRecommended,
    /// Fine but for a condition.
    Caution,
}

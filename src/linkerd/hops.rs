//! Releases that an upgrade must pass through.
//!
//! Types and the rule; the hops themselves are data.

use serde::Deserialize;

use crate::linkerd::EdgeVersion;

/// A stretch of releases that cannot be crossed in one step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Hop {
    /// Applies to who runs a release below this one.
    pub below: EdgeVersion,
    /// Applies to who goes to this release or a later one.
    pub reaching: EdgeVersion,
    /// The releases to stop at, the preferred one first; each at or above `below` and below `reaching`.
    pub via: Vec<EdgeVersion>,
    /// Why, in short.
    pub why: HopReason,
    /// What there is to do at the stop.
    pub note: String,
    /// Where this was said.
    pub source: String,
}

/// Why a stop is required: a closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HopReason {
    /// The Gateway API CRDs must be kept before the charts stop owning them.
    GatewayApiOwnership,
    /// The operator's own file says so.
    Operator,
}

// === impl Hop ===

impl Hop {
    /// Says whether a step from one release to another would cross the stretch.
    pub fn applies(&self, from: EdgeVersion, to: EdgeVersion) -> bool {
        from < self.below && to >= self.reaching
    }

    /// Says whether a release is inside the stretch, where there is nothing more to stop at.
    pub fn has(&self, release: EdgeVersion) -> bool {
        (self.below..self.reaching).contains(&release)
    }

    /// Says whether the stops are inside the stretch, so that a stop cannot ask for itself again.
    pub fn is_sound(&self) -> bool {
        !self.via.is_empty() && self.via.iter().all(|via| self.has(*via))
    }
}

// === impl HopReason ===

impl HopReason {
    /// Returns the reason in words that complete "first, because ...".
    pub fn text(self) -> &'static str {
        match self {
            Self::GatewayApiOwnership => {
                "the Gateway API CRDs must be marked to be kept before the charts stop owning them"
            }
            Self::Operator => "the operator's list of required stops says so",
        }
    }
}

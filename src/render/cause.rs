//! Step 7, render: why something is not rendered, and what to do about it.

use std::fmt;

use super::{ChartId, RenderError};

/// Why a chart is not rendered, or a committed manifest not made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The chart could not be brought, or Helm does not render it.
    Chart(RenderError),
    /// Something else.
    Other {
        /// A clause without a full stop.
        reason: String,
        /// What to do, in the same form.
        hint: String,
    },
}

// === impl Cause ===

impl Cause {
    /// A cause that only people read.
    pub(super) fn new(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Other { reason: reason.into(), hint: hint.into() }
    }

    /// Says what to do about it, in a clause.
    pub fn hint(&self) -> &str {
        match self {
            Self::Chart(error) => error.hint(),
            Self::Other { hint, .. } => hint,
        }
    }

    /// Tells whether the chart's package was not the one that the index names.
    pub fn is_digest(&self) -> bool {
        matches!(self, Self::Chart(RenderError::Digest { .. }))
    }

    /// Returns the chart that Helm itself refused, and its words.
    pub fn by_helm(&self) -> Option<(&ChartId, &str)> {
        match self {
            Self::Chart(RenderError::Helm { chart, reason }) => Some((chart, reason)),
            Self::Chart(_) | Self::Other { .. } => None,
        }
    }
}

/// Writes why, in a clause.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chart(RenderError::NoHelm { reason, .. }) => f.write_str(reason),
            // Helm's own words may end with a full stop.
            Self::Chart(error) => f.write_str(error.to_string().trim_end_matches('.')),
            Self::Other { reason, .. } => f.write_str(reason),
        }
    }
}

impl From<RenderError> for Cause {
    fn from(error: RenderError) -> Self {
        Self::Chart(error)
    }
}

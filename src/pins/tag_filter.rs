//! Step 5, pins: what a tag has to match beside the version that is asked for.

use std::sync::Arc;

use crate::deploy::expression::expression;

/// A pattern that an `OCIRepository` of Flux's has for its tags (`ref.semverFilter`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TagFilter(Arc<str>);

// === impl TagFilter ===

impl TagFilter {
    /// Takes a pattern as it is written.
    pub fn new(pattern: &str) -> Self {
        Self(pattern.into())
    }

    /// Tells whether it lets a tag through: one that cannot be read lets none.
    pub fn takes(&self, tag: &str) -> bool {
        expression(&self.0).is_some_and(|pattern| pattern.is_match(tag))
    }
}

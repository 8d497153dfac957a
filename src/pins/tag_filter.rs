//! Step 5, pins: what a tag has to match beside the version that is asked for.

use std::{
    hash::{Hash, Hasher},
    sync::{Arc, OnceLock},
};

use regex::Regex;

use crate::deploy::expression::expression;

/// A pattern that an `OCIRepository` of Flux's has for its tags (`ref.semverFilter`).
#[derive(Clone, Debug)]
pub struct TagFilter(Arc<Pattern>);

#[derive(Debug)]
struct Pattern {
    text: String,
    /// `None` for one that cannot be read. Every proxy asks for it, and it may take long to compile.
    compiled: OnceLock<Option<Regex>>,
}

// === impl TagFilter ===

impl TagFilter {
    /// Takes a pattern as it is written.
    pub fn new(pattern: &str) -> Self {
        Self(Arc::new(Pattern { text: pattern.to_owned(), compiled: OnceLock::new() }))
    }

    /// Tells whether it lets a tag through: one that cannot be read lets none.
    pub fn takes(&self, tag: &str) -> bool {
        let compiled = self.0.compiled.get_or_init(|| expression(&self.0.text));
        compiled.as_ref().is_some_and(|pattern| pattern.is_match(tag))
    }
}

impl PartialEq for TagFilter {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Eq for TagFilter {}

impl Hash for TagFilter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.text.hash(state);
    }
}

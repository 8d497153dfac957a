//! What comes of several roots.

use std::collections::HashSet;

use super::kept::Kept;
use crate::{
    deploy::{chart::ChartRelease, object::Object, tree_chart::Rendered},
    repo::RepoPath,
};

/// A chart that Helm refuses, with what its templates have all the same.
pub(super) struct Failed {
    pub release: ChartRelease,
    pub rendered: Rendered,
}

/// What one thread makes of several roots.
pub(super) struct Gathered<R> {
    pub facts: Said<R>,
    /// What patches say, whatever comes of it.
    pub said: Said<R>,
    /// What variables would give that others are laid over.
    pub shadowed: Said<R>,
    /// What patches say that mean nothing.
    pub unmatched: Said<R>,
    pub kept: Vec<Kept>,
    /// The files of the objects.
    pub files: HashSet<RepoPath>,
    /// Charts that cannot be rendered as nobody deploys them.
    pub failed: Vec<Failed>,
    /// What charts would bring with more of them switched on.
    pub off: Vec<Failed>,
    /// The folders of charts that were rendered for somebody who deploys them.
    pub evaluated: Vec<String>,
}

/// What is found, and parts of releases whose other parts are elsewhere.
pub(super) struct Said<R> {
    pub facts: R,
    pub parts: Vec<Object>,
}

impl<R: Default> Default for Said<R> {
    fn default() -> Self {
        Self { facts: R::default(), parts: Vec::new() }
    }
}

impl<R: Default> Default for Gathered<R> {
    fn default() -> Self {
        let (facts, said, shadowed, unmatched) = Default::default();
        let (kept, files, failed, off, evaluated) = Default::default();
        Self { facts, said, shadowed, unmatched, kept, files, failed, off, evaluated }
    }
}

// === impl Gathered ===

impl<R> Gathered<R> {
    /// Begins a root; what files say is not what is deployed.
    pub fn begin(&mut self, is_written: bool) -> usize {
        if is_written {
            std::mem::swap(&mut self.facts, &mut self.said);
        }
        self.kept.len()
    }

    /// Ends it; `before` is how much was kept before.
    pub fn end(&mut self, is_written: bool, before: usize) {
        if is_written {
            std::mem::swap(&mut self.facts, &mut self.said);
            self.kept.iter_mut().skip(before).for_each(|kept| kept.is_written = true);
        }
    }
}

//! What comes of several roots.

use std::collections::HashSet;

use super::kept::{Kept, Standing};
use crate::{
    deploy::{chart::ChartRelease, object::Object, tree_chart::Rendered},
    repo::RepoPath,
};

/// A chart, with what comes of its templates.
pub(super) struct Charted {
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
    /// What there would be with more of charts switched on.
    pub switched: Said<R>,
    /// What patches say that mean nothing.
    pub unmatched: Said<R>,
    pub kept: Vec<Kept>,
    /// The files of the objects.
    pub files: HashSet<RepoPath>,
    /// What builds would give with what generators are merged over.
    pub covered: Vec<Kept>,
    /// Releases as they were before patches took versions out of them.
    pub replaced: Vec<Object>,
    /// Charts that cannot be rendered as nobody deploys them.
    pub failed: Vec<Charted>,
    /// What charts would bring with more of them switched on.
    pub off: Vec<Charted>,
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
        let (facts, said, shadowed, switched, unmatched) = Default::default();
        let (kept, files, covered, replaced, failed, off, evaluated) = Default::default();
        Self {
            facts,
            said,
            shadowed,
            switched,
            unmatched,
            kept,
            files,
            covered,
            replaced,
            failed,
            off,
            evaluated,
        }
    }
}

// === impl Gathered ===

impl<R> Gathered<R> {
    /// Begins a root; what files say is not what is deployed.
    pub fn begin(&mut self, standing: Standing) -> usize {
        self.swap(standing);
        self.kept.len()
    }

    fn swap(&mut self, standing: Standing) {
        match standing {
            Standing::Deployed => {}
            Standing::Written => std::mem::swap(&mut self.facts, &mut self.said),
            Standing::Off => std::mem::swap(&mut self.facts, &mut self.switched),
            Standing::Shadowed => std::mem::swap(&mut self.facts, &mut self.shadowed),
        }
    }

    /// Ends it; `before` is how much was kept before.
    pub fn end(&mut self, standing: Standing, before: usize) {
        self.swap(standing);
        for kept in self.kept.iter_mut().skip(before) {
            kept.standing = standing;
            // Nothing finds what no cluster has.
            if standing == Standing::Shadowed {
                kept.references.clear();
            }
        }
    }
}

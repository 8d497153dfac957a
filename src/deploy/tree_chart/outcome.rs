//! What came of charts of the tree as a whole, for whoever compares two trees.

use super::Rendered;
use crate::deploy::{
    chart::ChartRelease,
    note::{About, Note},
    object::Object,
};

/// A chart of the tree as somebody has it rendered, and what came of it.
#[derive(Clone, Debug)]
pub struct ChartOutcome {
    /// The chart, with its values.
    pub release: ChartRelease,
    /// Its objects.
    pub objects: Vec<Object>,
    /// Whether texts of them are others each time.
    pub has_chance: bool,
    /// What was not followed.
    pub notes: Vec<Note>,
}

// === impl ChartOutcome ===

impl ChartOutcome {
    /// Keeps all that came of a release.
    pub fn new(release: &ChartRelease, rendered: &Rendered) -> Self {
        let (objects, notes) = (rendered.objects.clone(), rendered.notes.clone());
        Self { release: release.clone(), objects, has_chance: rendered.has_chance, notes }
    }

    /// Tells whether Helm did not get to the end of it, so that its objects say nothing of what there would be.
    pub fn is_cut_short(&self) -> bool {
        self.notes.iter().any(|note| matches!(note.about, About::Over { .. }))
    }

    /// Tells whether Helm refuses it, so that its objects are what is followed without Helm.
    pub fn is_refused(&self) -> bool {
        self.notes.iter().any(|note| matches!(note.about, About::Fails { .. }))
    }
}

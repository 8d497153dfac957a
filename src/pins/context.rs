//! Step 5, pins: what every shape may ask of the repository while it reads one file.
//!
//! In: the corpus, the index, the layout. Out: answers by name. No shape asks another shape.

use super::{ScanOptions, corpus::Corpus, index::Index, layout::Layout, other};
use crate::{
    deploy::{Files as _, TreeFiles},
    repo::RepoPath,
};

/// The repository as a shape sees it.
#[derive(Clone, Copy)]
pub(super) struct Context<'c> {
    /// Files on demand.
    pub corpus: &'c Corpus<'c>,
    /// The same files as the deployers read them.
    pub files: &'c TreeFiles<'c>,
    /// Facts of all files.
    pub index: &'c Index,
    /// How folders are put together.
    pub layout: &'c Layout<'c>,
    /// What the operator said.
    pub options: &'c ScanOptions,
}

// === impl Context ===

impl<'c> Context<'c> {
    /// Tells whether a file lies among the templates of a chart of the tree.
    pub fn is_template(&self, path: &RepoPath) -> bool {
        other::is_chart_template(path, |folder| {
            let chart =
                if folder.is_empty() { "Chart.yaml".to_owned() } else { format!("{folder}/Chart.yaml") };
            self.corpus.entry(&chart).is_some()
        })
    }

    /// Returns the name of the chart in a folder of the tree.
    pub fn local_chart(&self, folder: &str) -> Option<&'c str> {
        self.index.charts.get(folder).map(String::as_str)
    }

    /// Tells whether the tree has a chart.
    pub fn has_charts(&self) -> bool {
        self.files.below("").iter().any(|entry| entry.path.name() == "Chart.yaml")
    }
}

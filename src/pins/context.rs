//! Step 5, pins: what every shape may ask of the repository while it reads one file.
//!
//! In: the corpus, the index, the layout. Out: answers by name. No shape asks another shape.

use super::{ScanOptions, corpus::Corpus, index::Index, layout::Layout, other};
use crate::{
    deploy::{
        TreeFiles,
        helmfile::{is_helmfile, is_lock},
        terraform::is_terraform,
    },
    repo::{Entry, RepoPath, Tree, parallel},
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
    /// What the tree has by the names of its files.
    pub holds: Holds,
}

/// What a tree has by the names of its files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Holds {
    /// A chart.
    pub charts: bool,
    /// Modules of Terraform.
    pub terraform: bool,
    /// A helmfile, or the lock of one.
    pub helmfiles: bool,
}

// === impl Context ===

impl<'c> Context<'c> {
    /// Tells whether a file lies among the templates of a chart of the tree.
    pub fn is_template(&self, path: &RepoPath) -> bool {
        self.holds.charts
            && other::is_chart_template(path, |folder| {
                let chart =
                    if folder.is_empty() { "Chart.yaml".to_owned() } else { format!("{folder}/Chart.yaml") };
                self.corpus.entry(&chart).is_some()
            })
    }

    /// Returns the name of the chart in a folder of the tree.
    pub fn local_chart(&self, folder: &str) -> Option<&'c str> {
        self.index.charts.get(folder).map(String::as_str)
    }
}

// === impl Holds ===

impl Holds {
    /// Looks at all names of a tree, once for all who ask.
    pub fn of(tree: &dyn Tree) -> Self {
        let parts = parallel::fold(tree.entries(), |holds: &mut Self, Entry { path, .. }| {
            holds.charts |= path.name() == "Chart.yaml";
            holds.terraform |= is_terraform(path);
            holds.helmfiles |= is_helmfile(path) || is_lock(path);
        });
        parts.into_iter().fold(Self::default(), |all, part| Self {
            charts: all.charts || part.charts,
            terraform: all.terraform || part.terraform,
            helmfiles: all.helmfiles || part.helmfiles,
        })
    }
}

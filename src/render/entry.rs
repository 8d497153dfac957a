//! Step 7, render: what the configuration says of committed manifests.
//!
//! Types only. `config` fills them.

use crate::repo::RepoPath;

/// A `render` entry of the configuration: how a manifest was rendered, where it cannot be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderEntry {
    /// The chart.
    pub chart: String,
    /// The namespace; any when absent.
    pub namespace: Option<String>,
    /// The values files, later ones win.
    pub values: Vec<RepoPath>,
    /// The file or folder with the output; any when absent.
    pub output: Option<RepoPath>,
}

/// What becomes of manual changes in rendered manifests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DriftMode {
    /// The manifest stays as it is, and the changes are named.
    #[default]
    Refuse,
    /// The new rendering replaces them, and says so.
    Overwrite,
    /// They stay in the new rendering, unless it changes the same fields.
    Keep,
}

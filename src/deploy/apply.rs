//! What one run of a tool brings to one cluster: of tools that people and pipelines run, as `terraform apply` and
//! `helmfile apply`.

use std::collections::BTreeSet;

use super::{chart::ChartRelease, object::Object, value::Scalar};
use crate::repo::RepoPath;

/// What one run brings to one cluster.
#[derive(Clone, Debug)]
pub struct Apply {
    /// The file that it is run for, or one of its folder.
    pub file: RepoPath,
    /// What tells the cluster from others that the same folder is run for: an environment, a file of variables, a provider.
    pub cluster: Option<String>,
    /// The charts.
    pub charts: Vec<ChartRelease>,
    /// The objects.
    pub objects: Vec<Object>,
}

// === impl Apply ===

impl Apply {
    /// Returns the files that its texts stand in.
    pub fn reads(&self) -> BTreeSet<RepoPath> {
        let of_charts = self.charts.iter().flat_map(ChartRelease::scalars);
        let of_objects = self.objects.iter().flat_map(|object| object.value.scalars());
        of_charts.chain(of_objects).flat_map(Scalar::origins).map(|at| at.source.path.clone()).collect()
    }
}

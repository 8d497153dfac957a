//! What one run of a tool brings to one cluster: of tools that people and pipelines run, as `terraform apply` and
//! `helmfile apply`.

use std::collections::BTreeSet;

use super::{chart::ChartRelease, json_patch::Guard, note::Note, object::Object, value::Value};
use crate::repo::RepoPath;

/// What one run brings to one cluster.
#[derive(Clone, Debug)]
pub struct Apply {
    /// The file that it is run for, or one of its folder.
    pub file: RepoPath,
    /// What tells the cluster from others that the same folder is run for: an environment, a file of variables, a provider.
    pub cluster: Option<String>,
    /// Whether an object has the tool run, which need not be of the cluster that it has things brought to.
    pub by_object: bool,
    /// The charts.
    pub charts: Vec<ChartRelease>,
    /// The objects.
    pub objects: Vec<Object>,
    /// Parts of what makes them of which the tool leaves as it is what the cluster has.
    pub left: Vec<Value>,
    /// Texts that have to agree with versions of the charts.
    pub guards: Vec<Guard>,
    /// What the tool would refuse.
    pub notes: Vec<Note>,
}

/// What one tool brings, of all files of a tree that are its own.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    /// By run and cluster.
    pub applies: Vec<Apply>,
    /// The files that were read for it.
    pub reads: BTreeSet<RepoPath>,
}

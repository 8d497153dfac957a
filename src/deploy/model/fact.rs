//! What the model finds.

use crate::{
    deploy::{
        chart::ChartRelease, cluster::Cluster, json_patch::Guard, kinds::Deployer, note::Note,
        object::Object, tree_chart::Rendered, umbrella::Dependencies, value::Value,
    },
    repo::RepoPath,
};

/// What a chart waits for before it is deployed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum After {
    /// Its deployer has no such thing.
    Unsaid,
    /// Other HelmReleases, by `name` or `namespace/name`.
    DependsOn(Vec<String>),
    /// Applications of earlier sync waves.
    Wave(i64),
}

/// A chart, with who asks for it.
pub struct Asked<'f> {
    /// The chart with its values.
    pub release: &'f ChartRelease,
    /// Who has it rendered.
    pub deployer: Deployer,
    /// The object that asks; `None` for a kustomization.
    pub object: Option<&'f Object>,
    /// What it waits for.
    pub after: After,
    /// The objects beside it.
    pub cluster: &'f Cluster<'f>,
}

/// Something that is deployed.
pub enum Fact<'f> {
    /// A chart that an object names.
    Release(Asked<'f>),
    /// A chart as it is rendered.
    Use(&'f ChartRelease),
    /// A chart of the tree that is deployed, with what it depends on of the charts that are none of the tree's.
    Umbrella(&'f ChartRelease, &'f Dependencies),
    /// An object, with those that it may refer to.
    Object(&'f Object, &'f Cluster<'f>),
    /// What is said of an object that is not in the tree, and the charts that may have made it.
    Part(&'f Object, &'f Cluster<'f>, &'f [ChartRelease]),
    /// Entries of `images`, and the charts that they are laid over.
    Images(&'f [Value], &'f [ChartRelease]),
    /// What must move with what it is compared with.
    Guards(&'f [Guard]),
    /// A file, as it stands there: its documents are at hand.
    File(&'f RepoPath),
    /// What came of a chart of the tree.
    Rendered(&'f ChartRelease, &'f Rendered),
    /// What an object has nothing made of, since the template that it is for is refused.
    Unmade(&'f Object, &'f [Value]),
    /// What an object tells a plugin, which makes of it what is not followed.
    Told(&'f Object, &'f [Value]),
    /// What an object is told and makes nothing of, since others are laid over it.
    Overridden(&'f Object, &'f [Value]),
    /// What was not followed.
    Notes(&'f [Note]),
}

/// Takes what is found; each thread has a result of its own.
pub type Take<'t, R> = dyn Fn(&mut R, Fact<'_>) + Sync + 't;

//! What a deployer makes of a root.

use super::{chart::ChartRelease, json_patch::Guard, note::Note, object::Object, value::Value};
use crate::repo::RepoPath;

/// What a kustomization or an Application comes to.
#[derive(Clone, Debug, Default)]
pub struct Build {
    /// The objects, in the order in which they are taken in; texts of generated Secrets are in `stringData`.
    pub objects: Vec<Object>,
    /// The elements of generators that the first of them were made of, whatever is laid over what these say.
    pub elements: Vec<Value>,
    /// The charts that kustomize would inflate, or Argo CD render.
    pub charts: Vec<ChartRelease>,
    /// The files of objects that patches delete, and those of a folder that the deployer is told to leave out.
    pub left_out: Vec<RepoPath>,
    /// Objects of files that the source leaves out, as they stand there: no cluster has them, and they lie with what this one has.
    pub ignored: Vec<Object>,
    /// What must move together with what it is compared with.
    pub guards: Vec<Guard>,
    /// What is said of objects that are not known here, those of a chart or of a remote base: parts of objects.
    pub strays: Vec<Object>,
    /// What patches say, whatever is laid over it: parts of objects.
    pub idle: Vec<Object>,
    /// What patches say of objects that are not here, though all objects are known.
    pub unmatched: Vec<Object>,
    /// Objects as they would be with the variables that others are laid over.
    pub shadowed: Vec<Object>,
    /// Objects as they would be with what generators are merged over.
    pub covered: Vec<Object>,
    /// Objects as they would be without a patch that lays another version over theirs, and those after it.
    pub unpatched: Vec<Object>,
    /// The entries of `images`, where there are objects that are not known here.
    pub images: Vec<Value>,
    /// Those beside which all objects are known: no chart gets them.
    pub images_of_known: Vec<Value>,
    /// What nothing is made of, since the template that it is for is refused: elements of a generator, inputs.
    pub unmade: Vec<Value>,
    /// What plugins are told, who make of it what is not followed.
    pub told: Vec<Value>,
    /// What others are laid over, or that is laid over nothing: elements of a generator.
    pub overridden: Vec<Value>,
    /// What was not followed, and what the deployer would fail at.
    pub notes: Vec<Note>,
}

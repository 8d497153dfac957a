//! Step 4, deploy: what the deployers make of a tree.
//!
//! In: the files of one commit. Out: objects whose every scalar knows the bytes that it was written with, whatever way it
//! travelled: through aliases, merges, patches, generators, replacements, substitution. One file a deployer; all is
//! pure, nothing is contacted, and nothing of a repository is run.

pub(crate) mod apply;
pub(crate) mod argo;
pub(crate) mod build;
mod cel;
pub(crate) mod chart;
pub(crate) mod cluster;
pub(crate) mod difference;
pub(crate) mod expression;
pub(crate) mod files;
pub(crate) mod fleet;
pub(crate) mod flux;
pub(crate) mod go_template;
pub(crate) mod go_yaml;
pub(crate) mod handed;
pub(crate) mod helmfile;
pub(crate) mod installation;
pub(crate) mod json_patch;
pub(crate) mod k3s;
pub(crate) mod kinds;
pub mod kustomize;
pub(crate) mod kyverno;
pub(crate) mod merge;
pub(crate) mod model;
pub(crate) mod note;
pub(crate) mod object;
mod open_path;
pub(crate) mod openshift;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod origins;
pub(crate) mod read;
mod reads;
pub(crate) mod repositories;
pub(crate) mod schema;
pub(crate) mod selector;
pub(crate) mod strvals;
mod suspended;
pub(crate) mod terraform;
#[cfg(test)]
pub mod testing;
pub(crate) mod tree_chart;
pub mod typed;
pub(crate) mod umbrella;
pub(crate) mod value;
mod watch;

pub use apply::Applied;
pub use build::Build;
pub use chart::{ChartRelease, Layer, Parameter};
pub use cluster::Cluster;
pub use difference::{Compared, Difference, Identity, KnownBy, Replaced, What, compare};
pub use files::{FileError, Files, TreeFiles};
pub use installation::{Installations, Knows, Mark, Role, Root, installations};
pub use kinds::Deployer;
pub use note::{About, Bound, Note};
pub use object::{Labels, Object};
pub use repositories::Repositories;
pub use value::{Map, Origin, Part, Scalar, Source, Value};

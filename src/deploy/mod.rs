//! Step 4, deploy: what the deployers make of a tree.
//!
//! In: the files of one commit. Out: objects whose every scalar knows the bytes that it was written with, whatever way it
//! travelled: through aliases, merges, patches, generators, replacements, substitution. One file a deployer; all is
//! pure, nothing is contacted, and nothing of a repository is run.

pub mod apply;
pub mod argo;
pub mod build;
pub mod chart;
pub mod cluster;
pub mod difference;
pub mod files;
pub mod fleet;
pub mod flux;
pub mod go_template;
pub mod go_yaml;
pub mod handed;
pub mod helmfile;
pub mod installation;
pub mod json_patch;
pub mod k3s;
pub mod kinds;
pub mod kustomize;
pub mod merge;
pub mod model;
pub mod note;
pub mod object;
mod open_path;
pub mod openshift;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod origins;
pub mod read;
mod reads;
pub mod repositories;
pub mod schema;
pub mod selector;
pub mod strvals;
mod suspended;
pub mod terraform;
#[cfg(test)]
pub mod testing;
pub mod tree_chart;
pub mod typed;
pub mod umbrella;
pub mod value;
mod watch;

pub use apply::Applied;
pub use build::Build;
pub use chart::{ChartRelease, Layer, Parameter};
pub use cluster::Cluster;
pub use difference::{Compared, Difference, Identity, KnownBy, Replaced, What, compare};
pub use files::{FileError, Files, TreeFiles};
pub use installation::{Installations, Mark, Role, Root, installations};
pub use kinds::Deployer;
pub use note::{About, Bound, Note};
pub use object::{Labels, Object};
pub use repositories::Repositories;
pub use value::{Map, Origin, Part, Scalar, Source, Value};

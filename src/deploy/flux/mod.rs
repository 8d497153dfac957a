//! What Flux makes of its objects.
//!
//! In: Kustomizations, HelmReleases, sources, ResourceSets as a build gives them. Out: objects, and charts with their
//! values. As kustomize-controller, helm-controller and flux-operator do it.

mod artifact;
mod awaited;
mod copied;
pub mod envsubst;
mod expressions;
pub mod helm_release;
mod ignored;
pub mod kustomization;
mod own;
mod pattern;
pub mod resource_set;
mod sources;
pub mod substitute;
#[cfg(test)]
mod tests;

pub use copied::copies;
pub use expressions::{awaited_values, expressions, kustomization};
pub use helm_release::{
    chart_source, depends_on, helm_release, is_of_tree, laid_over, optional_sources, part, post_rendered,
    unapplied, value_sources,
};
pub use kustomization::{concerns, flux_instance, handed_on, instance_concerns};
pub use resource_set::{provided_by, providers, resource_set};
pub use substitute::{variable_sources, waits_for_variables};

/// The group of HelmReleases.
pub const RELEASES: &str = "helm.toolkit.fluxcd.io";
/// The group of sources.
pub const SOURCES: &str = "source.toolkit.fluxcd.io";
/// The group of Kustomizations.
pub const KUSTOMIZATIONS: &str = "kustomize.toolkit.fluxcd.io";
/// The group of source-watcher's objects.
pub const WATCHER: &str = "source.extensions.fluxcd.io";
/// The APIs of Flux that are no beta.
pub const APIS: [&str; 10] = [
    "helm.toolkit.fluxcd.io/v2",
    "helm.toolkit.fluxcd.io/v2/HelmRelease",
    "kustomize.toolkit.fluxcd.io/v1",
    "kustomize.toolkit.fluxcd.io/v1/Kustomization",
    "source.toolkit.fluxcd.io/v1",
    "source.toolkit.fluxcd.io/v1/Bucket",
    "source.toolkit.fluxcd.io/v1/GitRepository",
    "source.toolkit.fluxcd.io/v1/HelmChart",
    "source.toolkit.fluxcd.io/v1/HelmRepository",
    "source.toolkit.fluxcd.io/v1/OCIRepository",
];
/// The kind of what they make, as others refer to it.
pub const ARTIFACT: &str = "ExternalArtifact";
/// The group of flux-operator's objects.
pub const OPERATOR: &str = "fluxcd.controlplane.io";

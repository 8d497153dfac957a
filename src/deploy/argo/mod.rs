//! What Argo CD makes of its objects.
//!
//! In: Applications and ApplicationSets as a build gives them. Out: Applications, objects, and charts with their values.
//! As argocd-applicationset-controller and argocd-repo-server do it.

pub mod application;
pub mod application_set;
mod directory;
mod element;
mod environment;
mod fill;
mod generators;
mod git;
mod helm;
mod kept;
mod kustomize;
mod merge;
mod patch;
mod source;
#[cfg(test)]
mod tests;

use super::object::Object;
pub use application::{application, concerns, managed_namespace, sources, sync_wave, without_folders};
pub use application_set::application_set;
pub use kept::{Kept, creates_only};

/// The group of Argo CD's objects.
pub const GROUP: &str = "argoproj.io";
/// Its APIs, as Argo CD names those of a cluster to Helm: with the kinds too (`util/argo/argo.go`, `APIResourcesToStrings`).
pub const APIS: [&str; 4] = [
    "argoproj.io/v1alpha1",
    "argoproj.io/v1alpha1/AppProject",
    "argoproj.io/v1alpha1/Application",
    "argoproj.io/v1alpha1/ApplicationSet",
];
/// The server and the name of the cluster that Argo CD runs in, which it knows without a Secret (`util/db/cluster.go`,
/// `ListClusters`).
pub const OWN_CLUSTER: [&str; 2] = ["https://kubernetes.default.svc", "in-cluster"];
/// The label of a Secret that says what Argo CD knows by it; of a cluster it is `cluster`.
pub const SECRET_TYPE: &str = "argocd.argoproj.io/secret-type";
/// Elements of one generator that are looked at.
const ELEMENTS: usize = 10_000;

/// Tells whether an object is the Secret by which Argo CD knows a cluster.
pub fn is_cluster(object: &Object) -> bool {
    object.is("", "Secret") && object.label(SECRET_TYPE).is_some_and(|label| label.text() == "cluster")
}

/// Tells whether it is that of the cluster that Argo CD runs in.
pub fn is_own_cluster(object: &Object) -> bool {
    let is_own = |server: &str| server.trim_end_matches('/') == OWN_CLUSTER[0];
    is_cluster(object) && object.value.text(&["stringData", "server"]).is_some_and(|server| is_own(&server))
}

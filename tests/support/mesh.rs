//! A small Flux repository: two charts of Linkerd and one workload with a fixed proxy, all at edge-26.8.2.

/// The charts' repository.
pub const SOURCES: &str = include_str!("../../templates/demo/repository/sources.yaml");
/// The release of the CRDs.
pub const CRDS: &str = include_str!("../../templates/demo/repository/crds.yaml");
/// The release of the control plane.
pub const CONTROL_PLANE: &str = include_str!("../../templates/demo/repository/control-plane.yaml");
/// A workload.
pub const WEB: &str = include_str!("../../templates/demo/repository/web.yaml");

/// All of it.
pub const MESH: &[(&str, &str)] = &[
    ("linkerd/sources.yaml", SOURCES),
    ("linkerd/crds.yaml", CRDS),
    ("linkerd/control-plane.yaml", CONTROL_PLANE),
    ("apps/web.yaml", WEB),
];

/// The same with more files.
pub fn mesh_and<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    MESH.iter().chain(more).copied().collect()
}

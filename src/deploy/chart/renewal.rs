//! When a deployer takes a chart of the tree anew.

/// What of a chart of the tree has to change before its deployer takes it anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Renewal {
    /// Anything in it.
    #[default]
    Change,
    /// The version in its `Chart.yaml`, as Flux has it unless `reconcileStrategy` says `Revision`: what was packaged with that
    /// version is kept (source-controller `internal/helm/chart/builder_local.go`, `Build`).
    FluxVersion,
    /// The same in Terraform, whose Helm provider plans by what a chart says of itself, unless it is told to compare manifests.
    TerraformVersion,
}

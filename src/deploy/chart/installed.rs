//! Who brings what a chart gives to the cluster.

/// Who brings what a chart gives to the cluster: that decides what becomes of objects that leave it, and of its hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Installed {
    /// Helm, by itself or in Flux, Terraform and helmfile. It leaves what says `helm.sh/resource-policy: keep` (helm
    /// `pkg/kube/client.go`, `Update`), and deletes the hooks of before.
    Helm,
    /// Helm in Fleet, which says that policy of every definition of a custom resource (fleet
    /// `internal/helmdeployer/postrender.go`).
    Fleet,
    /// Helm in k3s, which uninstalls a release that failed, and installs it anew (k3s-io/klipper-helm, `entry`).
    K3s,
    /// Argo CD, which applies what Helm prints, and takes Helm's hooks for its own. Pruning, it knows no policy of Helm's
    /// (argo-cd `gitops-engine/pkg/sync/sync_context.go`, `pruneObject`).
    Argo {
        /// Whether it may prune: its Application does not say `Prune=false`.
        prunes: bool,
    },
    /// Whoever applies what was printed: by kustomize, by Terraform's `helm_template`.
    Applied,
}

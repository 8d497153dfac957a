//! Knowledge of Linkerd: names, annotations, milestones, required hops.
//!
//! Data and pure functions only; every step may read it, it reads nothing but version types. Each fact names
//! its source: L2 is the repository linkerd/linkerd2, WEB is linkerd/website.

/// The chart repository of the edge channel (WEB tasks/install-helm).
pub const EDGE_CHARTS: &str = "https://helm.linkerd.io/edge";

/// The registry and organisation of Linkerd's images (L2 charts, `cr.l5d.io/linkerd/...`).
pub const IMAGES: &str = "cr.l5d.io/linkerd/";

/// The annotation that fixes the injected proxy's version (L2 pkg/k8s/labels.go).
pub const PROXY_VERSION: &str = "config.linkerd.io/proxy-version";

/// The annotation that opts in or out of injection: `enabled`, `ingress`, `disabled`.
pub const INJECT: &str = "linkerd.io/inject";

/// The charts that are published with each edge release today (L2 bin/helm-build).
pub const CHARTS: [&str; 5] =
    ["linkerd-crds", "linkerd-control-plane", "linkerd-viz", "linkerd-multicluster", "linkerd2-cni"];

//! Annotations that Linkerd reads from, or writes to, pods and namespaces (L2 pkg/k8s/labels.go).
//!
//! Constants only.

/// Fixes the injected proxy's version. Read when a pod is created: from the pod (so from a pod template),
/// else from its namespace; on a workload's own metadata it has no effect.
pub const PROXY_VERSION: &str = "config.linkerd.io/proxy-version";

/// Fixes the tag of the image of the debug container, which the injector puts beside a proxy on request; read where
/// [`PROXY_VERSION`] is.
pub const DEBUG_VERSION: &str = "config.linkerd.io/debug-image-version";

/// The label by which a pod template asks for restarts: its workload rolls when its proxy is to be renewed.
pub const RECONCILE: &str = "config.linkerd.io/reconcile";

/// The label that keeps a namespace from Linkerd's webhooks, so that nothing in it is injected.
pub const ADMISSION: &str = "config.linkerd.io/admission-webhooks";

/// The annotation that opts in or out of injection: `enabled`, `ingress`, `disabled`.
pub const INJECT: &str = "linkerd.io/inject";

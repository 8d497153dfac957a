//! Step 5, pins: whether pods are injected, and which of them ask for restarts.
//!
//! In: the labels and annotations of pods, and their namespace. Out: why an annotation of theirs stays, and claims of the
//! annotation that makes their workload roll, or of the place for it.

use super::claims::Claims;
use crate::{
    deploy::{Cluster, Object, Value, cluster::Reference},
    linkerd::{ADMISSION, INJECT, PROXY_VERSION, RECONCILE},
    pins::{Reason, found::Spec},
    repo::RepoPath,
};

/// Tells whether the pods that these labels go to ask for restarts.
pub(super) fn asks(value: &Value, labels: &str) -> bool {
    value.text(&[labels, RECONCILE]).is_some_and(|text| text == "auto")
}

/// Takes the annotation of pods that ask for restarts, or the place for it.
pub(super) fn take_asking(
    value: &Value,
    (labels, annotations): (&str, &str),
    home: Injection,
    spec: Spec,
    claims: &mut Claims,
) {
    let Some(label) = value.scalar(&[labels, RECONCILE]) else { return };
    let annotations = value.get(annotations).cloned().unwrap_or_else(Value::empty);
    let spec = Spec { restarts: true, ..spec }.staying(opted_out(&annotations, home));
    match annotations.scalar(&[PROXY_VERSION]) {
        Some(version) => {
            claims.take(version, &spec);
            claims.annotated(label);
        }
        None => claims.take_absent(label, &spec),
    }
}

/// Whether the pods of a namespace are injected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Injection {
    /// As they say themselves.
    #[default]
    Open,
    /// Those that say so themselves.
    OptedOut,
    /// None: Linkerd's webhooks are not asked (L2 charts/linkerd-control-plane/values.yaml, `namespaceSelector`).
    Shut,
}

/// Says whether the pods of a namespace are injected: of namespaces of several clusters, in any of those that are meant.
/// `asks` has the file of what is in it, and who deploys that.
pub(super) fn injection(name: &str, asks: &[&RepoPath], cluster: &Cluster<'_>) -> Injection {
    let Some(from) = asks.first().copied() else { return Injection::Open };
    let wanted = Reference { group: "", kind: "Namespace", name, namespace: None, from };
    let said = |namespace: &Object| {
        let part = |key| namespace.value.path(&["metadata", key]);
        told(part("labels"), part("annotations"))
    };
    cluster.find_all(wanted, asks).into_iter().map(said).min().unwrap_or_default()
}

/// Says whether the pods of a namespace are injected that has these labels and annotations.
pub(super) fn told(labels: Option<&Value>, annotations: Option<&Value>) -> Injection {
    let is_disabled =
        |of: Option<&Value>, key| of.and_then(|of| of.text(&[key])).as_deref() == Some("disabled");
    match (is_disabled(labels, ADMISSION), is_disabled(annotations, INJECT)) {
        (true, _) => Injection::Shut,
        (false, true) => Injection::OptedOut,
        (false, false) => Injection::Open,
    }
}

/// Says whether the annotations of a pod, or its namespace, keep it out of the mesh.
pub(super) fn opted_out(annotations: &Value, home: Injection) -> Option<Reason> {
    let out = match annotations.text(&[INJECT]).as_deref() {
        _ if home == Injection::Shut => true,
        Some("disabled") => true,
        Some("enabled" | "ingress") => false,
        _ => home == Injection::OptedOut,
    };
    out.then_some(Reason::OptedOut)
}

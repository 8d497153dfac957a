//! Step 5, pins: shape `proxy-annotation`, `config.linkerd.io/proxy-version` and `debug-image-version` where the injector
//! reads them.
//!
//! In: objects, patches, values. Out: data-plane pins. The injector reads them from a pod, so from a pod template, or
//! from a namespace; anywhere else in an object they are listed as without effect.

use super::{Pin, PinKind, Stage, found::Spec, version_text::Expects};
use crate::{
    deploy::{Scalar, Value},
    linkerd::{DEBUG_VERSION, PROXY_VERSION},
    yaml::Step,
};

/// What the injector reads.
const KEYS: [&str; 2] = [PROXY_VERSION, DEBUG_VERSION];
/// The same as Kyverno adds it where it is not there yet (Kyverno, "Add if not present anchor").
const ADDED: [&str; 2] = ["+(config.linkerd.io/proxy-version)", "+(config.linkerd.io/debug-image-version)"];

/// The spec of every pin of this shape.
pub(super) fn spec() -> Spec {
    Spec { stage: Stage::DataPlane, ..Spec::platform(PinKind::ProxyAnnotation, Expects::Edge) }
}

/// Tells whether a text names such an annotation.
pub(super) fn is_in(text: &str) -> bool {
    KEYS.iter().any(|key| text.contains(key))
}

/// Tells whether a text ends in the name of one.
pub(super) fn ends(text: &str) -> bool {
    KEYS.iter().any(|key| text.ends_with(key))
}

/// Returns the releases that a mapping of annotations names to the injector.
pub(super) fn versions(annotations: &Value) -> impl Iterator<Item = &Scalar> {
    KEYS.iter().chain(&ADDED).filter_map(|key| annotations.scalar(&[key]))
}

/// Who reads an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// The injector, from pods.
    Pod,
    /// The injector, from a namespace.
    Namespace,
    /// Nobody.
    None,
}

/// Says who reads the annotations map at a path of an object.
pub(super) fn effect(kind: &str, path: &[&str]) -> Effect {
    let pod = match kind {
        "Namespace" => {
            return if path == ["metadata", "annotations"] { Effect::Namespace } else { Effect::None };
        }
        "Pod" => path == ["metadata", "annotations"],
        "Deployment" | "StatefulSet" | "DaemonSet" | "Job" | "ReplicaSet" | "ReplicationController" => {
            path == ["spec", "template", "metadata", "annotations"]
        }
        // What pods get for as long as they are new, or old (Argo Rollouts, "Ephemeral Metadata").
        "Rollout" => match path {
            ["spec", "template", "metadata", "annotations"] => true,
            ["spec", "strategy", "canary", part, "annotations"] => {
                matches!(*part, "canaryMetadata" | "stableMetadata")
            }
            ["spec", "strategy", "blueGreen", part, "annotations"] => {
                matches!(*part, "activeMetadata" | "previewMetadata")
            }
            _ => false,
        },
        "CronJob" => path == ["spec", "jobTemplate", "spec", "template", "metadata", "annotations"],
        "PodTemplate" => path == ["template", "metadata", "annotations"],
        // It puts them on pods, among others.
        "AnnotationsTransformer" => path == ["annotations"],
        // Argo CD writes these on the namespace that it makes.
        "Application" | "ApplicationSet" => {
            let is_namespace = path.ends_with(&["managedNamespaceMetadata", "annotations"]);
            return if is_namespace { Effect::Namespace } else { Effect::None };
        }
        // A patch whose target has no kind: by its path alone.
        "" => path.ends_with(&["template", "metadata", "annotations"]),
        // Nothing of these is a pod, and what they hold or lay over others is read by itself.
        "HelmRelease" | "HelmChart" | "Kustomization" | "ResourceSet" | "ConfigMap" | "Secret"
        | "AppProject" => false,
        // An operator's own kind: what it is told to annotate is its pods, as Knative's `spec.template` and the
        // `spec.podMetadata` of Prometheus do.
        _ => {
            path.first() == Some(&"spec")
                && path.last().is_some_and(|key| key.to_ascii_lowercase().ends_with("annotations"))
        }
    };
    if pod { Effect::Pod } else { Effect::None }
}

// === impl Pin ===

impl Pin {
    /// Tells whether an annotation fixes the debug container's image there, which says nothing of the proxies.
    pub fn is_of_debugger(&self) -> bool {
        let last = self.site.route.as_ref().and_then(|route| route.steps.last());
        self.kind == PinKind::ProxyAnnotation
            && matches!(last, Some(Step::Key(key)) if key.contains(DEBUG_VERSION))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pods_and_namespaces_are_read() {
        let template = ["spec", "template", "metadata", "annotations"];
        assert_eq!(effect("Rollout", &template), Effect::Pod);
        assert_eq!(effect("Deployment", &["metadata", "annotations"]), Effect::None);
        assert_eq!(effect("Pod", &["metadata", "annotations"]), Effect::Pod);
        assert_eq!(effect("CronJob", &template), Effect::None);
        assert_eq!(effect("Namespace", &["metadata", "annotations"]), Effect::Namespace);
        assert_eq!(effect("Service", &["metadata", "annotations"]), Effect::None);
        assert_eq!(effect("Service", &template), Effect::Pod, "of Knative");
        assert_eq!(effect("Prometheus", &["spec", "podMetadata", "annotations"]), Effect::Pod);
        assert_eq!(effect("Prometheus", &["metadata", "annotations"]), Effect::None);
    }
}

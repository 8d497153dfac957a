//! Step 5, pins: shape `proxy-annotation`, `config.linkerd.io/proxy-version` and `debug-image-version` where the injector
//! reads them.
//!
//! In: objects, patches, values. Out: data-plane pins. The injector reads them from a pod, so from a pod template, or
//! from a namespace; anywhere else in an object they are listed as without effect.

use super::{PinKind, Stage, found::Spec, version_text::Expects};
use crate::{
    deploy::{Scalar, Value},
    linkerd::{DEBUG_VERSION, PROXY_VERSION},
};

/// What the injector reads.
const KEYS: [&str; 2] = [PROXY_VERSION, DEBUG_VERSION];
/// The same as Kyverno adds it where it is not there yet (Kyverno, "Add if not present anchor").
const ADDED: [&str; 2] = ["+(config.linkerd.io/proxy-version)", "+(config.linkerd.io/debug-image-version)"];

/// The spec of what says which proxy runs.
pub(super) fn spec() -> Spec {
    Spec { stage: Stage::DataPlane, ..Spec::platform(PinKind::ProxyAnnotation, Expects::Edge) }
}

/// Tells whether a text names such an annotation.
pub(super) fn is_in(text: &str) -> bool {
    KEYS.iter().any(|key| text.contains(key))
}

/// Returns the name of the one that a text ends in.
pub(super) fn ending(text: &str) -> Option<&'static str> {
    KEYS.into_iter().find(|key| text.ends_with(key))
}

/// Returns the releases that a mapping of annotations names to the injector.
pub(super) fn versions(annotations: &Value) -> impl Iterator<Item = (&Scalar, Spec)> {
    KEYS.iter().chain(&ADDED).filter_map(|key| Some((annotations.scalar(&[key])?, of(key))))
}

/// The spec of an annotation. The debug container's image says nothing of the proxies.
pub(super) fn of(key: &str) -> Spec {
    Spec { on_demand: key.contains(DEBUG_VERSION), ..spec() }
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
pub(super) fn effect(group: &str, kind: &str, path: &[&str]) -> Effect {
    let pod = match kind {
        _ if is_namesake(group, kind) => is_of_pods(path),
        "Namespace" => {
            return if path == ["metadata", "annotations"] { Effect::Namespace } else { Effect::None };
        }
        // Tekton hands them on to its pods ("Labels and Annotations").
        "Pod" | "TaskRun" | "PipelineRun" | "Task" | "Pipeline" if path == ["metadata", "annotations"] => {
            true
        }
        "Pod" => false,
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
        _ => is_of_pods(path),
    };
    if pod { Effect::Pod } else { Effect::None }
}

/// Tells whether an object has only the kind's name in common with one that is known here, as KubeVela's Application has. A part
/// of an object may say no group.
fn is_namesake(group: &str, kind: &str) -> bool {
    let own: &[&str] = match kind {
        "Application" | "ApplicationSet" | "AppProject" | "Rollout" => &["argoproj.io"],
        "Task" | "TaskRun" | "Pipeline" | "PipelineRun" => &["tekton.dev"],
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" => &["apps", "extensions"],
        "Job" | "CronJob" => &["batch"],
        _ => return false,
    };
    !group.is_empty() && !own.contains(&group)
}

/// What an operator is told to annotate under the `spec` of its own kind is its pods, as Knative's `spec.template` and the
/// `spec.podMetadata` of Prometheus do.
fn is_of_pods(path: &[&str]) -> bool {
    path.first() == Some(&"spec")
        && path.last().is_some_and(|key| key.to_ascii_lowercase().ends_with("annotations"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pods_and_namespaces_are_read() {
        let template = ["spec", "template", "metadata", "annotations"];
        assert_eq!(effect("argoproj.io", "Rollout", &template), Effect::Pod);
        assert_eq!(effect("apps", "Deployment", &["metadata", "annotations"]), Effect::None);
        assert_eq!(effect("", "Pod", &["metadata", "annotations"]), Effect::Pod);
        assert_eq!(effect("tekton.dev", "TaskRun", &["metadata", "annotations"]), Effect::Pod);
        assert_eq!(effect("", "Pod", &["spec", "annotations"]), Effect::None);
        assert_eq!(effect("batch", "CronJob", &template), Effect::None);
        assert_eq!(effect("", "Namespace", &["metadata", "annotations"]), Effect::Namespace);
        assert_eq!(effect("", "Service", &["metadata", "annotations"]), Effect::None);
        assert_eq!(effect("serving.knative.dev", "Service", &template), Effect::Pod, "of Knative");
        assert_eq!(
            effect("monitoring.coreos.com", "Prometheus", &["spec", "podMetadata", "annotations"]),
            Effect::Pod
        );
        assert_eq!(effect("monitoring.coreos.com", "Prometheus", &["metadata", "annotations"]), Effect::None);
        let properties = ["spec", "components", "[]", "properties", "annotations"];
        let of_application = |group: &str| effect(group, "Application", &properties);
        assert_eq!(["argoproj.io", ""].map(of_application), [Effect::None; 2]);
        assert_eq!(of_application("core.oam.dev"), Effect::Pod, "of KubeVela");
        let tasks = ["spec", "tasks", "[]", "template", "metadata", "annotations"];
        assert_eq!(effect("batch.volcano.sh", "Job", &tasks), Effect::Pod);
    }
}

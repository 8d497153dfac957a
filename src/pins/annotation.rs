//! Step 5, pins: shape `proxy-annotation`, `config.linkerd.io/proxy-version` where the injector reads it.
//!
//! In: objects, patches, values. Out: data-plane pins. The injector reads it from a pod, so from a pod template, or
//! from a namespace; anywhere else in an object it is listed as without effect.

use std::collections::BTreeSet;

use super::{
    PinKind, Reason, Stage,
    context::Context,
    found::{Found, Spec},
    object::Object,
    place::Place,
    version_text::Expects,
};
use crate::{
    linkerd::{INJECT, PROXY_VERSION},
    repo::RepoPath,
    yaml::Node,
};

/// The spec of every pin of this shape.
pub(super) fn spec() -> Spec {
    Spec { stage: Stage::DataPlane, ..Spec::platform(PinKind::ProxyAnnotation, Expects::Edge) }
}

/// Takes the annotations of an object, or of a patch that has the form of one.
pub(super) fn object(
    context: &Context<'_>,
    place: Place<'_>,
    object: &Object<'_>,
    namespaces: &BTreeSet<String>,
    found: &mut Found,
) {
    let own: BTreeSet<String> = match (object.kind, object.name) {
        ("Namespace", Some(name)) => BTreeSet::from([name.to_owned()]),
        _ => namespaces.clone(),
    };
    within(context, place, &Part { kind: object.kind, path: &[], node: object.node }, &own, found);
}

/// A part of an object of that kind: `path` leads from the object to `node`.
pub(super) struct Part<'a> {
    /// The object's kind.
    pub kind: &'a str,
    /// The keys above the node.
    pub path: &'a [&'a str],
    /// The node.
    pub node: Node<'a>,
}

/// Takes the annotations in a part of an object.
pub(super) fn within(
    context: &Context<'_>,
    place: Place<'_>,
    part: &Part<'_>,
    namespaces: &BTreeSet<String>,
    found: &mut Found,
) {
    let Part { kind, path, node } = *part;
    if let (Some((&PROXY_VERSION, map)), Some(_)) = (path.split_last(), node.as_str()) {
        let out = context.layout.opted_out(&place.file.path, namespaces).then_some(Reason::OptedOut);
        let stays = if effect(kind, map) == Effect::None { Some(Reason::NoEffect) } else { out };
        found.scalar(place, node, &spec().staying(stays));
    }
    let mut maps = Vec::new();
    annotation_maps(node, &mut path.iter().map(|p| (*p).to_owned()).collect(), &mut maps);
    for (path, map) in maps {
        let Some(node) = map.get(PROXY_VERSION) else { continue };
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let stays = match effect(kind, &path) {
            Effect::None => Some(Reason::NoEffect),
            Effect::Namespace | Effect::Pod => opted_out(context, &place.file.path, map, namespaces),
        };
        found.scalar(place, node, &spec().staying(stays));
    }
}

/// Tells whether the pods that an annotations map is for are kept out of the mesh: by the map itself, or by every
/// namespace that they may be in unless the map opts in again.
pub(super) fn opted_out(
    context: &Context<'_>,
    path: &RepoPath,
    map: Node<'_>,
    namespaces: &BTreeSet<String>,
) -> Option<Reason> {
    let out = match map.text(&[INJECT]) {
        Some("disabled") => true,
        Some("enabled" | "ingress") => false,
        _ => context.layout.opted_out(path, namespaces),
    };
    out.then_some(Reason::OptedOut)
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
        "Deployment"
        | "StatefulSet"
        | "DaemonSet"
        | "Job"
        | "ReplicaSet"
        | "ReplicationController"
        | "Rollout" => path == ["spec", "template", "metadata", "annotations"],
        "CronJob" => path == ["spec", "jobTemplate", "spec", "template", "metadata", "annotations"],
        "PodTemplate" => path == ["template", "metadata", "annotations"],
        // Argo CD writes these on the namespace that it makes.
        "Application" | "ApplicationSet" => path.ends_with(&["managedNamespaceMetadata", "annotations"]),
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

/// Finds the mappings that hold the annotation. Aliases are not followed: their anchor is met by itself.
fn annotation_maps<'a>(node: Node<'a>, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, Node<'a>)>) {
    if node.is_alias() {
        return;
    }
    for (key, value) in node.entries() {
        let Some(name) = key.as_str() else { continue };
        if name == PROXY_VERSION && value.as_str().is_some() {
            found.push((path.clone(), node));
        }
        // Values and patches in these fields have rules of their own.
        let elsewhere =
            matches!(name, "values" | "valuesObject" | "postRenderers" | "patches" | "generators");
        if !(elsewhere && path.first().is_some_and(|p| p == "spec")) {
            path.push(name.to_owned());
            annotation_maps(value, path, found);
            path.pop();
        }
    }
    for item in node.items() {
        path.push("[]".to_owned());
        annotation_maps(item, path, found);
        path.pop();
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

//! What flux-operator copies into the maps that a ResourceSet makes.
//!
//! Source: `copyResources` in `internal/controller/resourceset_controller_configs.go` of controlplaneio-fluxcd/flux-operator.
//! In: the objects of a ResourceSet, and those of its cluster. Out: the same, each map with the data of the one that it names.

use super::OPERATOR;
use crate::deploy::{
    cluster::{Cluster, Reference},
    object::Object,
    value::{Scalar, Value},
};

/// The annotation that names a map by its namespace and its name.
const COPY_FROM: &str = "fluxcd.controlplane.io/copyFrom";

/// Fills maps with what they are copied from. One whose data is not in the tree is taken out, so that it is unknown to whoever
/// asks for it.
pub(super) fn copy(set: &Object, cluster: &Cluster<'_>, objects: &mut Vec<Object>) {
    objects.retain_mut(|object| {
        let from = object.annotation(COPY_FROM).filter(|_| is_map(&object.value)).cloned();
        let Some(from) = from else { return true };
        let from = from.known().and_then(|from| find(set, cluster, &object.kind(), &from));
        if let Some(from) = from {
            for key in ["data", "stringData", "sops"] {
                match from.value.get(key) {
                    Some(data) => object.value.insert(key, data.clone()),
                    None => drop(object.value.remove(key)),
                }
            }
        }
        from.is_some()
    });
}

/// Tells whether a ResourceSet copies data.
pub fn copies(set: &Object) -> bool {
    let is_copied = |resource: &Value| copied_from(resource).is_some();
    let fills = |template: &Scalar| template.text().contains(COPY_FROM);
    set.is(OPERATOR, "ResourceSet")
        && steps(set).any(|step| {
            step.list_at("resources").iter().any(is_copied)
                || step.scalar(&["resourcesTemplate"]).is_some_and(fills)
        })
}

/// Returns the maps that a ResourceSet names as they are called in its file, where they are in the tree.
pub(super) fn copy_sources<'c>(set: &Object, cluster: &Cluster<'c>) -> Vec<&'c Object> {
    let resources = steps(set).flat_map(|step| step.list_at("resources")).filter(|resource| is_map(resource));
    let found = resources.filter_map(|resource| {
        let (kind, from) = resource.text(&["kind"]).zip(copied_from(resource)?.known())?;
        find(set, cluster, &kind, &from)
    });
    found.collect()
}

/// What has resources: a ResourceSet itself, or its steps.
fn steps(set: &Object) -> impl Iterator<Item = &Value> {
    let spec = set.value.get("spec").into_iter();
    spec.flat_map(|spec| std::iter::once(spec).chain(spec.list_at("steps")))
}

fn copied_from(resource: &Value) -> Option<&Scalar> {
    resource.scalar(&["metadata", "annotations", COPY_FROM])
}

fn is_map(object: &Value) -> bool {
    let of = |key: &str| object.text(&[key]).unwrap_or_default();
    of("apiVersion") == "v1" && matches!(&*of("kind"), "ConfigMap" | "Secret")
}

/// Finds the map that is called `namespace/name`; of several clusters' that of the nearest.
fn find<'c>(set: &Object, cluster: &Cluster<'c>, kind: &str, called: &str) -> Option<&'c Object> {
    let (namespace, name) = called.split_once('/')?;
    let wanted = Reference { group: "", kind, name, namespace: Some(namespace), from: &set.file };
    cluster.find_own(wanted, &set.files())
}

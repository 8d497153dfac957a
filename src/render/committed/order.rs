//! Step 7, render: the order in which the objects of a set are committed.
//!
//! In: what is committed, and a new rendering in Helm's order. Out: the new rendering in the order of what is committed,
//! so that an object that comes stands where the tool that made the file would have put it.
//!
//! Source: kustomize `api/internal/builtins/SortOrderTransformer.go`; `kustomize build` sorts by it where no
//! `sortOptions` say otherwise.

use std::collections::BTreeMap;

use crate::{
    render::{Object, ObjectKey},
    repo::RepoPath,
};

/// Kinds that kustomize prints first.
const FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];

/// Kinds that it prints last; all others stand between.
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// Sorts a rendering as `kustomize build` does, where files are in its order and not in Helm's.
pub(super) fn as_committed<'a>(
    committed: impl Iterator<Item = (&'a RepoPath, &'a Object)>,
    mut rendered: Vec<&'a Object>,
) -> Vec<&'a Object> {
    let places: BTreeMap<&ObjectKey, usize> =
        rendered.iter().enumerate().map(|(place, object)| (&object.key, place)).collect();
    let mut files: BTreeMap<&RepoPath, Vec<&Object>> = BTreeMap::new();
    for (path, object) in committed {
        files.entry(path).or_default().push(object);
    }
    let by_helm = |file: &Vec<&Object>| file.iter().filter_map(|o| places.get(&o.key)).is_sorted();
    let by_kustomize = |file: &Vec<&Object>| file.is_sorted_by_key(|object| rank(object));
    if !files.values().all(by_helm) && files.values().all(by_kustomize) {
        rendered.sort_by_key(|object| rank(object));
    }
    rendered
}

/// Returns what kustomize sorts by: the kind's place, then group, version and kind as one text, then namespace and name.
fn rank(object: &Object) -> (usize, String, String) {
    let ObjectKey { group, kind, namespace, name } = &object.key;
    let place = |kinds: &[&str]| kinds.iter().position(|known| known == kind);
    let between = FIRST.len();
    let at = place(&FIRST).unwrap_or_else(|| place(&LAST).map_or(between, |at| between + 1 + at));
    let group = if group.is_empty() { "~G" } else { group };
    let version = object.api_version.rsplit('/').next().unwrap_or_default();
    let namespace = namespace.as_deref().unwrap_or("~X");
    (at, format!("{group}_{version}_{kind}"), format!("{namespace}|{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Manifest;

    fn manifest(objects: &[(&str, &str, &str)]) -> Manifest {
        let one = |(api, kind, name): &(&str, &str, &str)| {
            format!("apiVersion: {api}\nkind: {kind}\nmetadata: {{name: {name}, namespace: mesh}}\n")
        };
        Manifest::parse(objects.iter().map(one).collect::<Vec<_>>().join("---\n")).unwrap()
    }

    const JOB: (&str, &str, &str) = ("batch/v1", "Job", "a");
    const POD: (&str, &str, &str) = ("v1", "Pod", "a");
    const SERVICE: (&str, &str, &str) = ("v1", "Service", "b");
    const ROLE: (&str, &str, &str) = ("rbac.authorization.k8s.io/v1", "Role", "a");
    const WEBHOOK: (&str, &str, &str) =
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "a");

    fn sorted(committed: &[(&str, &str, &str)], rendered: &[(&str, &str, &str)]) -> Vec<String> {
        let (committed, rendered) = (manifest(committed), manifest(rendered));
        let path = RepoPath::new("mesh.yaml").unwrap();
        let committed = committed.objects.iter().map(|object| (&path, object));
        let all = as_committed(committed, rendered.objects.iter().collect());
        all.iter().map(|object| format!("{} {}", object.key.kind, object.key.name)).collect()
    }

    #[test]
    fn what_comes_stands_where_the_tool_of_the_file_puts_it() {
        let helm = [WEBHOOK, SERVICE, POD, ("v1", "Service", "a"), JOB, ROLE];
        let as_helm =
            ["MutatingWebhookConfiguration a", "Service b", "Pod a", "Service a", "Job a", "Role a"];
        assert_eq!(sorted(&[WEBHOOK, POD, ROLE], &helm), as_helm);
        assert_eq!(sorted(&[POD], &helm), as_helm, "one object has no order");
        assert_eq!(sorted(&[ROLE, WEBHOOK, SERVICE], &helm), as_helm, "nor has what is in neither");
        let as_kustomize =
            ["Role a", "Service a", "Service b", "Job a", "Pod a", "MutatingWebhookConfiguration a"];
        assert_eq!(sorted(&[ROLE, SERVICE, POD], &helm), as_kustomize);
        assert_eq!(sorted(&[JOB, POD, WEBHOOK], &helm), as_kustomize);
    }
}

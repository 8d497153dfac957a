//! Step 7, render: how the items of a list are told apart, by Kubernetes' own rules.
//!
//! A table and a look-up only. "API" is the declaration on the field in k8s.io/api: `patchMergeKey` and `listMapKey`
//! name the keys, `listType=set` and `listType=atomic` the rest. An atomic list is sent as a whole; whether its order
//! means anything is said by what reads it, which the row then names.

/// How the items of two lists are matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Merge {
    /// By these fields of each item.
    Keys {
        /// The fields, each with what an item has that does not name it.
        fields: &'static [(&'static str, Option<&'static str>)],
        /// Whether the order means something.
        ordered: bool,
    },
    /// As a set of scalars.
    Set,
    /// By their whole content, a repeated item as often as it stands there.
    Content {
        /// Whether the order means something.
        ordered: bool,
        /// Fields by which an item that changed is found again, beside its place.
        alike: &'static [&'static str],
    },
}

struct Row {
    /// The kinds that the row is for; all when empty.
    kinds: &'static [&'static str],
    /// The last keys of the list's path, joined by dots; list items are left out.
    path: &'static str,
    merge: Merge,
}

const ROLES: &[&str] = &["Role", "ClusterRole"];
const BINDINGS: &[&str] = &["RoleBinding", "ClusterRoleBinding"];
const HOOKS: &[&str] = &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
const CRD: &[&str] = &["CustomResourceDefinition"];

/// The rules; the first that fits a list is taken. The comment above a group is its source.
const TABLE: &[Row] = &[
    // API core/v1 PodSpec. Init containers run in their order, and the kubelet starts containers in theirs, waiting for
    // each `postStart`.
    row(&[], "spec.initContainers", by_name(true)),
    row(&[], "spec.containers", by_name(true)),
    row(&[], "spec.ephemeralContainers", by_name(false)),
    row(&[], "spec.volumes", by_name(false)),
    row(&[], "spec.imagePullSecrets", by_name(false)),
    row(&[], "spec.hostAliases", keys(&[("ip", None)])),
    row(&[], "spec.resourceClaims", by_name(false)),
    row(&[], "spec.schedulingGates", by_name(false)),
    row(&[], "spec.topologySpreadConstraints", keys(&[("topologyKey", None), ("whenUnsatisfiable", None)])),
    // API core/v1 PodSpec, atomic; any toleration may match.
    row(&[], "spec.tolerations", content(&["key"])),
    // API core/v1 Container. `$(VAR)` in an environment reads only what stands above it.
    row(&[], "ontainers.env", by_name(true)),
    row(&[], "ontainers.ports", keys(&[("containerPort", None), ("protocol", Some("TCP"))])),
    row(&[], "ontainers.volumeMounts", keys(&[("mountPath", None)])),
    row(&[], "ontainers.volumeDevices", keys(&[("devicePath", None)])),
    row(&[], "ontainers.resizePolicy", keys(&[("resourceName", None)])),
    // API core/v1 ServiceSpec.
    row(&["Service"], "spec.ports", keys(&[("port", None), ("protocol", Some("TCP"))])),
    // API core/v1 ServiceAccount; its pull secrets are atomic, and all are tried.
    row(&["ServiceAccount"], "secrets", by_name(false)),
    row(&["ServiceAccount"], "imagePullSecrets", by_name(false)),
    // API meta/v1 ObjectMeta and Condition.
    row(&[], "metadata.finalizers", Merge::Set),
    row(&[], "metadata.ownerReferences", keys(&[("uid", None)])),
    row(&[], "status.conditions", keys(&[("type", None)])),
    // API rbac/v1 PolicyRule, atomic; the RBAC authorizer asks whether any entry matches.
    row(ROLES, "rules.verbs", Merge::Set),
    row(ROLES, "rules.apiGroups", Merge::Set),
    row(ROLES, "rules.resources", Merge::Set),
    row(ROLES, "rules.resourceNames", Merge::Set),
    row(ROLES, "rules.nonResourceURLs", Merge::Set),
    row(ROLES, "rules", content(&["apiGroups", "resources", "nonResourceURLs"])),
    // API rbac/v1 RoleBinding, atomic; each subject stands alone.
    row(BINDINGS, "subjects", content(&["kind", "namespace", "name"])),
    // API admissionregistration/v1. Mutating webhooks of one configuration are called in their order.
    row(&["MutatingWebhookConfiguration"], "webhooks", by_name(true)),
    row(&["ValidatingWebhookConfiguration"], "webhooks", by_name(false)),
    row(HOOKS, "webhooks.matchConditions", by_name(false)),
    // API admissionregistration/v1 Rule, atomic; a request is matched against any entry.
    row(HOOKS, "webhooks.rules", content(&["apiGroups", "resources"])),
    row(HOOKS, "rules.operations", Merge::Set),
    row(HOOKS, "rules.apiGroups", Merge::Set),
    row(HOOKS, "rules.apiVersions", Merge::Set),
    row(HOOKS, "rules.resources", Merge::Set),
    // API meta/v1 LabelSelector, atomic; all expressions must hold, and any value may match.
    row(&[], "matchExpressions", content(&["key", "operator"])),
    row(&[], "matchExpressions.values", Merge::Set),
    // API apiextensions/v1 CustomResourceDefinitionSpec and Names: names are unique; the priority of versions follows
    // from their names, and columns are shown in their order.
    row(CRD, "spec.versions", by_name(false)),
    row(CRD, "versions.additionalPrinterColumns", by_name(true)),
    row(CRD, "names.shortNames", Merge::Set),
    row(CRD, "names.categories", Merge::Set),
    row(CRD, "status.storedVersions", Merge::Set),
    // API apiextensions/v1 JSONSchemaProps: `required` and `enum` are atomic, and JSON Schema reads them as sets.
    row(CRD, "required", Merge::Set),
    row(CRD, "enum", Merge::Set),
    row(CRD, "x-kubernetes-validations", keys(&[("rule", None)])),
];

const fn row(kinds: &'static [&'static str], path: &'static str, merge: Merge) -> Row {
    Row { kinds, path, merge }
}

const fn keys(fields: &'static [(&'static str, Option<&'static str>)]) -> Merge {
    Merge::Keys { fields, ordered: false }
}

const fn by_name(ordered: bool) -> Merge {
    Merge::Keys { fields: &[("name", None)], ordered }
}

const fn content(alike: &'static [&'static str]) -> Merge {
    Merge::Content { ordered: false, alike }
}

/// What holds for a list that no row names: Kubernetes sends it as a whole, so its order may mean something.
pub(super) const UNKNOWN: Merge = Merge::Content { ordered: true, alike: &[] };

/// Returns how the items of the list under these keys are matched.
pub(super) fn merge(kind: &str, path: &[&str]) -> Merge {
    let fits = |row: &&Row| (row.kinds.is_empty() || row.kinds.contains(&kind)) && is_under(path, row.path);
    TABLE.iter().find(fits).map_or(UNKNOWN, |row| row.merge)
}

/// Tells whether a path's last keys are these. `ontainers` stands for `containers`, `initContainers` and
/// `ephemeralContainers`.
fn is_under(path: &[&str], pattern: &str) -> bool {
    let mut keys = path.iter().rev();
    pattern.rsplit('.').all(|wanted| {
        let found = keys.next().copied();
        match wanted {
            "ontainers" => found.is_some_and(|key| key.ends_with("ontainers")),
            _ => found == Some(wanted),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_reached() {
        for row in TABLE {
            let path: Vec<&str> =
                row.path.split('.').map(|k| if k == "ontainers" { "initContainers" } else { k }).collect();
            let kind = row.kinds.first().copied().unwrap_or("Pod");
            assert_eq!(merge(kind, &path), row.merge, "{kind} {}: an earlier row hides it", row.path);
        }
    }

    #[test]
    fn what_is_not_known_keeps_its_order() {
        assert_eq!(merge("Pod", &["spec", "containers", "args"]), UNKNOWN);
        assert_eq!(merge("Thing", &["rules"]), UNKNOWN, "rules of another kind are not RBAC's");
        assert_eq!(merge("Thing", &["env"]), UNKNOWN);
    }
}

//! Step 5, render: how the items of a list are told apart, by Kubernetes' own rules.
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
    /// Where Kubernetes says so.
    source: &'static str,
}

const ROLES: &[&str] = &["Role", "ClusterRole"];
const BINDINGS: &[&str] = &["RoleBinding", "ClusterRoleBinding"];
const HOOKS: &[&str] = &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
const CRD: &[&str] = &["CustomResourceDefinition"];

const POD: &str = "API core/v1 PodSpec";
const CONTAINER: &str = "API core/v1 Container";
const AUTHORIZER: &str = "API rbac/v1 PolicyRule, atomic; the RBAC authorizer asks whether any entry matches";
const ADMISSION: &str = "API admissionregistration/v1 Rule, atomic; a request is matched against any entry";
const SCHEMA: &str = "API apiextensions/v1 JSONSchemaProps, atomic; JSON Schema reads it as a set";

/// The rules; the first that fits a list is taken.
const TABLE: &[Row] = &[
    // Init containers run in their order.
    row(&[], "spec.initContainers", by_name(true), POD),
    // The kubelet starts containers in their order, and waits for each `postStart`.
    row(&[], "spec.containers", by_name(true), POD),
    row(&[], "spec.ephemeralContainers", by_name(false), POD),
    row(&[], "spec.volumes", by_name(false), POD),
    row(&[], "spec.imagePullSecrets", by_name(false), POD),
    row(&[], "spec.hostAliases", keys(&[("ip", None)]), POD),
    row(&[], "spec.resourceClaims", by_name(false), POD),
    row(&[], "spec.schedulingGates", by_name(false), POD),
    row(
        &[],
        "spec.topologySpreadConstraints",
        keys(&[("topologyKey", None), ("whenUnsatisfiable", None)]),
        POD,
    ),
    row(&[], "spec.tolerations", content(&["key"]), "API core/v1 PodSpec, atomic; any toleration may match"),
    // `$(VAR)` reads only what stands above it.
    row(&[], "ontainers.env", by_name(true), CONTAINER),
    row(&[], "ontainers.ports", keys(&[("containerPort", None), ("protocol", Some("TCP"))]), CONTAINER),
    row(&[], "ontainers.volumeMounts", keys(&[("mountPath", None)]), CONTAINER),
    row(&[], "ontainers.volumeDevices", keys(&[("devicePath", None)]), CONTAINER),
    row(&[], "ontainers.resizePolicy", keys(&[("resourceName", None)]), CONTAINER),
    row(
        &["Service"],
        "spec.ports",
        keys(&[("port", None), ("protocol", Some("TCP"))]),
        "API core/v1 ServiceSpec",
    ),
    row(&["ServiceAccount"], "secrets", by_name(false), "API core/v1 ServiceAccount"),
    row(
        &["ServiceAccount"],
        "imagePullSecrets",
        by_name(false),
        "API core/v1 ServiceAccount, atomic; all are tried",
    ),
    row(&[], "metadata.finalizers", Merge::Set, "API meta/v1 ObjectMeta, listType=set"),
    row(&[], "metadata.ownerReferences", keys(&[("uid", None)]), "API meta/v1 ObjectMeta"),
    row(&[], "status.conditions", keys(&[("type", None)]), "API meta/v1 Condition"),
    row(ROLES, "rules.verbs", Merge::Set, AUTHORIZER),
    row(ROLES, "rules.apiGroups", Merge::Set, AUTHORIZER),
    row(ROLES, "rules.resources", Merge::Set, AUTHORIZER),
    row(ROLES, "rules.resourceNames", Merge::Set, AUTHORIZER),
    row(ROLES, "rules.nonResourceURLs", Merge::Set, AUTHORIZER),
    row(ROLES, "rules", content(&["apiGroups", "resources", "nonResourceURLs"]), AUTHORIZER),
    row(
        BINDINGS,
        "subjects",
        content(&["kind", "namespace", "name"]),
        "API rbac/v1 RoleBinding, atomic; each subject stands alone",
    ),
    // Mutating webhooks of one configuration are called in their order.
    row(&["MutatingWebhookConfiguration"], "webhooks", by_name(true), "API admissionregistration/v1"),
    row(&["ValidatingWebhookConfiguration"], "webhooks", by_name(false), "API admissionregistration/v1"),
    row(HOOKS, "webhooks.matchConditions", by_name(false), "API admissionregistration/v1"),
    row(HOOKS, "webhooks.rules", content(&["apiGroups", "resources"]), ADMISSION),
    row(HOOKS, "rules.operations", Merge::Set, ADMISSION),
    row(HOOKS, "rules.apiGroups", Merge::Set, ADMISSION),
    row(HOOKS, "rules.apiVersions", Merge::Set, ADMISSION),
    row(HOOKS, "rules.resources", Merge::Set, ADMISSION),
    row(
        HOOKS,
        "webhooks.admissionReviewVersions",
        content_in_order(),
        "the API server takes the first it knows",
    ),
    row(
        &[],
        "matchExpressions",
        content(&["key", "operator"]),
        "API meta/v1 LabelSelector, atomic; all must hold",
    ),
    row(
        &[],
        "matchExpressions.values",
        Merge::Set,
        "API meta/v1 LabelSelectorRequirement, atomic; any may match",
    ),
    row(
        CRD,
        "spec.versions",
        by_name(false),
        "apiextensions: names are unique, priority is by version order",
    ),
    row(
        CRD,
        "versions.additionalPrinterColumns",
        by_name(true),
        "apiextensions: names are unique, shown in order",
    ),
    row(CRD, "names.shortNames", Merge::Set, "API apiextensions/v1 CustomResourceDefinitionNames, atomic"),
    row(CRD, "names.categories", Merge::Set, "API apiextensions/v1 CustomResourceDefinitionNames, atomic"),
    row(CRD, "status.storedVersions", Merge::Set, "API apiextensions/v1 CustomResourceDefinitionStatus"),
    row(CRD, "required", Merge::Set, SCHEMA),
    row(CRD, "enum", Merge::Set, SCHEMA),
    row(
        CRD,
        "x-kubernetes-validations",
        keys(&[("rule", None)]),
        "API apiextensions/v1 JSONSchemaProps, listMapKey=rule",
    ),
];

const fn row(kinds: &'static [&'static str], path: &'static str, merge: Merge, source: &'static str) -> Row {
    Row { kinds, path, merge, source }
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

const fn content_in_order() -> Merge {
    Merge::Content { ordered: true, alike: &[] }
}

/// What holds for a list that no row names: Kubernetes sends it as a whole, so its order may mean something.
pub(super) const UNKNOWN: Merge = content_in_order();

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
    fn every_row_says_its_source_and_is_reached() {
        for row in TABLE {
            assert!(!row.source.is_empty(), "{}", row.path);
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

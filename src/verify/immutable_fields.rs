//! Step 6, verify: no field changes that Kubernetes never lets change.
//!
//! In: changed objects. Out: a `block` for each that the API server would refuse to update, which stops the whole
//! apply. A hook is deleted and made again by Helm and Argo CD; where its committed text is applied, that is a `warn`.

use super::{
    Checked, Finding, Severity, Verification,
    rendered::{Compared, Deployer, compared, deployer, looked_at},
};
use crate::render::{FieldChange, Object, ObjectChange};

pub(super) const NAME: &str = "immutable-fields";

/// How many fields of one object are named before the rest is counted.
const NAMED: usize = 2;

struct Row {
    kind: &'static str,
    /// The field under which nothing may change.
    path: &'static [&'static str],
    /// What may change nevertheless.
    but: &'static [&'static str],
}

/// Fields that the API server's validation fixes at creation (Kubernetes `pkg/apis/*/validation`).
const TABLE: &[Row] = &[
    row("Deployment", &["spec", "selector"]),
    row("DaemonSet", &["spec", "selector"]),
    row("ReplicaSet", &["spec", "selector"]),
    Row {
        kind: "StatefulSet",
        path: &["spec"],
        // What apps/validation ValidateStatefulSetUpdate lists.
        but: &[
            "minReadySeconds",
            "ordinals",
            "persistentVolumeClaimRetentionPolicy",
            "replicas",
            "revisionHistoryLimit",
            "template",
            "updateStrategy",
        ],
    },
    row("Job", &["spec", "template"]),
    row("Job", &["spec", "selector"]),
    row("Job", &["spec", "completionMode"]),
    row("Job", &["spec", "podFailurePolicy"]),
    row("Job", &["spec", "manualSelector"]),
    row("Job", &["spec", "backoffLimitPerIndex"]),
    row("Job", &["spec", "podReplacementPolicy"]),
    row("PersistentVolume", &["spec", "csi"]),
    row("PersistentVolume", &["spec", "volumeMode"]),
    row("CSIDriver", &["spec", "attachRequired"]),
    row("RuntimeClass", &["handler"]),
    row("EndpointSlice", &["addressType"]),
    Row { kind: "PersistentVolumeClaim", path: &["spec"], but: &["resources", "volumeAttributesClassName"] },
    row("StorageClass", &["provisioner"]),
    row("StorageClass", &["parameters"]),
    row("StorageClass", &["reclaimPolicy"]),
    row("StorageClass", &["volumeBindingMode"]),
    row("RoleBinding", &["roleRef"]),
    row("ClusterRoleBinding", &["roleRef"]),
    row("PriorityClass", &["value"]),
    row("PriorityClass", &["preemptionPolicy"]),
    row("IngressClass", &["spec", "controller"]),
    row("CustomResourceDefinition", &["spec", "group"]),
    row("CustomResourceDefinition", &["spec", "scope"]),
    row("Secret", &["type"]),
];

const fn row(kind: &'static str, path: &'static [&'static str]) -> Row {
    Row { kind, path, but: &[] }
}

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let all = compared(input);
    let findings = all.iter().flat_map(|c| of_one(input, c)).collect();
    Checked { looked_at: looked_at("fields that never change", &all), findings }
}

fn of_one(input: &Verification<'_>, compared: &Compared<'_>) -> Vec<Finding> {
    let by = deployer(input, compared.rendering);
    let each = compared.changed().filter_map(|(change, before, after)| finding(by, change, before, after));
    each.map(|finding| compared.at(finding)).collect()
}

fn finding(by: Deployer, change: &ObjectChange, before: &Object, after: &Object) -> Option<Finding> {
    let fixed: Vec<String> =
        change.fields.iter().filter(|f| is_fixed(f, before)).map(|f| f.path.to_string()).collect();
    let named = match fixed.as_slice() {
        [] => return None,
        few if few.len() <= NAMED => few.join(", "),
        many => format!("{} and {} more", many.get(..NAMED)?.join(", "), many.len() - NAMED),
    };
    let hook = after.annotation("helm.sh/hook").is_some();
    if hook && by != Deployer::Applied {
        return None;
    }
    let key = &change.key;
    let reason = format!("{key}: {named} cannot be changed in a cluster; applying this is refused");
    Some(match hook {
        true => {
            Finding::new(NAME, Severity::Warn, format!("{reason} while the finished hook is still there"))
                .mend("delete it in the cluster before this is applied; Argo CD does so by itself")
        }
        false => Finding::block(NAME, reason).mend("delete it in the cluster first, so that it is made anew"),
    })
}

fn is_fixed(field: &FieldChange, before: &Object) -> bool {
    let kind = before.key.kind.as_str();
    let under = |row: &Row| {
        row.kind == kind
            && field.path.starts_with(row.path)
            && !field.path.keys().nth(row.path.len()).is_some_and(|key| row.but.contains(&key))
    };
    let address = kind == "Service"
        && (field.path.starts_with(&["spec", "clusterIP"])
            || field.path.starts_with(&["spec", "clusterIPs"]));
    // An address that is not named is the cluster's choice and stays.
    let given = field.after.as_ref().is_some_and(|value| !value.is_null() && value.as_str() != Some(""));
    let sealed = matches!(kind, "Secret" | "ConfigMap")
        && before.at(&["immutable"]).and_then(|v| v.as_bool()) == Some(true)
        && !field.path.starts_with(&["metadata"]);
    TABLE.iter().any(under) || (address && given) || sealed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity::*, testing::*};

    fn object(kind: &str, rest: &str) -> String {
        format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: x, namespace: n}}\n{rest}\n")
    }

    fn found(kind: &str, before: &str, after: &str) -> Vec<Finding> {
        rendered(&object(kind, before), &object(kind, after)).check(NAME)
    }

    #[test]
    fn what_the_api_server_refuses_blocks() {
        for (kind, before, after, field) in [
            (
                "Deployment",
                "spec: {selector: {matchLabels: {a: x}}}",
                "spec: {selector: {matchLabels: {a: y}}}",
                "a",
            ),
            ("Service", "spec: {clusterIP: 10.0.0.1}", "spec: {clusterIP: None}", "clusterIP"),
            ("Service", "spec: {}", "spec: {clusterIP: None}", "clusterIP"),
            (
                "StatefulSet",
                "spec: {volumeClaimTemplates: [{s: 1}]}",
                "spec: {volumeClaimTemplates: [{s: 2}]}",
                "s",
            ),
            ("Job", "spec: {template: {a: 1}}", "spec: {template: {a: 2}}", "template.a"),
            ("RoleBinding", "roleRef: {name: a}", "roleRef: {name: b}", "roleRef.name"),
            ("StorageClass", "provisioner: a", "provisioner: b", "provisioner"),
            ("ConfigMap", "immutable: true\ndata: {a: b}", "immutable: true\ndata: {a: c}", "data.a"),
        ] {
            let found = found(kind, before, after);
            assert_eq!(severities(&found), [Block], "{kind}");
            let start = format!("{kind} n/x: ");
            assert!(
                found[0].reason.starts_with(&start) && found[0].reason.contains(&format!("{field} cannot"))
            );
        }
    }

    #[test]
    fn what_may_change_passes() {
        for (kind, before, after) in [
            ("Deployment", "spec: {replicas: 1}", "spec: {replicas: 3}"),
            ("StatefulSet", "spec: {template: {a: 1}}", "spec: {template: {a: 2}}"),
            ("Service", "spec: {clusterIP: 10.0.0.1}", "spec: {}"),
            ("ConfigMap", "data: {a: b}", "data: {a: c}"),
            ("PersistentVolumeClaim", "spec: {resources: {a: 1}}", "spec: {resources: {a: 2}}"),
        ] {
            assert_eq!(found(kind, before, after), [], "{kind}");
        }
    }

    #[test]
    fn a_hook_is_made_anew_where_something_runs_hooks() {
        let job = |n: u8| {
            format!(
                "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: x, annotations: {{helm.sh/hook: post-install}}}}\n\
                 spec: {{template: {{a: {n}}}}}\n"
            )
        };
        let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nversion: 2026.8.2\n";
        assert_eq!(rendered(&job(1), &job(2)).file("mesh.yaml", release).check(NAME), []);
        let umbrella = rendered(&job(1), &job(2))
            .with_rendering(|r| r.path = crate::plan::testing::path("m/Chart.yaml"));
        assert_eq!(umbrella.check(NAME), []);
        let committed = rendered(&job(1), &job(2)).with_rendering(|r| r.committed = true).check(NAME);
        assert_eq!(severities(&committed), [Warn]);
    }
}

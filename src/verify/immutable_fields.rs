//! Step 8, verify: no field changes that Kubernetes never lets change.
//!
//! In: changed objects. Out: a `block` for each that the API server would refuse to update, which stops the whole
//! apply. A hook is deleted and made again by Helm and Argo CD. Where Flux applies its text, a finished one stops the whole
//! Kustomization, unless that is told to make it anew: a `warn`. Whoever else applies it, as `kubectl` does, is refused that
//! one object at each release: an `info`.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    CheckId, Checked, Finding, Severity, Verification, jobs, listed,
    rendered::{Compared, appliers, compared, looked_at},
};
use crate::{
    pins::{Installed, REPLACES},
    render::{FieldChange, Object, ObjectChange, ObjectKey, Rendering},
};

pub(super) const ID: CheckId = CheckId::ImmutableFields;

/// What makes an object a hook of Helm's, and of Argo CD's.
const HOOK: &str = "helm.sh/hook";

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
    let mut findings: Vec<Finding> = Vec::new();
    let mut hooks: BTreeMap<Severity, Vec<(&Compared<'_>, &ObjectKey)>> = BTreeMap::new();
    for compared in &all {
        for (change, before, after) in compared.changed() {
            let Some(fields) = fixed(change, before) else { continue };
            let meets = Meets::of(input, compared.rendering, after);
            if after.annotation(HOOK).is_none() {
                findings.push(compared.at(&change.key, finding(meets, &change.key, &fields)));
            } else if let Some(severity) = meets.hook() {
                hooks.entry(severity).or_default().push((compared, &change.key));
            }
        }
    }
    findings.extend(hooks.into_iter().filter_map(|(severity, hooks)| finished(severity, &hooks)));
    findings.extend(jobs::refused(input, ID));
    Checked { looked_at: looked_at("fields that never change", &all), findings }
}

/// Names the fields of an object that cannot change and do.
fn fixed(change: &ObjectChange, before: &Object) -> Option<String> {
    let fixed: Vec<_> = change.fields.iter().filter(|f| is_fixed(f, before)).map(|f| &f.path).collect();
    (!fixed.is_empty()).then(|| listed(fixed, NAMED))
}

/// What an object meets that is applied over one that cannot be changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meets {
    /// Something that runs hooks, and deletes those of before.
    Hooks,
    /// The same, and what is refused has the whole release installed anew.
    Reinstallation,
    /// Flux, which was told to make such an object anew, or to leave it alone.
    Replacement,
    /// Flux, which stops at it: nothing of its Kustomization is applied.
    Flux,
    /// Anything else.
    Refusal,
}

// === impl Meets ===

impl Meets {
    fn of(input: &Verification<'_>, rendering: &Rendering, object: &Object) -> Self {
        if !rendering.installed.contains(&Installed::Applied) {
            let is_installed_anew = rendering.installed.contains(&Installed::K3s);
            return if is_installed_anew { Self::Reinstallation } else { Self::Hooks };
        }
        let appliers = appliers(input, rendering, &object.key);
        let told = REPLACES.iter().any(|name| object.annotation(name).is_some());
        match appliers {
            [] => Self::Refusal,
            all if all.iter().any(|a| a.flux && !a.replaces && !told) => Self::Flux,
            all if all.iter().any(|a| a.flux) => Self::Replacement,
            _ => Self::Hooks,
        }
    }

    /// Tells how much it weighs that a hook changes.
    fn hook(self) -> Option<Severity> {
        match self {
            Self::Hooks | Self::Reinstallation | Self::Replacement => None,
            Self::Flux => Some(Severity::Warn),
            Self::Refusal => Some(Severity::Info),
        }
    }
}

fn finding(meets: Meets, key: &ObjectKey, fields: &str) -> Finding {
    if meets == Meets::Replacement {
        let reason = format!(
            "{key}: {fields} cannot be changed in a cluster; Flux deletes the object and makes it anew"
        );
        return Finding::warn(ID, reason).hint("check that it may be gone for that while");
    }
    let more = match meets {
        Meets::Reinstallation => ", and k3s then uninstalls the release and installs it anew",
        _ => "",
    };
    let reason = format!("{key}: {fields} cannot be changed in a cluster; applying this is refused{more}");
    Finding::block(ID, reason).hint("delete it in the cluster first, so that it is made anew")
}

/// Says once of all hooks that those of before are in the way.
fn finished(severity: Severity, hooks: &[(&Compared<'_>, &ObjectKey)]) -> Option<Finding> {
    let (first, key) = hooks.first()?;
    let names: BTreeSet<String> = hooks.iter().map(|(_, key)| key.to_string()).collect();
    let verb = if names.len() == 1 { "is a hook" } else { "are hooks" };
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    let start = format!("{names} {verb}, and a finished one that is still in the cluster cannot be changed");
    let (rest, hint) = match severity {
        Severity::Info => {
            ("applying it is refused", "delete it in the cluster before; everything else is applied")
        }
        _ => (
            "Flux then applies nothing of the Kustomization",
            "delete it in the cluster before this is merged; a patch in the Kustomization that annotates it with \
             `kustomize.toolkit.fluxcd.io/force: enabled` settles this for good",
        ),
    };
    let finding = Finding::new(ID, severity, format!("{start}: {rest}")).hint(hint);
    Some(first.at(key, finding))
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
    use crate::{
        pins::{Applier, Facts},
        verify::{Severity::*, testing::*},
    };

    fn object(kind: &str, rest: &str) -> String {
        format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: x, namespace: n}}\n{rest}\n")
    }

    fn found(kind: &str, before: &str, after: &str) -> Vec<Finding> {
        rendered(&object(kind, before), &object(kind, after)).check(ID)
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
        for by in [Installed::Helm, Installed::K3s, Installed::Argo { prunes: true }] {
            let case = rendered(&job(1), &job(2)).with_rendering(|r| r.installed = [by].into());
            assert_eq!(case.check(ID), [], "{by:?}");
        }
    }

    #[test]
    fn k3s_installs_a_release_anew_that_is_refused() {
        let service = |ip: &str| object("Service", &format!("spec: {{clusterIP: {ip}}}"));
        let found = |by| {
            let case = rendered(&service("10.0.0.1"), &service("10.0.0.2"));
            case.with_rendering(|r| r.installed = [by].into()).check(ID)
        };
        let (k3s, helm) = (found(Installed::K3s), found(Installed::Helm));
        assert_eq!(severities(&k3s), [Block]);
        assert!(
            k3s[0].reason.ends_with("is refused, and k3s then uninstalls the release and installs it anew")
        );
        assert!(helm[0].reason.ends_with("applying this is refused"), "{helm:?}");
    }

    fn applied(job: &str, by: &[(bool, bool)]) -> Vec<Finding> {
        let file = || crate::plan::testing::path("mesh.yaml");
        let applier = |(flux, replaces): &(bool, bool)| Applier {
            name: "mesh".into(),
            path: file(),
            namespace: None,
            waits: true,
            revision: None,
            line: 1,
            flux: *flux,
            prunes: false,
            replaces: *replaces,
        };
        let appliers = by.iter().map(applier).collect();
        rendered(&job.replace("NEW", "1"), &job.replace("NEW", "2"))
            .pins(|b| {
                let facts = |facts: &mut Facts| drop(facts.appliers.insert(file(), appliers));
                b.chart("mesh.yaml", "linkerd-viz", "2026.8.2").facts(facts)
            })
            .with_rendering(|r| r.committed = true)
            .check(ID)
    }

    #[test]
    fn a_finished_hook_matters_to_who_applies_it() {
        let (argo, flux, forced) = ((false, false), (true, false), (true, true));
        let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x, annotations: {helm.sh/hook: post-install}}\n\
                   spec: {template: {a: NEW}}\n";
        assert_eq!(severities(&applied(job, &[])), [Info], "kubectl is refused this one alone");
        assert_eq!(applied(job, &[argo]), []);
        assert_eq!(severities(&applied(job, &[argo, flux])), [Warn]);
        assert_eq!(applied(job, &[forced]), []);
        let patched = job.replace("helm.sh", "kustomize.toolkit.fluxcd.io/force: enabled, helm.sh");
        assert_eq!(applied(&patched, &[flux]), []);
        let two = format!("{job}---\n{}", job.replace("name: x", "name: y"));
        let found = applied(&two, &[flux]);
        assert_eq!(severities(&found), [Warn], "said once");
        assert!(found[0].reason.starts_with("Job x, Job y are hooks"), "{}", found[0].reason);
    }

    #[test]
    fn flux_makes_anew_what_it_is_told_to() {
        let service = "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {clusterIP: 10.0.0.NEW}\n";
        assert_eq!(severities(&applied(service, &[(true, true)])), [Warn]);
        assert_eq!(severities(&applied(service, &[(true, false)])), [Block]);
        assert_eq!(severities(&applied(service, &[(false, false)])), [Block]);
    }
}

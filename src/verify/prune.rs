//! Step 8, verify: what pruning deletes when committed manifests shrink.
//!
//! In: committed manifests before and after, and the Flux Kustomizations and Argo CD Applications of the tree that apply
//! them. Out: a `block` where a pruned object takes others with it, a `warn` for any other pruned object, an `info`
//! where nothing in the tree prunes them. Helm's resource policy is not honoured by any of these.

use std::collections::BTreeSet;

use super::{
    CheckId, Checked, Finding, Severity, Verification, count, listed,
    rendered::{Compared, appliers, compared},
};
use crate::{
    pins::Applier,
    render::{Object, ObjectKey},
};

pub(super) const ID: CheckId = CheckId::Prune;

/// How many objects one line names before it counts the rest.
const NAMED: usize = 8;

/// What keeps an object: Flux's and Argo CD's own words.
const KEEPERS: [(&str, &str); 2] =
    [("kustomize.toolkit.fluxcd.io/prune", "disabled"), ("argocd.argoproj.io/sync-options", "Prune=false")];

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let all = compared(input);
    let staying: BTreeSet<&ObjectKey> = all.iter().flat_map(|c| c.after.keys().copied()).collect();
    let committed: Vec<&Compared<'_>> = all.iter().filter(|c| c.rendering.committed).collect();
    let shrinking: Vec<(&Compared<'_>, Vec<&Object>)> =
        committed.iter().map(|c| (*c, gone(c, &staying))).filter(|(_, gone)| !gone.is_empty()).collect();
    let findings = shrinking.iter().filter_map(|(compared, gone)| finding(input, compared, gone)).collect();
    let looked_at = format!("objects that vanish from {}", count(committed.len(), "committed manifest"));
    Checked { looked_at, findings }
}

fn gone<'r>(compared: &Compared<'r>, staying: &BTreeSet<&ObjectKey>) -> Vec<&'r Object> {
    let removed = compared.diff.removed.iter().filter(|key| !staying.contains(key));
    removed.filter_map(|key| compared.before.get(key).copied()).filter(|object| !is_kept(object)).collect()
}

/// Tells whether an object says that it is not to be pruned.
pub(super) fn is_kept(object: &Object) -> bool {
    KEEPERS.iter().any(|(name, word)| {
        object.annotation(name).is_some_and(|text| text.split(',').any(|part| part.trim() == *word))
    })
}

fn finding(input: &Verification<'_>, compared: &Compared<'_>, gone: &[&Object]) -> Option<Finding> {
    let names = listed(gone.iter().map(|object| &object.key), NAMED);
    let objects = count(gone.len(), "object");
    let verb = if gone.len() == 1 { "vanishes" } else { "vanish" };
    let start = format!("{objects} {verb} from the manifest: {names}");
    let prunes = |o: &&Object| appliers(input, compared.rendering, &o.key).iter().filter(|a| a.prunes);
    let by: BTreeSet<String> = gone.iter().flat_map(prunes).map(words).collect();
    let finding = if by.is_empty() {
        let rest = "nothing was found in the repository that prunes them, so they may stay in the cluster";
        Finding::info(ID, format!("{start}; {rest}"))
    } else {
        let severity =
            if gone.iter().any(|o| takes_others(&o.key)) { Severity::Block } else { Severity::Warn };
        let by = by.into_iter().collect::<Vec<_>>().join(" and ");
        Finding::new(ID, severity, format!("{start}; {by} deletes them from the cluster")).hint(
            "check that they may go; else annotate them with `kustomize.toolkit.fluxcd.io/prune: disabled` or \
             `argocd.argoproj.io/sync-options: Prune=false` before this is merged",
        )
    };
    Some(compared.at(&gone.first()?.key, finding))
}

fn words(applier: &Applier) -> String {
    let kind = if applier.flux { "Kustomization" } else { "application" };
    format!("the {kind} `{}` ({}:{})", applier.name, applier.path, applier.line)
}

/// Tells whether other objects or data go when an object goes.
fn takes_others(key: &ObjectKey) -> bool {
    matches!(key.kind.as_str(), "Namespace" | "CustomResourceDefinition" | "PersistentVolumeClaim")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity::*, testing::*};

    fn object(kind: &str, annotation: &str) -> String {
        format!("---\napiVersion: v1\nkind: {kind}\nmetadata: {{name: x, annotations: {{{annotation}}}}}\n")
    }

    fn committed(before: &str, after: &str) -> Case {
        rendered(before, after).with_rendering(|r| {
            r.committed = true;
            r.path = crate::plan::testing::path("clusters/prod/mesh/all.yaml");
        })
    }

    fn applier(flux: bool, prunes: bool) -> Applier {
        let path = crate::plan::testing::path("flux.yaml");
        Applier {
            name: "mesh".into(),
            namespace: None,
            path,
            line: 1,
            flux,
            prunes,
            replaces: false,
            waits: true,
            revision: None,
        }
    }

    fn applied(case: Case, flux: bool, prunes: bool) -> Case {
        case.pins(|b| {
            let path = crate::plan::testing::path("clusters/prod/mesh/all.yaml");
            let by = vec![applier(flux, prunes)];
            b.chart("mesh.yaml", "linkerd-viz", "2026.8.2").facts(|f| drop(f.appliers.insert(path, by)))
        })
    }

    #[test]
    fn a_pruned_object_is_named_with_who_deletes_it() {
        for (flux, kind) in [(true, "Kustomization"), (false, "application")] {
            let found = applied(committed(&object("Service", ""), ""), flux, true).check(ID);
            assert_eq!(severities(&found), [Warn]);
            let words = format!("Service x; the {kind} `mesh` (flux.yaml:1) deletes");
            assert!(found[0].reason.contains(&words), "{}", found[0].reason);
        }
        let namespace = applied(committed(&object("Namespace", ""), ""), true, true).check(ID);
        assert_eq!(severities(&namespace), [Block], "all in it goes too");
    }

    #[test]
    fn without_pruning_it_is_only_said() {
        let found = applied(committed(&object("Service", ""), ""), true, false).check(ID);
        assert_eq!(severities(&found), [Info]);
        assert_eq!(severities(&committed(&object("Service", ""), "").check(ID)), [Info]);
    }

    #[test]
    fn kept_objects_stable_manifests_and_the_cluster_itself_pass() {
        let kept = object("Service", "kustomize.toolkit.fluxcd.io/prune: disabled");
        assert_eq!(applied(committed(&kept, ""), true, true).check(ID), []);
        let kept = object("Service", "argocd.argoproj.io/sync-options: 'Replace=true, Prune=false'");
        assert_eq!(applied(committed(&kept, ""), true, true).check(ID), []);
        let same = object("Service", "");
        assert_eq!(applied(committed(&same, &same), true, true).check(ID), []);
        assert_eq!(applied(rendered(&same, ""), true, true).check(ID), [], "Helm's own removal");
    }
}

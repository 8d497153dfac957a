//! Step 8, verify: no definition of a custom resource vanishes unseen.
//!
//! In: the rendered objects before and after. Out: a `block` where a CRD would be deleted, since every object of its
//! kind goes with it; a `warn` where it stays in the cluster: where all who have the chart so leave it there, or the
//! repository has it elsewhere. `helm.sh/resource-policy: keep` counts only where Helm itself deletes: not for Argo CD, not
//! for a Flux Kustomization, not for `kubectl apply --prune`.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    CheckId, Checked, Finding, PRINTED, Verification, count,
    prune::is_kept,
    rendered::{Compared, compared, looked_at},
};
use crate::{
    pins::Installed,
    render::{ChartId, Object, ObjectKey},
    repo::RepoPath,
    yaml::{Stream, position},
};

pub(super) const ID: CheckId = CheckId::CrdRemoval;

const KIND: &str = "CustomResourceDefinition";
const KEEP: &str = "helm.sh/resource-policy";
const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// Why a definition stays in the cluster.
const POLICY: &str = "`helm.sh/resource-policy: keep` leaves them in the cluster, where nothing updates them";
const FLEET: &str =
    "Fleet leaves them in the cluster without `deleteCRDResources: true`, where nothing updates them";
const TOLD: &str = "they are told not to be pruned, and stay in the cluster, where nothing updates them";

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let all = compared(input);
    // A chart may hand a definition over to another.
    let staying: BTreeSet<&ObjectKey> = all.iter().flat_map(|c| c.after.keys().copied()).collect();
    let findings = all.iter().flat_map(|c| of_one(input, c, &staying)).collect();
    Checked { looked_at: looked_at("CustomResourceDefinitions", &all), findings }
}

fn of_one(input: &Verification<'_>, compared: &Compared<'_>, staying: &BTreeSet<&ObjectKey>) -> Vec<Finding> {
    let gone = compared.diff.removed.iter().filter(|key| is_crd(key) && !staying.contains(key));
    let gone: Vec<&Object> = gone.filter_map(|key| compared.before.get(key).copied()).collect();
    if gone.is_empty() {
        return Vec::new();
    }
    let mut left: BTreeMap<&str, Vec<&Object>> = BTreeMap::new();
    let mut rest: Vec<&Object> = Vec::new();
    for crd in gone {
        match why_left(&compared.rendering.installed, crd) {
            Some(why) => left.entry(why).or_default().push(crd),
            None => rest.push(crd),
        }
    }
    let others = if rest.is_empty() { BTreeMap::new() } else { elsewhere(input, compared, &rest) };
    let (moved, deleted): (Vec<&Object>, Vec<&Object>) =
        rest.into_iter().partition(|crd| others.contains_key(crd.key.name.as_str()));
    let from = &compared.rendering.from;
    let stays = |crds: &[&Object], why: &str| {
        let number = count(crds.len(), "CustomResourceDefinition");
        let verb = if crds.len() == 1 { "leaves" } else { "leave" };
        format!("{number} of {from} {verb} the chart ({}); {why}", names(crds))
    };
    let manage = "see to it that something else manages them";
    let stay = |crds: &[&Object], why: &str, hint: &str| {
        let finding = Finding::warn(ID, stays(crds, why)).hint(hint);
        Some(compared.at(&crds.first()?.key, finding))
    };
    let mut findings = Vec::new();
    findings.extend(deleted.first().map(|first| compared.at(&first.key, deletion(from, &deleted))));
    findings.extend(left.iter().filter_map(|(why, crds)| stay(crds, why, manage)));
    let places: BTreeSet<&String> = others.values().collect();
    let places = places.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let why = format!("the repository has them in {places} too");
    let hint = "have that applied before this is merged, so that it owns them when this one lets go";
    findings.extend(stay(&moved, &why, hint));
    findings
}

fn deletion(from: &ChartId, deleted: &[&Object]) -> Finding {
    let reason = format!(
        "{} of {from} {}, and with {} every {} in the cluster",
        count(deleted.len(), "CustomResourceDefinition"),
        if deleted.len() == 1 { "vanishes" } else { "vanish" },
        if deleted.len() == 1 { "it" } else { "them" },
        kinds(deleted),
    );
    let policy = match deleted.iter().any(|crd| is_left(crd)) {
        true => {
            "; `helm.sh/resource-policy: keep` binds Helm alone, not Argo CD, Flux Kustomizations or kubectl"
        }
        false => "",
    };
    Finding::block(ID, reason).hint(format!("{}{policy}", hint(deleted)))
}

/// Says why a definition stays in the cluster; `None` where any of those who bring the chart deletes it.
fn why_left(by: &BTreeSet<Installed>, crd: &Object) -> Option<&'static str> {
    let all: Option<Vec<&str>> = by.iter().map(|by| left_by(*by, crd)).collect();
    all?.first().copied()
}

fn left_by(by: Installed, crd: &Object) -> Option<&'static str> {
    match by {
        Installed::Helm | Installed::K3s => is_left(crd).then_some(POLICY),
        Installed::Fleet => Some(if is_left(crd) { POLICY } else { FLEET }),
        Installed::Argo { prunes: false } => Some(TOLD),
        Installed::Argo { prunes: true } | Installed::Applied => is_kept(crd).then_some(TOLD),
    }
}

fn is_left(crd: &Object) -> bool {
    crd.annotation(KEEP) == Some("keep")
}

/// Finds definitions in other files of the repository: by name, the place.
fn elsewhere<'o>(
    input: &Verification<'_>,
    compared: &Compared<'_>,
    crds: &[&'o Object],
) -> BTreeMap<&'o str, String> {
    let names: Vec<&'o str> = crds.iter().map(|crd| crd.key.name.as_str()).collect();
    let goes = |path: &RepoPath| {
        *path == compared.rendering.path || input.changes.files.iter().any(|f| f.rendered && f.path == *path)
    };
    let mut found = BTreeMap::new();
    for (entry, text) in input.before.mentioning(&names, PRINTED) {
        let Ok(stream) = Stream::parse(&text) else { continue };
        let roots = stream.roots().filter(|root| root.text(&["kind"]) == Some(KIND) && !goes(&entry.path));
        for root in roots {
            let name = root.text(&["metadata", "name"]);
            if let Some(name) = names.iter().find(|known| name == Some(**known)) {
                let line = position(&text, root.span().start).0;
                found.entry(*name).or_insert_with(|| format!("{}:{line}", entry.path));
            }
        }
    }
    found
}

fn is_crd(key: &ObjectKey) -> bool {
    key.kind == KIND && key.group == "apiextensions.k8s.io"
}

fn names(crds: &[&Object]) -> String {
    crds.iter().map(|crd| crd.key.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Names the kinds, by their groups.
fn kinds(crds: &[&Object]) -> String {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for crd in crds {
        let kind = crd.text(&["spec", "names", "kind"]).unwrap_or(&crd.key.name);
        groups.entry(crd.text(&["spec", "group"]).unwrap_or_default()).or_default().push(kind);
    }
    let each = groups.into_iter().map(|(group, kinds)| match group {
        "" => kinds.join(", "),
        group => format!("{} ({group})", kinds.join(", ")),
    });
    each.collect::<Vec<_>>().join("; ")
}

/// The Gateway API's definitions left the default render in edge-25.9.4 (L2 #14523).
fn hint(crds: &[&Object]) -> &'static str {
    match crds.iter().all(|crd| crd.text(&["spec", "group"]) == Some(GATEWAY_API)) {
        true => {
            "have the Gateway API's own release applied from another folder first, or keep them with the value \
             `installGatewayAPI: true`"
        }
        false => "have something else manage them before this is merged, or protect them from pruning",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity::*, testing::*};

    fn crd(name: &str, annotation: &str) -> String {
        format!(
            "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: {name}\n  \
             annotations: {{{annotation}}}\nspec: {{group: gateway.networking.k8s.io, names: {{kind: HTTPRoute}}}}\n"
        )
    }

    const KEPT: &str = "helm.sh/resource-policy: keep";
    const ARGO: Installed = Installed::Argo { prunes: true };

    /// A rendering after which nothing is left, as these bring it.
    fn gone<const N: usize>(before: &str, by: [Installed; N]) -> Case {
        rendered(before, "").with_rendering(|r| r.installed = by.into())
    }

    #[test]
    fn a_definition_that_vanishes_blocks_and_names_what_goes_with_it() {
        let found = rendered(&(crd("a", "") + &crd("b", "")), &crd("b", "")).check(ID);
        assert_eq!(severities(&found), [Block]);
        assert!(
            found[0].reason.ends_with(
                "vanishes, and with it every HTTPRoute (gateway.networking.k8s.io) in the cluster"
            )
        );
        assert!(found[0].hint.as_ref().unwrap().contains("installGatewayAPI"));
    }

    #[test]
    fn helms_policy_protects_only_from_helm() {
        let before = crd("a", KEPT);
        let helm = gone(&before, [Installed::Helm]).check(ID);
        assert_eq!(severities(&helm), [Warn]);
        assert!(helm[0].reason.contains("nothing updates them"));
        let argo = gone(&before, [ARGO]).check(ID);
        assert_eq!(severities(&argo), [Block]);
        assert!(argo[0].hint.as_ref().unwrap().contains("binds Helm alone, not Argo CD"));
        assert_eq!(severities(&gone(&before, [Installed::Applied]).check(ID)), [Block]);
        assert_eq!(severities(&gone(&crd("a", ""), [Installed::Helm]).check(ID)), [Block]);
        assert_eq!(severities(&gone(&crd("a", ""), [Installed::K3s]).check(ID)), [Block]);
        let fleet = gone(&crd("a", ""), [Installed::Fleet]).check(ID);
        assert_eq!(severities(&fleet), [Warn]);
        assert!(fleet[0].reason.contains("`deleteCRDResources: true`"), "{fleet:?}");
        assert_eq!(
            severities(&gone(&before, [Installed::Helm, ARGO]).check(ID)),
            [Block],
            "either may have it"
        );
    }

    #[test]
    fn what_the_repository_has_elsewhere_or_is_told_not_to_prune_stays() {
        let found = gone(&crd("a", KEPT), [ARGO]).file("gateway/crds.yaml", &crd("a", "")).check(ID);
        assert_eq!(severities(&found), [Warn]);
        assert!(found[0].reason.ends_with("the repository has them in gateway/crds.yaml:2 too"), "{found:?}");
        let other = gone(&crd("a", KEPT), [ARGO]).file("b.yaml", &crd("b", ""));
        assert_eq!(severities(&other.check(ID)), [Block], "another definition");
        let told = [Installed::Argo { prunes: false }];
        assert_eq!(severities(&gone(&crd("a", ""), told).check(ID)), [Warn]);
        let annotated = crd("a", "kustomize.toolkit.fluxcd.io/prune: disabled");
        assert_eq!(severities(&gone(&annotated, [Installed::Applied]).check(ID)), [Warn]);
        assert_eq!(
            severities(&gone(&annotated, [Installed::Helm]).check(ID)),
            [Block],
            "Helm does not look at it"
        );
    }

    #[test]
    fn definitions_that_stay_or_move_to_another_chart_pass() {
        assert_eq!(rendered(&crd("a", ""), &crd("a", KEPT)).check(ID), []);
        let handed_over = rendered(&crd("a", ""), "").rendering("", &crd("a", ""));
        assert_eq!(handed_over.check(ID), []);
        let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
        assert_eq!(rendered(other, "").check(ID), [], "other objects are for other checks");
    }
}

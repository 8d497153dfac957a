//! Step 6, verify: no definition of a custom resource vanishes unseen.
//!
//! In: the rendered objects before and after. Out: a `block` where a CRD would be deleted, since every object of its
//! kind goes with it; a `warn` where Helm leaves it in the cluster. `helm.sh/resource-policy: keep` counts only where
//! Helm itself deletes: not for Argo CD, not for a Flux Kustomization, not for `kubectl apply --prune`.

use std::collections::BTreeSet;

use super::{
    Checked, Finding, Verification, count,
    rendered::{Compared, Deployer, compared, deployer, looked_at},
};
use crate::render::{Object, ObjectKey};

pub(super) const NAME: &str = "crd-removal";

const KEEP: &str = "helm.sh/resource-policy";
const GATEWAY_API: &str = "gateway.networking.k8s.io";

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
    let by_helm = deployer(input, compared.rendering) == Deployer::FluxHelm;
    let is_kept = |crd: &&Object| crd.annotation(KEEP) == Some("keep");
    let (kept, deleted): (Vec<&Object>, Vec<&Object>) =
        gone.into_iter().partition(|crd| by_helm && is_kept(crd));
    let mut findings = Vec::new();
    if !deleted.is_empty() {
        let reason = format!(
            "{} of {} {} ({}); when a definition is deleted, every {} in the cluster is deleted with it",
            count(deleted.len(), "CustomResourceDefinition"),
            compared.rendering.from,
            if deleted.len() == 1 { "vanishes" } else { "vanish" },
            names(&deleted),
            kinds(&deleted),
        );
        let policy = match deleted.iter().any(is_kept) {
            true => {
                "; `helm.sh/resource-policy: keep` on them does not bind Argo CD, Flux Kustomizations and kubectl"
            }
            false => "",
        };
        findings.push(Finding::block(NAME, reason).mend(format!("{}{policy}", mend(&deleted))));
    }
    if !kept.is_empty() {
        let reason = format!(
            "{} of {} are no longer in the chart ({}); `helm.sh/resource-policy: keep` leaves them in the cluster, \
             where nothing updates them",
            count(kept.len(), "CustomResourceDefinition"),
            compared.rendering.from,
            names(&kept),
        );
        findings.push(Finding::warn(NAME, reason).mend("see to it that something else manages them"));
    }
    findings.into_iter().map(|finding| compared.at(finding)).collect()
}

fn is_crd(key: &ObjectKey) -> bool {
    key.kind == "CustomResourceDefinition" && key.group == "apiextensions.k8s.io"
}

fn names(crds: &[&Object]) -> String {
    crds.iter().map(|crd| crd.key.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn kinds(crds: &[&Object]) -> String {
    let kind = |crd: &&Object| crd.text(&["spec", "names", "kind"]).unwrap_or(&crd.key.name).to_owned();
    crds.iter().map(kind).collect::<Vec<_>>().join(", ")
}

/// The Gateway API's definitions left the default render in edge-25.9.4 (L2 #14523).
fn mend(crds: &[&Object]) -> &'static str {
    match crds.iter().all(|crd| crd.text(&["spec", "group"]) == Some(GATEWAY_API)) {
        true => {
            "keep them rendered with the value `installGatewayAPI: true`, or hand them over to a release of the \
                 Gateway API and protect them from pruning before this is merged"
        }
        false => "protect them from pruning, or have something else manage them, before this is merged",
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
    const RELEASE: &str = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nversion: 2026.8.2\n";
    const APPLICATION: &str = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nversion: 2026.8.2\n";

    #[test]
    fn a_definition_that_vanishes_blocks_and_names_what_goes_with_it() {
        let found = rendered(&(crd("a", "") + &crd("b", "")), &crd("b", "")).check(NAME);
        assert_eq!(severities(&found), [Block]);
        assert!(
            found[0].reason.contains("vanishes (a); when") && found[0].reason.contains("every HTTPRoute")
        );
        assert!(found[0].mend.as_ref().unwrap().contains("installGatewayAPI"));
    }

    #[test]
    fn helms_policy_protects_only_from_helm() {
        let before = crd("a", KEPT);
        let flux = rendered(&before, "").file("mesh.yaml", RELEASE).check(NAME);
        assert_eq!(severities(&flux), [Warn]);
        assert!(flux[0].reason.contains("nothing updates them"));
        let argo = rendered(&before, "").file("mesh.yaml", APPLICATION).check(NAME);
        assert_eq!(severities(&argo), [Block]);
        assert!(argo[0].mend.as_ref().unwrap().contains("does not bind Argo CD"));
        let committed =
            rendered(&before, "").file("mesh.yaml", RELEASE).with_rendering(|r| r.committed = true);
        assert_eq!(severities(&committed.check(NAME)), [Block]);
        let without = rendered(&crd("a", ""), "").file("mesh.yaml", RELEASE).check(NAME);
        assert_eq!(severities(&without), [Block]);
    }

    #[test]
    fn definitions_that_stay_or_move_to_another_chart_pass() {
        assert_eq!(rendered(&crd("a", ""), &crd("a", KEPT)).check(NAME), []);
        let handed_over = rendered(&crd("a", ""), "").rendering("", &crd("a", ""));
        assert_eq!(handed_over.check(NAME), []);
        let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
        assert_eq!(rendered(other, "").check(NAME), [], "other objects are for other checks");
    }
}

//! Step 8, verify: the range of Gateway API versions that the release supports.
//!
//! In: the plan's ends, and the versions of the CRDs that charts bring or the tree has. Out: a `warn` where the range
//! changes on the way and a version is outside of it, or none is found in the repository: what the cluster has is then
//! not known.

use super::{CheckId, Checked, Finding, PRINTED, Place, Verification};
use crate::{
    linkerd::{CRDS, GatewayApi, is_control_plane},
    pins::{Reader, Stage},
};

pub(super) const ID: CheckId = CheckId::GatewayApi;

/// What the CRDs say of their version, and how people name a bundle of theirs.
const BUNDLE: &str = "gateway.networking.k8s.io/bundle-version";
const DOWNLOAD: &str = "gateway-api/releases/download/";

/// A version that was found, and where.
struct CrdBundle {
    version: String,
    /// The chart that brings it; none for a file.
    chart: Option<String>,
    place: Place,
}

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let findings = findings(input).unwrap_or_default();
    Checked { looked_at: format!("the Gateway API range of {}", input.plan.to), findings }
}

fn findings(input: &Verification<'_>) -> Option<Vec<Finding>> {
    // The control plane serves these; definitions alone may bring them.
    let plane = |reader: &Reader| reader.chart.as_deref().is_none_or(is_control_plane);
    let crds = |reader: &Reader| reader.chart.as_deref() == Some(CRDS);
    let (from, to) = (input.oldest(plane).or_else(|| input.oldest(crds))?, input.plan.to);
    let known = &input.catalog.knowledge;
    let new = known.gateway_api_of(to)?;
    let old = known.gateway_api_of(from);
    let same = old.is_some_and(|old| (&old.from, &old.to) == (&new.from, &new.to));
    if same || input.plan.stage == Stage::DataPlane {
        return None;
    }
    let range = format!("{to} supports the Gateway API CRDs {} to {}", new.from, new.to);
    let found = found(input);
    if found.is_empty() {
        let at = input.plan.origin(from);
        let before = old.map_or(String::new(), |old| format!("; {at} supported {} to {}", old.from, old.to));
        let hint = format!("check the version in the cluster; see {}", new.source);
        return Some(vec![Finding::warn(ID, range + &before).hint(hint)]);
    }
    let outside = found.iter().filter(|found| !is_inside(&found.version, new)).map(|found| {
        let (reason, hint) = match &found.chart {
            Some(chart) => (
                format!("{range}, and {chart} brings {}", found.version),
                "install a version of that range from upstream and set `installGatewayAPI: false`",
            ),
            None => (
                format!("{range}, and {} is here", found.version),
                "move it into that range, and have it applied before this is merged",
            ),
        };
        let finding = Finding::warn(ID, reason).hint(format!("{hint}; see {}", new.source));
        Finding { place: Some(found.place.clone()), ..finding }
    });
    Some(outside.collect())
}

/// Finds the versions that charts bring after the change, and those of the tree.
fn found(input: &Verification<'_>) -> Vec<CrdBundle> {
    let brought = input.rendered.done.iter().flat_map(|rendering| {
        let versions = rendering.after.objects.iter().filter_map(|object| object.annotation(BUNDLE));
        versions.map(|version| CrdBundle {
            version: bare(version),
            chart: Some(rendering.to.to_string()),
            place: Place { path: rendering.path.clone(), line: Some(rendering.line) },
        })
    });
    let mut all: Vec<CrdBundle> = brought.collect();
    let made_again = |path: &_| input.changes.files.iter().any(|file| file.rendered && file.path == *path);
    for (entry, text) in input.before.mentioning(&[BUNDLE, DOWNLOAD], PRINTED) {
        if made_again(&entry.path) {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let rest = [BUNDLE, DOWNLOAD].iter().find_map(|word| line.split_once(word));
            let Some((_, rest)) = rest.filter(|(before, _)| !before.trim_start().starts_with('#')) else {
                continue;
            };
            let place = Place { path: entry.path.clone(), line: Some(number + 1) };
            let version = bare(rest);
            if version.contains('.') {
                all.push(CrdBundle { version, chart: None, place });
            }
        }
    }
    all.dedup_by(|a, b| a.version == b.version && a.place.path == b.place.path);
    all
}

/// Takes a version out of what is around it: `": v1.2.1"`, `v1.2.1/standard-install.yaml`.
fn bare(text: &str) -> String {
    let text = text.trim_start_matches([':', '"', '\'', ' ', 'v']);
    text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect()
}

fn is_inside(version: &str, range: &GatewayApi) -> bool {
    let parts = |text: &str| -> [u64; 3] {
        let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
        [(); 3].map(|()| parts.next().unwrap_or(0))
    };
    (parts(&range.from)..=parts(&range.to)).contains(&parts(version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::testing::Build,
        verify::{Severity::*, testing::*},
    };

    fn from(chart: &'static str) -> Vec<Finding> {
        Case::default().pins(|b| b.chart("a.yaml", "linkerd-crds", chart)).check(ID)
    }

    #[test]
    fn inside_one_range_nothing_is_said() {
        assert_eq!(from("2026.8.2"), []);
    }

    #[test]
    fn a_new_range_is_named_with_the_old_one() {
        let found = from("2026.1.1");
        assert_eq!(severities(&found), [Warn]);
        assert!(
            found[0].reason.contains("1.2.1 to 1.5.1; edge-26.1.1 supported 1.1.1 to 1.2.1"),
            "{found:?}"
        );
        let case = Case::default().pins(|b| b.chart("a.yaml", "linkerd-crds", "2026.1.1"));
        let found = case.change_plan(|plan| plan.older = true).check(ID);
        assert!(found[0].reason.ends_with("; edge-26.1.1 or older supported 1.1.1 to 1.2.1"), "{found:?}");
    }

    #[test]
    fn a_version_in_the_tree_settles_it() {
        let crd = |version: &str| {
            format!("metadata:\n  annotations:\n    gateway.networking.k8s.io/bundle-version: v{version}\n")
        };
        let with = |file: &str, text: &str| {
            let case = Case::default().pins(|b| b.chart("a.yaml", "linkerd-crds", "2026.1.1"));
            case.file(file, text).check(ID)
        };
        assert_eq!(with("gw/crds.yaml", &crd("1.2.1")), []);
        assert_eq!(with("gw/crds.yaml", &crd("1.5.1")), []);
        let old = with("gw/crds.yaml", &crd("1.1.1"));
        assert_eq!(severities(&old), [Warn]);
        assert!(old[0].reason.ends_with("1.2.1 to 1.5.1, and 1.1.1 is here"), "{old:?}");
        assert_eq!(old[0].place.as_ref().unwrap().to_string(), "gw/crds.yaml:3");
        let bundle = "resources:\n# the release\n- https://github.com/kubernetes-sigs/gateway-api/releases/download/v1.6.0/standard-install.yaml\n";
        assert_eq!(with("gw/kustomization.yaml", bundle)[0].place.as_ref().unwrap().line, Some(3));
    }

    #[test]
    fn a_chart_that_brings_an_old_version_is_named() {
        let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: r\n  \
                   annotations: {gateway.networking.k8s.io/bundle-version: v1.1.1}\n";
        let charts = |b: Build| {
            let viz = b.chart("mesh.yaml", "linkerd-viz", "2026.1.1");
            viz.chart("cp.yaml", "linkerd-control-plane", "2026.1.1")
        };
        let case = Case::default().pins(charts).rendering("", crd);
        let found = case.check(ID);
        assert_eq!(severities(&found), [Warn]);
        assert!(found[0].reason.ends_with("and linkerd-viz 2026.8.3 brings 1.1.1"), "{found:?}");
        assert!(found[0].hint.as_ref().unwrap().contains("`installGatewayAPI: false`"));
    }

    #[test]
    fn it_is_the_control_plane_that_serves_them() {
        let both = |plane: &'static str| {
            let pins = move |b: Build| {
                let plane = b.chart("cp.yaml", "linkerd-control-plane", plane);
                plane.chart("crds.yaml", "linkerd-crds", "2026.1.1")
            };
            Case::default().pins(pins).check(ID)
        };
        assert_eq!((severities(&both("2026.8.2")), severities(&both("2026.1.1"))), (vec![], vec![Warn]));
        let viz = Case::default().pins(|b| b.chart("viz.yaml", "linkerd-viz", "2026.1.1"));
        assert_eq!(viz.check(ID), []);
    }

    #[test]
    fn proxies_do_not_ask_for_it() {
        let case = Case::default().data_plane().pins(|b| b.proxy("a.yaml", "edge-26.1.1"));
        assert_eq!(case.check(ID), []);
    }
}

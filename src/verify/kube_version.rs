//! Step 8, verify: the cluster's Kubernetes is one that the charts accept.
//!
//! In: the target's `kubernetes`, and the `kubeVersion` of the charts that are pinned or rendered. Out: a `block` where a chart would refuse to be
//! installed; where the cluster's version is not configured, a `warn` if the charts ask for more than before.

use std::collections::{BTreeMap, BTreeSet};

use semver::Version;

use super::{CheckId, Checked, Finding, Verification, count};
use crate::{
    linkerd::EdgeVersion,
    pins::{Form, Pin, Reader, Stage},
    plan::Constraint,
};

pub(super) const ID: CheckId = CheckId::KubeVersion;

/// More minor releases than Kubernetes will have in the lifetime of a chart.
const MINORS: u64 = 100;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    if input.plan.stage == Stage::DataPlane {
        return Checked { looked_at: "nothing: no chart moves".to_owned(), findings: Vec::new() };
    }
    let pinned = input.moving().filter(|(pin, _)| pin.form == Form::Chart);
    // A committed manifest has no pin that names its chart.
    let rendered = input.rendered.done.iter().filter(|r| r.from != r.to).map(|r| r.to.name.as_str());
    let charts: BTreeSet<&str> = pinned.flat_map(|(pin, _)| pin.charts()).chain(rendered).collect();
    let to = input.plan.to;
    let findings = match input.kubernetes {
        Some(cluster) => refused(input, &charts, cluster),
        None => asks_for_more(input, &charts).into_iter().collect(),
    };
    Checked { looked_at: format!("kubeVersion of {} of {to}", count(charts.len(), "chart")), findings }
}

/// Names the charts of one range together: those of a release are built alike.
fn refused(input: &Verification<'_>, charts: &BTreeSet<&str>, cluster: &Version) -> Vec<Finding> {
    let to = input.plan.to;
    let mut by_range: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for chart in charts {
        if let Some(range) = range(input, chart, to) {
            by_range.entry(range).or_default().push(chart);
        }
    }
    let finding = |(range, charts): (&String, &Vec<&str>)| {
        let names = charts.join(", ");
        let finding = match Constraint::parse(range) {
            Ok(constraint) if constraint.allows_version(cluster) => return None,
            Ok(_) => {
                let verb = if charts.len() == 1 { "needs" } else { "need" };
                let reason =
                    format!("{names} of {to} {verb} Kubernetes {range}, and this target runs {cluster}");
                let hint = "upgrade the cluster first, and then `kubernetes` of the target";
                Finding::block(ID, reason).hint(hint)
            }
            Err(_) => Finding::info(ID, format!("the kubeVersion of {names}, `{range}`, could not be read")),
        };
        Some(placed(input, finding, charts))
    };
    by_range.iter().filter_map(finding).collect()
}

/// Places a finding at the first pin of its charts.
fn placed(input: &Verification<'_>, finding: Finding, charts: &[&str]) -> Finding {
    let of = |pin: &&Pin| pin.charts().any(|chart| charts.contains(&chart));
    let first = input.moving().map(|(pin, _)| pin).filter(of).min_by_key(|p| (&p.path, p.site.line));
    match first {
        Some(pin) => finding.at_pin(pin),
        None => finding,
    }
}

fn asks_for_more(input: &Verification<'_>, charts: &BTreeSet<&str>) -> Option<Finding> {
    let to = input.plan.to;
    let differing = |chart: &&str| {
        let installs = |reader: &Reader| {
            reader.chart.as_deref() == Some(*chart) && matches!(reader.form, Form::Chart | Form::Rendered)
        };
        let from = input.oldest(installs)?;
        let (old, new) = (range(input, chart, from)?, range(input, chart, to)?);
        let more = match (Constraint::parse(&old), Constraint::parse(&new)) {
            (Ok(old), Ok(new)) => narrows(&old, &new),
            _ => old != new,
        };
        more.then_some((from, old, new))
    };
    let (chart, (from, old, new)) = charts.iter().find_map(|chart| Some((*chart, differing(chart)?)))?;
    let reason = format!("{to} needs Kubernetes {new}; {} needed {old}", input.plan.origin(from));
    let hint =
        "check the cluster's version, or set `kubernetes` of the target so that this is checked for you";
    Some(placed(input, Finding::warn(ID, reason).hint(hint), &[chart]))
}

/// Tells whether there is a minor release of Kubernetes that was accepted and no longer is.
fn narrows(old: &Constraint, new: &Constraint) -> bool {
    let mut minors = (0..MINORS).map(|minor| Version::new(1, minor, 0));
    minors.any(|version| old.allows_version(&version) && !new.allows_version(&version))
}

/// The index has the chart's own word; where it is not at hand, what is known of the release stands in.
fn range(input: &Verification<'_>, chart: &str, version: EdgeVersion) -> Option<String> {
    let index = || input.catalog.get(version)?.charts.get(chart)?.kube_version.clone();
    let known = || input.catalog.knowledge.kubernetes_of(version).map(|k| k.range.clone());
    index().or_else(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::testing::Build,
        verify::{Severity::*, testing::*},
    };

    fn case() -> Case {
        Case::default().pins(|b| b.chart("a.yaml", "linkerd-crds", "2026.8.2"))
    }

    #[test]
    fn a_cluster_that_the_charts_accept_passes() {
        assert_eq!(case().check(ID), []);
        assert_eq!(case().kubernetes("1.31.0").check(ID), []);
        assert_eq!(case().kubernetes("1.33.4-eks-1").check(ID), []);
    }

    #[test]
    fn a_cluster_that_is_too_old_blocks() {
        let found = case().kubernetes("1.30.0").check(ID);
        assert_eq!(severities(&found), [Block]);
        assert!(found[0].reason.contains("needs Kubernetes >=1.31.0-0, and this target runs 1.30.0"));
    }

    #[test]
    fn charts_of_one_range_are_one_finding_with_its_place() {
        let two = Case::default().pins(|b| {
            b.chart("b.yaml", "linkerd-viz", "2026.8.2").chart("a.yaml", "linkerd-crds", "2026.8.2")
        });
        let found = two.kubernetes("1.30.0").check(ID);
        assert_eq!(severities(&found), [Block]);
        assert!(found[0].reason.starts_with("linkerd-crds, linkerd-viz of edge-26.8.3 need"), "{found:?}");
        assert_eq!(found[0].place.as_ref().unwrap().path.as_str(), "a.yaml");
    }

    #[test]
    fn a_lower_demand_asks_for_nothing() {
        let old = Constraint::parse(">=1.23.0-0").unwrap();
        let new = Constraint::parse(">=1.31.0-0").unwrap();
        assert!(narrows(&old, &new) && !narrows(&new, &old) && !narrows(&new, &new));
        assert!(narrows(&new, &Constraint::parse(">=1.31.0-0 <1.40.0-0").unwrap()), "an end");
    }

    #[test]
    fn without_the_clusters_version_a_higher_demand_is_a_warning() {
        let from_old = Case::default().pins(|b| b.chart("a.yaml", "linkerd-crds", "2026.4.1"));
        let found = from_old.check(ID);
        assert_eq!(severities(&found), [Warn], "edge-26.5.1 raised it: {found:?}");
        assert!(found[0].reason.contains("edge-26.4.1 needed >=1.23"), "{found:?}");
        let older = Case::default().pins(|b| b.chart("a.yaml", "linkerd-crds", "2026.4.1"));
        let found = older.change_plan(|plan| plan.older = true).check(ID);
        assert!(found[0].reason.contains("edge-26.4.1 or older needed >=1.23"), "{found:?}");
    }

    #[test]
    fn what_a_chart_asked_for_before_is_said_by_its_own_version() {
        let charts = |b: Build| {
            let plane = b.chart("cp.yaml", "linkerd-control-plane", "2026.8.2");
            let tag = plane.value("cp.yaml", "linkerd-control-plane", "linkerdVersion", "edge-26.4.1");
            tag.chart("cni.yaml", "linkerd2-cni", "2026.8.2")
        };
        assert_eq!(Case::default().pins(charts).check(ID), [], "a tag asks for nothing");
        let one = Case::default().pins(|b| charts(b).chart("viz.yaml", "linkerd-viz", "2026.4.1")).check(ID);
        assert_eq!(severities(&one), [Warn]);
        assert!(one[0].reason.contains("edge-26.4.1 needed"), "{one:?}");
        assert_eq!(one[0].place.as_ref().unwrap().path.as_str(), "viz.yaml");
    }

    #[test]
    fn a_chart_that_is_only_rendered_counts_too() {
        let proxies_only =
            || Case::default().pins(|b| b.value("a.yaml", "x", "linkerdVersion", "edge-26.8.2"));
        assert_eq!(proxies_only().kubernetes("1.30.0").check(ID), []);
        let rendered = proxies_only().rendering("", "").kubernetes("1.30.0").check(ID);
        assert_eq!(severities(&rendered), [Block]);
        assert!(rendered[0].reason.starts_with("linkerd-viz of"));
    }

    #[test]
    fn proxies_are_no_charts() {
        let proxies = Case::default().data_plane().pins(|b| b.proxy("a.yaml", "edge-26.4.1"));
        assert_eq!(proxies.kubernetes("1.20.0").check(ID), []);
    }
}

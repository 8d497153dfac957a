//! Step 8, verify: what was rendered is what the index names.
//!
//! In: the charts that were rendered, and those whose package was not the one of the index. Out: a `block` for a package
//! with another digest, a `warn` where the index gives no digest, and otherwise one `info`; the commit names the digests.

use std::collections::BTreeSet;

use super::{CheckId, Checked, Finding, Verification, count};
use crate::{linkerd::EdgeVersion, release::Chart, render::ChartId};

pub(super) const ID: CheckId = CheckId::ChartDigest;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let rendered = input.rendered;
    let charts: BTreeSet<&ChartId> = rendered.done.iter().flat_map(|r| [&r.from, &r.to]).collect();
    let forged = rendered.missing.iter().filter(|missing| missing.cause.is_digest()).map(|missing| {
        Finding::block(ID, missing.cause.to_string()).at(&missing.path, missing.line).hint(
            "do not merge; find out who changed the package in the mirror, and compare it with Linkerd's own",
        )
    });
    let mut findings: Vec<Finding> = forged.collect();
    let mut confirmed = 0;
    for chart in &charts {
        match is_provable(input, chart) {
            true => confirmed += 1,
            false => findings.push(
                Finding::warn(
                    ID,
                    format!("no index that was read has a digest of {chart}, so its package is unproven"),
                )
                .hint("configure an index that gives digests"),
            ),
        }
    }
    if confirmed > 0 {
        let packages = count(confirmed, "chart package");
        let verb = if confirmed == 1 { "has" } else { "have" };
        findings.push(Finding::info(ID, format!("{packages} {verb} the digest that the index names")));
    }
    Checked { looked_at: format!("digests of {}", count(charts.len(), "chart package")), findings }
}

fn is_provable(input: &Verification<'_>, chart: &ChartId) -> bool {
    let edge = EdgeVersion::from_chart(&chart.version)
        .or_else(|| input.catalog.edge_of_chart(&chart.name, &chart.version));
    let found = edge.and_then(|edge| input.catalog.get(edge)?.charts.get(&chart.name));
    found.is_some_and(Chart::is_provable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::RenderError;
    use crate::verify::{Severity::*, testing::*};

    #[test]
    fn a_package_that_is_not_the_indexs_blocks() {
        let chart = ChartId { name: "linkerd-viz".into(), version: "2026.8.3".into() };
        let error = RenderError::Digest { chart, expected: "aa".into(), found: "bb".into() };
        let found = rendered("", "").not_rendered(error).check(ID);
        assert_eq!(severities(&found), [Block, Info]);
        assert!(found[0].reason.contains("digest bb, the index says aa"));
    }

    #[test]
    fn a_chart_without_a_digest_is_a_warning() {
        let without = rendered("", "").catalog(|catalog| {
            for release in catalog.releases.values_mut() {
                release.charts.values_mut().for_each(|chart| chart.digest = None);
            }
        });
        assert_eq!(severities(&without.check(ID)), [Warn, Warn], "before and after");
    }

    #[test]
    fn confirmed_digests_are_listed_and_other_failures_are_no_matter_of_digests() {
        let no_helm = RenderError::NoHelm { reason: "no helm".into(), hint: "get one" };
        let found = rendered("", "").not_rendered(no_helm).check(ID);
        assert_eq!(severities(&found), [Info]);
        assert_eq!(found[0].reason, "2 chart packages have the digest that the index names");
    }
}

//! Step 8, verify: what could not be rendered.
//!
//! In: the charts that were to be rendered and were not. Out: a `block` where Helm refuses the new version with values
//! that the old one takes; one `info` for each reason where only the preview is missing. A package with a wrong digest is
//! `chart-digest`'s to tell. Where a committed manifest is not made again, its stage waits, and nothing comes here.

use std::collections::BTreeMap;

use super::{CheckId, Checked, Finding, Verification, count, listed};
use crate::render::NotRendered;

pub(super) const ID: CheckId = CheckId::NotRendered;

/// How many charts one line names before it counts the rest.
const NAMED: usize = 5;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let rendered = input.rendered;
    let mut findings = Vec::new();
    let mut previews: BTreeMap<(String, &str), Vec<&NotRendered>> = BTreeMap::new();
    for missing in rendered.missing.iter().filter(|missing| !missing.cause.is_digest()) {
        if let Some((chart, words)) = missing.cause.by_helm().filter(|_| missing.refused) {
            let words = words.trim_end_matches('.');
            let reason = format!("Helm refuses {chart} with these values: {words}");
            let hint = "fix the values in this branch: what deploys them will be refused in the same words";
            findings.push(Finding::block(ID, reason).at(&missing.path, missing.line).hint(hint));
        } else {
            let cause = &missing.cause;
            previews.entry((cause.to_string(), cause.hint())).or_default().push(missing);
        }
    }
    findings.extend(previews.iter().map(|((reason, hint), charts)| preview(reason, hint, charts)));
    let all = rendered.done.len() + rendered.missing.len();
    Checked { looked_at: format!("{} of charts", count(all, "rendering")), findings }
}

/// Says of all charts with one reason that what they change is not shown.
fn preview(reason: &str, hint: &str, charts: &[&NotRendered]) -> Finding {
    // A chart that several clusters take from one file is named once.
    let mut names: Vec<String> = charts.iter().map(|one| format!("{} ({})", one.chart, one.path)).collect();
    names.sort();
    names.dedup();
    let names = listed(&names, NAMED);
    let text = format!("what {names} would change in the cluster is not shown: {reason}");
    Finding::info(ID, text).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{ChartId, RenderError};
    use crate::verify::{Severity::*, testing::*};

    #[test]
    fn what_is_not_shown_is_said_once_for_each_reason() {
        let no_helm = RenderError::NoHelm { reason: "helm could not be found".into(), hint: "get one" };
        let found = rendered("", "").not_rendered(no_helm.clone()).check(ID);
        assert_eq!(severities(&found), [Info]);
        assert!(found[0].reason.ends_with("is not shown: helm could not be found"), "{found:?}");
        assert_eq!(found[0].hint.as_deref(), Some("get one"));
        // Of one file a chart is named once.
        let file = |n: usize| format!("mesh-{}.yaml", n.min(7));
        let all = (0..9).fold(rendered("", ""), |case, n| case.not_rendered_in(&file(n), no_helm.clone()));
        let many = all.check(ID);
        assert!(many.len() == 1 && many[0].reason.contains(" and 3 more"), "{many:?}");
    }

    #[test]
    fn values_that_only_the_new_version_refuses_block() {
        let chart = ChartId { name: "linkerd-viz".into(), version: "2026.8.3".into() };
        let refusal = RenderError::Helm { chart, reason: "prometheusUrl is needed.".into() };
        let found = rendered("", "").not_rendered(refusal).refused().check(ID);
        assert_eq!(severities(&found), [Block]);
        assert_eq!(
            found[0].reason,
            "Helm refuses linkerd-viz 2026.8.3 with these values: prometheusUrl is needed"
        );
    }

    #[test]
    fn where_everything_was_rendered_nothing_is_said() {
        assert_eq!(rendered("", "").check(ID), []);
    }
}

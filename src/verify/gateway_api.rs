//! Step 6, verify: the range of Gateway API versions that the release supports.
//!
//! In: the plan's ends. Out: a `warn` where the range changes on the way. The repository does not show which version
//! the cluster has, so nothing is claimed of it.

use super::{Checked, Finding, Verification};
use crate::scan::Stage;

pub(super) const NAME: &str = "gateway-api";

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let findings = finding(input).into_iter().collect();
    Checked { looked_at: format!("the Gateway API range of {}", input.plan.to), findings }
}

fn finding(input: &Verification<'_>) -> Option<Finding> {
    let (from, to) = (*input.plan.from.first()?, input.plan.to);
    let known = &input.catalog.knowledge;
    let new = known.gateway_api_of(to)?;
    let old = known.gateway_api_of(from);
    let same = old.is_some_and(|old| (&old.from, &old.to) == (&new.from, &new.to));
    if same || input.plan.stage == Stage::DataPlane {
        return None;
    }
    let before = old.map_or(String::new(), |old| format!("; {from} supported {} to {}", old.from, old.to));
    let reason = format!("{to} supports the Gateway API CRDs {} to {}{before}", new.from, new.to);
    Some(Finding::warn(NAME, reason).mend(format!("check the version in the cluster; see {}", new.source)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity::*, testing::*};

    fn from(chart: &'static str) -> Vec<Finding> {
        Case::default().pins(|b| b.chart("a.yaml", "linkerd-crds", chart)).check(NAME)
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
    }

    #[test]
    fn proxies_do_not_ask_for_it() {
        let case = Case::default().data_plane().pins(|b| b.proxy("a.yaml", "edge-26.1.1"));
        assert_eq!(case.check(NAME), []);
    }
}

//! Step 6, verify: no value keeps images old under a new chart.
//!
//! In: values that stay. Out: a `warn` for each that names an older release than the chart whose value it is moves
//! to: the chart then installs without complaint and runs the old images.

use std::collections::BTreeSet;

use super::{Checked, Finding, Verification, count};
use crate::{
    plan::edge_of,
    scan::{Form, PinKind, Reason},
};

pub(super) const NAME: &str = "values-stale-override";

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let to = input.plan.to;
    let charts: BTreeSet<&str> = input
        .moving()
        .filter(|(pin, _)| pin.form == Form::Chart)
        .filter_map(|(pin, _)| pin.chart.as_deref())
        .collect();
    let values: Vec<_> = input
        .staying()
        .filter(|(pin, _)| matches!(pin.kind, PinKind::HelmValues | PinKind::ArgoHelmParameter))
        .filter(|(_, reason)| !matches!(reason, Reason::NoEffect | Reason::OwnVersion | Reason::Alias))
        .collect();
    let stale = values.iter().filter(|(pin, _)| edge_of(pin).is_some_and(|at| at < to));
    let findings = stale
        .filter_map(|(pin, _)| {
            let chart = pin.chart.as_deref().filter(|chart| charts.contains(chart))?;
            let value = &pin.value;
            let reason = format!("`{value}` keeps images at that release under {chart} {}", to.chart());
            let mend = "remove the value, or let it move with the chart";
            Some(Finding::warn(NAME, reason).at_pin(pin).mend(mend))
        })
        .collect();
    Checked { looked_at: format!("{} that stay", count(values.len(), "value")), findings }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity::*, testing::*};

    fn value(chart: &'static str, at: &'static str, reason: Option<Reason>) -> Vec<Finding> {
        Case::default()
            .pins(|b| {
                let b = b.chart("cp.yaml", "linkerd-control-plane", "2026.8.2").value(
                    "values.yaml",
                    chart,
                    "linkerdVersion",
                    at,
                );
                match reason {
                    Some(reason) => b.stays(reason),
                    None => b,
                }
            })
            .check(NAME)
    }

    #[test]
    fn a_held_value_under_a_moving_chart_is_found() {
        let found = value("linkerd-control-plane", "edge-26.8.2", Some(Reason::Held));
        assert_eq!(severities(&found), [Warn]);
        assert!(found[0].reason.contains("under linkerd-control-plane 2026.8.3"), "{found:?}");
    }

    #[test]
    fn values_that_move_or_mean_nothing_are_quiet() {
        assert_eq!(value("linkerd-control-plane", "edge-26.8.2", None), []);
        assert_eq!(value("linkerd-control-plane", "edge-25.8.2", Some(Reason::NoEffect)), []);
        assert_eq!(value("linkerd-viz", "edge-26.8.2", Some(Reason::Held)), [], "its chart stays too");
    }
}

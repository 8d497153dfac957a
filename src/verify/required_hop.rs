//! Step 8, verify: no pin passes a release that it must stop at.
//!
//! In: the plan's moves. Out: a `block` for a jump that is too far, also for one that a suspended cluster would make once it
//! is resumed, and a line that says why an intermediate release comes first.

use super::{CheckId, Checked, Finding, Verification, count, listed};
use crate::{
    linkerd::{CONTROL_PLANE, CRDS, EdgeVersion, Knowledge},
    pins::{Pin, Reason, Stage},
    plan::steps_from,
};

pub(super) const ID: CheckId = CheckId::RequiredHop;

/// How many clusters one finding names before it counts the rest.
const NAMED: usize = 5;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let plan = input.plan;
    if plan.stage == Stage::DataPlane {
        let looked_at = "nothing: proxies have no required stops".to_owned();
        return Checked { looked_at, findings: Vec::new() };
    }
    let left = input.staying().filter(|(_, reason)| *reason == Reason::RequiredHop).map(|(pin, _)| pin);
    let too_far: Vec<&Pin> = input.moving().map(|(pin, _)| pin).chain(left).collect();
    let mut findings: Vec<Finding> = too_far.iter().filter_map(|pin| jump(input, pin)).collect();
    findings.extend(input.moving().filter_map(|(pin, _)| jump_of_suspended(input, pin)));
    if let Some((wanted, why)) = plan.hop_towards {
        let reason = format!("{} comes first on the way to {wanted}, because {why}", plan.to);
        let hint = format!("merge this and let it be applied; {wanted} is proposed after it");
        findings.push(Finding::warn(ID, reason).hint(hint));
    }
    let looked_at = format!("the steps of {} to {}", count(too_far.len(), "pin"), plan.to);
    Checked { looked_at, findings }
}

/// Words advice that leads somebody from one release to another: to the stop on the way first, where there is one.
pub(super) fn by_stop(
    knowledge: &Knowledge,
    (at, to): (Option<EdgeVersion>, EdgeVersion),
    advice: impl Fn(&str) -> String,
) -> String {
    let hop = at.and_then(|at| knowledge.hop(at, to));
    match hop.and_then(|hop| Some((hop.via.first()?, hop))) {
        Some((stop, hop)) => {
            let advice = advice(&format!("{stop} first and {to} after it"));
            format!("{advice}: {}; see {}", hop.why.text(), hop.source)
        }
        None => advice(&to.to_string()),
    }
}

/// Tells whether a stop is about what a pin is the version of: the definitions and their owner.
pub(super) fn is_about(pin: &Pin) -> bool {
    pin.is_of(CONTROL_PLANE) || pin.is_of(CRDS)
}

fn jump(input: &Verification<'_>, pin: &Pin) -> Option<Finding> {
    let to = input.plan.to;
    let hop = input.catalog.knowledge.hop(steps_from(pin)?, to)?;
    let stop = hop.via.first().map_or_else(|| "an intermediate release".to_owned(), ToString::to_string);
    let reason = format!("`{}` cannot go to {to} in one step: {}", pin.value, hop.why.text());
    Some(Finding::block(ID, reason).at_pin(pin).hint(format!("go to {stop} first; see {}", hop.source)))
}

/// Finds what leaves the stretch of a stop for suspended clusters too. They may run a release from before it: what is merged
/// while they are suspended they never ran.
fn jump_of_suspended(input: &Verification<'_>, pin: &Pin) -> Option<Finding> {
    let suspended = &input.inventory.facts.suspended;
    let names: Vec<String> = pin
        .installations
        .iter()
        .filter(|name| suspended.contains(*name))
        .map(|name| format!("`{name}`"))
        .collect();
    if names.is_empty() || !is_about(pin) {
        return None;
    }
    let (from, to) = (steps_from(pin)?, input.plan.to);
    let hop = input.catalog.knowledge.hops.iter().find(|hop| hop.has(from) && to >= hop.reaching)?;
    let reason = format!(
        "`{}` is the version of {} too, where what takes it is suspended and may never have run it: {}",
        pin.value,
        listed(names, NAMED),
        hop.why.text()
    );
    let hint = format!(
        "resume what is suspended and let it take {from}, or give it a version of its own; see {}",
        hop.source
    );
    Some(Finding::block(ID, reason).at_pin(pin).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::testing::edge,
        verify::{Severity::*, testing::*},
    };

    #[test]
    fn steps_inside_the_rules_pass() {
        let case = Case::default().pins(|b| b.chart("a.yaml", "linkerd-crds", "2026.8.2"));
        assert_eq!(case.check(ID), []);
        let hop = Case::default().to("edge-25.9.3").pins(|b| b.chart("a.yaml", "linkerd-crds", "2024.11.8"));
        assert_eq!(hop.check(ID), []);
    }

    #[test]
    fn a_pin_left_behind_a_stop_is_found() {
        let case = Case::default().pins(|b| {
            b.chart("a.yaml", "linkerd-crds", "2026.8.2").chart("b.yaml", "linkerd-crds", "2024.11.8")
        });
        let found = case.check(ID);
        assert_eq!(severities(&found), [Block]);
        assert!(found[0].reason.contains("Gateway API"), "{found:?}");
        assert_eq!(found[0].place.as_ref().unwrap().path.as_str(), "b.yaml");
    }

    #[test]
    fn a_stop_says_where_it_leads() {
        let case = Case::default()
            .to("edge-25.9.3")
            .pins(|b| b.chart("a.yaml", "linkerd-crds", "2024.11.8"))
            .change_plan(|plan| plan.hop_towards = Some((edge("edge-26.8.3"), "of a reason")));
        let found = case.check(ID);
        assert_eq!(severities(&found), [Warn]);
        assert!(found[0].reason.contains("on the way to edge-26.8.3, because of a reason"));
    }

    #[test]
    fn what_a_suspended_cluster_shares_waits_at_a_stop() {
        let of = |chart: &'static str, value: &'static str, suspended: &[&str]| {
            let case = Case::default().pins(|b| {
                let b = b.chart("a.yaml", chart, value).serves(&["a", "b"]);
                b.facts(|facts| facts.suspended = suspended.iter().map(|name| (*name).into()).collect())
            });
            severities(&case.check(ID))
        };
        let (plane, crds) = ("linkerd-control-plane", "linkerd-crds");
        assert_eq!((of(plane, "2025.7.6", &["b"]), of(crds, "2025.7.6", &["b"])), (vec![Block], vec![Block]));
        assert_eq!(of(plane, "2025.7.6", &[]), []);
        assert_eq!(of(plane, "2025.9.4", &["b"]), [], "the stop was passed before");
        assert_eq!(of("linkerd-viz", "2025.7.6", &["b"]), [], "a stop is about the CRDs");
    }

    #[test]
    fn proxies_have_no_stops() {
        let case = Case::default().data_plane().pins(|b| b.proxy("a.yaml", "edge-24.11.8"));
        assert_eq!(case.check(ID), []);
    }
}

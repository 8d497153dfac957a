//! Step 6, plan: which pins ask for required stops.
//!
//! In: an inventory with its installations, and what is known of stops. Out: a mark on each extension that asks for none. A
//! stop is about the definitions: where those of a cluster stand in this repository, or its control plane, they make the
//! stop, or have made it, and what is installed beside them has nothing to stop for. Where nothing here says what they are
//! at, an extension speaks for them.

use std::{collections::BTreeMap, sync::Arc};

use super::standing::{edge_of, obstructs, ought_to_move, steps_from};
use crate::{
    linkerd::{Hop, HopReason, Knowledge, Turn, turn},
    pins::{Form, Inventory, Pin, Reason},
};

/// Marks the extensions that ask for no stop.
pub(super) fn mark(inventory: &mut Inventory, knowledge: &Knowledge) {
    let mut speaks: BTreeMap<Arc<str>, bool> = BTreeMap::new();
    for pin in inventory.pins().filter(|pin| brings_definitions(pin) && is_run(pin)) {
        let own = speaks_for_itself(pin, knowledge);
        for name in pin.installations.iter() {
            *speaks.entry(name.clone()).or_insert(true) &= own;
        }
    }
    let asks_none = |pin: &Pin| {
        let mut all = pin.installations.iter();
        !pin.installations.is_empty()
            && is_extension(pin)
            && is_about_definitions(pin, knowledge)
            && all.all(|name| speaks.get(name) == Some(&true))
    };
    for pin in inventory.pins.iter_mut().filter(|pin| asks_none(pin)) {
        Arc::make_mut(pin).asks_no_stop = true;
    }
}

/// Tells whether a pin is the version of a chart that brings the definitions, or goes right behind them.
fn brings_definitions(pin: &Pin) -> bool {
    pin.readers().any(|reader| {
        let is_version = matches!(reader.form, Form::Chart | Form::Rendered);
        is_version && reader.chart.as_deref().is_some_and(is_owner)
    })
}

fn is_owner(chart: &str) -> bool {
    matches!(turn(chart), Turn::Crds | Turn::ControlPlane)
}

fn is_run(pin: &Pin) -> bool {
    !pin.is_off && !matches!(pin.stays, Some(Reason::NoEffect | Reason::NotDeployed))
}

/// Tells whether a pin that moves, or ought to, asks for its stops, or one that stays is past all of them.
fn speaks_for_itself(pin: &Pin, knowledge: &Knowledge) -> bool {
    let Some(at) = steps_from(pin) else { return false };
    let is_past = || knowledge.hops.iter().all(|hop| at >= hop.below);
    ought_to_move(pin)
        || pin.stays.is_some_and(|reason| (reason == Reason::Held || obstructs(reason)) && is_past())
}

fn is_extension(pin: &Pin) -> bool {
    pin.readers().all(|reader| reader.chart.as_deref().is_some_and(|chart| !is_owner(chart)))
}

/// Tells whether the stops before a pin are about the definitions: what an operator's is about nobody here knows.
fn is_about_definitions(pin: &Pin, knowledge: &Knowledge) -> bool {
    let is_before = |hop: &&Hop| edge_of(pin).is_some_and(|at| at < hop.below);
    knowledge.hops.iter().filter(is_before).all(|hop| hop.why == HopReason::GatewayApiOwnership)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        linkerd::{CONTROL_PLANE, CRDS, VIZ, built_in},
        pins::Stage,
        plan::{
            Options, Target, needs,
            testing::{Build, edge},
        },
    };

    fn with_viz(build: Build, knowledge: &Knowledge) -> Inventory {
        let mut inventory = build.chart("viz.yaml", VIZ, "2025.1.1").serves(&["a"]).inventory();
        mark(&mut inventory, knowledge);
        inventory
    }

    fn asks(build: Build) -> bool {
        let inventory = with_viz(build, built_in());
        inventory.pins().any(|pin| pin.is_of(VIZ) && steps_from(pin).is_some())
    }

    fn plane(at: &str, of: &str) -> Build {
        Build::default().chart("plane.yaml", CONTROL_PLANE, at).serves(&[of])
    }

    #[test]
    fn an_extension_asks_for_no_stop_that_its_cluster_has_made() {
        assert!(!asks(plane("2026.8.2", "a")));
        assert!(asks(Build::default()) && asks(plane("2026.8.2", "b")), "nothing here tells where it is");
        assert!(!asks(plane("2026.8.2", "a").stays(Reason::Held)));
        assert!(asks(plane("2025.1.1", "a").stays(Reason::Held)), "it has not made it");
        assert!(asks(plane("2026.8.2", "a").stays(Reason::Suspended)), "who knows what it runs");
        assert!(asks(plane("2026.8.2", "a").with(|pin| pin.is_off = true)));
        let old = plane("2026.8.2", "a").chart("crds.yaml", CRDS, "2025.1.1").serves(&["a"]);
        assert!(asks(old.stays(Reason::Held)), "none of the two may be behind");
        let nobodys = Build::default().chart("plane.yaml", CONTROL_PLANE, "2026.8.2");
        assert!(asks(nobodys), "it may be of another cluster");
    }

    #[test]
    fn an_extension_goes_by_the_stop_of_its_definitions() {
        let behind = plane("2026.8.2", "b").chart("crds.yaml", CRDS, "2025.2.3").serves(&["a"]);
        let inventory = with_viz(behind, built_in());
        let all = needs(&inventory, &Target::default_all(), Stage::Platform, &Options::default());
        assert_eq!((all.lowest, all.steps_from), (Some(edge("edge-25.1.1")), Some(edge("edge-25.2.3"))));
    }

    #[test]
    fn a_stop_of_the_operator_s_is_an_extension_s_too() {
        let mut knowledge = built_in().clone();
        for hop in &mut knowledge.hops {
            hop.why = HopReason::Operator;
        }
        let inventory = with_viz(plane("2026.8.2", "a"), &knowledge);
        assert!(inventory.pins().filter(|pin| pin.is_of(VIZ)).all(|pin| steps_from(pin).is_some()));
    }
}

//! Step 8, verify: what a change leaves apart in one installation, since it lies in another target or in none.
//!
//! In: the plan's moves and all pins of the installations that they serve. Out: a `block` where a control plane would go ahead
//! of its CRDs, or images ahead of their chart; a `warn` where CRDs are held, or a value keeps images old. What the plan
//! itself leaves behind is the business of the checks that look at its stays.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use super::{CheckId, Finding, Verification};
use crate::{
    linkerd::{CRDS, EdgeVersion, is_control_plane},
    pins::{Form, Pin, Reason, Stage},
    plan::edge_of,
};

const ID: CheckId = CheckId::VersionAgreement;
const TOGETHER: &str = "let one target have both files, or give each installation a text of its own";

/// The pins of one installation, and what becomes of them.
struct Installation<'a> {
    name: &'a str,
    to: EdgeVersion,
    pins: Vec<&'a Pin>,
    moving: &'a HashSet<*const Pin>,
}

/// Finds what would be apart in the installations of the moving pins.
pub(super) fn apart(input: &Verification<'_>) -> Vec<Finding> {
    if input.plan.stage != Stage::Platform || input.plan.undoes.is_some() {
        return Vec::new();
    }
    let moving: HashSet<*const Pin> = input.plan.moves.iter().map(|moved| Arc::as_ptr(&moved.pin)).collect();
    let names: BTreeSet<&Arc<str>> = input.moving().flat_map(|(pin, _)| pin.installations.iter()).collect();
    let mut found = Vec::new();
    for name in names {
        let mine = |pin: &&Pin| pin.installations.contains(name) && is_told(pin);
        let pins: Vec<&Pin> = input.inventory.pins().filter(mine).collect();
        let installation = Installation { name, to: input.plan.to, pins, moving: &moving };
        found.extend(installation.planes(input));
        found.extend(installation.images());
    }
    found
}

/// Tells whether a pin says which release something runs.
fn is_told(pin: &Pin) -> bool {
    pin.stage == Stage::Platform
        && matches!(pin.stays, None | Some(Reason::Held | Reason::Shared | Reason::UpToDate))
}

fn fixes(pin: &Pin, is_of: impl Fn(&str) -> bool) -> bool {
    let is_version = |form| matches!(form, Form::Chart | Form::Rendered);
    pin.readers().any(|reader| is_version(reader.form) && reader.chart.as_deref().is_some_and(&is_of))
}

// === impl Installation ===

impl Installation<'_> {
    fn moves(&self, pin: &Pin) -> bool {
        self.moving.contains(&std::ptr::from_ref(pin))
    }

    /// Returns the release of a pin that stays behind.
    fn behind(&self, pin: &Pin) -> Option<EdgeVersion> {
        edge_of(pin).filter(|at| !self.moves(pin) && *at < self.to)
    }

    /// Says of a control plane that moves that its CRDs do not.
    fn planes(&self, input: &Verification<'_>) -> Option<Finding> {
        let crds: Vec<&Pin> =
            self.pins.iter().copied().filter(|pin| fixes(pin, |chart| chart == CRDS)).collect();
        // One that arrives is enough: which of several counts is not always known.
        let first = crds.first().filter(|_| crds.iter().all(|pin| self.behind(pin).is_some()))?;
        self.pins.iter().find(|pin| self.moves(pin) && fixes(pin, is_control_plane))?;
        let (name, to, at) = (self.name, self.to, self.behind(first)?);
        let ahead =
            format!("the control plane of `{name}` would go to {to} ahead of its CRDs, which stay at {at}");
        Some(match first.stays {
            Some(Reason::Held) => Finding::warn(ID, format!("{ahead} by a comment"))
                .at_pin(first)
                .hint("apply the CRDs of the release by hand, or hold the control plane too"),
            Some(_) if input.target.has(first) => return None,
            _ => Finding::block(ID, format!("{ahead} in another target, or in none"))
                .at_pin(first)
                .hint(TOGETHER),
        })
    }

    /// Says of images that move that their chart does not, and of a chart that moves that its images do not.
    fn images(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        for pin in self.pins.iter().copied().filter(|pin| pin.stays.is_none()) {
            for chart in
                pin.readers().filter(|reader| reader.form == Form::Edge).filter_map(|reader| reader.chart)
            {
                let fixing = || self.pins.iter().copied().filter(|other| fixes(other, |name| name == chart));
                let ends = fixing().all(|other| self.behind(other).is_some());
                let (name, value) = (self.name, &pin.value);
                if let Some(at) =
                    fixing().find_map(|other| self.behind(other)).filter(|_| ends && self.moves(pin))
                {
                    let reason = format!(
                        "`{value}` chooses images of `{name}` ahead of its {chart}, which stays at {at} in another target, or in none"
                    );
                    found.push(Finding::block(ID, reason).at_pin(pin).hint(TOGETHER));
                } else if self.behind(pin).is_some() && fixing().any(|other| self.moves(other)) {
                    let reason = format!(
                        "`{value}` keeps images of `{name}` at that release under {chart} {}: it is in another target, or in none",
                        self.to.chart()
                    );
                    found.push(Finding::warn(ID, reason).at_pin(pin).hint(TOGETHER));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        pins::Reason,
        plan::testing::Build,
        verify::{CheckId, testing::*},
    };

    const PLANE: &str = "linkerd-control-plane";

    /// What a change of the files below `own` leaves apart, with what lies elsewhere.
    fn told(build: impl FnOnce(Build) -> Build) -> Vec<String> {
        let case = Case::default().target(&["own"]).pins(build);
        case.check(CheckId::VersionAgreement)
            .into_iter()
            .map(|found| format!("{:?}: {}", found.severity, found.reason))
            .collect()
    }

    fn plane(build: Build, file: &str, names: &[&str]) -> Build {
        build.chart(file, PLANE, "2026.8.2").serves(names)
    }

    #[test]
    fn a_control_plane_does_not_go_ahead_of_crds_of_another_target() {
        let crds = |file: &'static str, version: &'static str| {
            told(|b| plane(b, "own/cp.yaml", &["a"]).chart(file, "linkerd-crds", version).serves(&["a", "b"]))
        };
        assert_eq!(
            crds("base/crds.yaml", "2026.8.2"),
            [
                "Block: the control plane of `a` would go to edge-26.8.3 ahead of its CRDs, which stay at edge-26.8.2 in another \
              target, or in none"
            ]
        );
        assert_eq!(crds("own/crds.yaml", "2026.8.2"), [""; 0], "they go with it");
        assert_eq!(crds("base/crds.yaml", "2026.8.3"), [""; 0], "they are there");
        let other = told(|b| {
            plane(b, "own/cp.yaml", &["a"]).chart("b.yaml", "linkerd-crds", "2026.8.2").serves(&["b"])
        });
        assert_eq!(other, [""; 0], "those of another installation");
        let held = told(|b| {
            let crds = plane(b, "own/cp.yaml", &["a"])
                .chart("own/crds.yaml", "linkerd-crds", "2026.8.2")
                .serves(&["a"]);
            crds.stays(Reason::Held)
        });
        assert_eq!(held.len(), 2);
        assert!(
            held[0].starts_with("Warn: ") && held[0].ends_with("stay at edge-26.8.2 by a comment"),
            "{held:?}"
        );
    }

    #[test]
    fn images_go_with_the_charts_of_all_that_they_serve() {
        let tag = |build: Build, file: &str, names: &[&str]| {
            build.value(file, PLANE, "proxy.image.version", "edge-26.8.2").serves(names)
        };
        let ahead = told(|b| {
            tag(plane(plane(b, "own/a.yaml", &["a"]), "b/b.yaml", &["b"]), "own/base.yaml", &["a", "b"])
        });
        assert_eq!(
            ahead,
            [
                "Block: `edge-26.8.2` chooses images of `b` ahead of its linkerd-control-plane, which stays at edge-26.8.2 in another \
              target, or in none"
            ]
        );
        let old = told(|b| tag(plane(b, "own/a.yaml", &["a"]), "base.yaml", &["a"]));
        assert_eq!(
            old,
            [
                "Warn: `edge-26.8.2` keeps images of `a` at that release under linkerd-control-plane 2026.8.3: it is in another \
              target, or in none"
            ]
        );
        assert_eq!(told(|b| tag(plane(b, "own/a.yaml", &["a"]), "own/base.yaml", &["a"])), [""; 0]);
    }
}

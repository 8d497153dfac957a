//! Step 8, verify: control plane and proxies stay within what Linkerd supports.
//!
//! In: the pins after the change. Out: proxies more than one milestone behind their control plane, or ahead of it:
//! `block` where this change brings it about, `warn` where it was so before. Only what is certain is said: where
//! control planes differ, a proxy is behind if it is behind the oldest and ahead if it is ahead of the newest. Proxies
//! without a pin stay what they are until their pods start anew: a control plane that leaps over a milestone is a `warn`.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem::discriminant,
    sync::Arc,
};

use super::{CheckId, Checked, Finding, Severity, Verification, count, listed};
use crate::{
    linkerd::{CONTROL_PLANE, EdgeVersion, Knowledge},
    pins::{Inventory, Pin, PinKind, Reason, Stage},
    plan::{ControlPlane, ControlPlanes, Target, deployed_at},
    release::{Guidance, Release},
    repo::RepoPath,
};

pub(super) const ID: CheckId = CheckId::Skew;

/// How many lines one finding names before it counts the rest.
const NAMED: usize = 5;

/// A proxy pin that does not go with its control plane.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault<'p> {
    /// Newer than the control plane.
    Ahead,
    /// Newer than the control plane of an installation that it serves too: its release, and its name.
    AheadOf(EdgeVersion, &'p str),
    /// Older by more than one milestone.
    Behind,
}

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let after = input.projected();
    let was = faults(input, input.inventory);
    let faults = faults(input, &after);
    let findings = faults.iter().map(|(place, (fault, pin))| {
        let known = was.get(place).is_some_and(|(old, _)| discriminant(old) == discriminant(fault));
        let plane = input.control_plane_in(&after);
        finding(plane, *fault, pin, if known { Severity::Warn } else { Severity::Block })
    });
    let findings = findings.chain(leap(input, &after)).chain(together(input, &after)).chain(untold(input));
    let findings = findings.chain(suspended(input));
    let proxies = proxies(&after, input.target).count();
    let looked_at = match input.control_plane_in(&after) {
        ControlPlane::Unknown => "nothing: the control plane's release is not known".to_owned(),
        _ => format!("{} against the control plane", count(proxies, "proxy pin")),
    };
    Checked { looked_at, findings: findings.collect() }
}

/// Says that nobody knows whether the control plane is there, where the proxies go to a release that was asked for.
fn untold(input: &Verification<'_>) -> Option<Finding> {
    let unknown = input.control_plane_in(input.inventory) == ControlPlane::Unknown;
    if !unknown || input.plan.stage != Stage::DataPlane || input.plan.undoes.is_some() {
        return None;
    }
    let to = input.plan.to;
    let reason = format!(
        "nothing here says which release the control plane runs: it must be at {to} before its proxies are"
    );
    Some(
        Finding::warn(ID, reason)
            .hint("look at the cluster first, or name the release in `dataPlane.controlPlane`"),
    )
}

/// Says that proxies which run now fall behind, where the control plane leaps over a whole milestone.
fn leap(input: &Verification<'_>, after: &Inventory) -> Option<Finding> {
    let known = &input.catalog.knowledge;
    let (from, _) = ends(input.control_plane_in(input.inventory))?;
    let (_, to) = ends(input.control_plane_in(after))?;
    let (old, new) = (milestone(known, from), milestone(known, to));
    if input.plan.stage == Stage::DataPlane || to != input.plan.to || new <= old + 1 {
        return None;
    }
    let name = |at: usize| at.checked_sub(1).and_then(|n| known.milestones.get(n)).map(|m| m.name.as_str());
    let old_name = name(old).unwrap_or("an older milestone");
    let reason = format!(
        "the control plane goes from {old_name} to {}, and proxies keep {old_name} until their pods start anew: more than \
         one milestone between them is not supported",
        name(new)?
    );
    let hint = format!("stop at {} (`--to`) and restart the meshed pods there first", stop(input, old)?);
    let first = input.moving().map(|(pin, _)| pin).find(|pin| pin.is_of(CONTROL_PLANE));
    let finding = Finding::warn(ID, reason).hint(hint);
    Some(match first {
        Some(pin) => finding.at_pin(pin),
        None => finding,
    })
}

/// Says of what proxies read too that they go with the platform: they may start anew before their control plane has, and are
/// ahead of one that does not go there.
fn together(input: &Verification<'_>, after: &Inventory) -> Vec<Finding> {
    let to = input.plan.to;
    let is_going = input.plan.undoes.is_none();
    let (_, newest) = ends(input.control_plane_in(after)).unwrap_or((to, to));
    let (severity, why) = match newest < to && is_going {
        true => (Severity::Block, format!("and the control plane stays at {newest}")),
        false => (Severity::Warn, "not once the control plane runs it".to_owned()),
    };
    let said = |pin: &Pin| {
        let lines = pin.of_proxies()?;
        let reason = format!(
            "`{}` is the version of proxies too ({}): they go to {to} with this change, {why}",
            pin.value,
            listed(lines.iter().map(|(path, line)| format!("{path}:{line}")), NAMED),
        );
        let hint = "write the version of proxies where nothing else reads it; they follow in a pull request of their own then";
        Some(Finding::new(ID, severity, reason).at_pin(pin).hint(hint))
    };
    input.moving().filter_map(|(pin, _)| said(pin)).collect()
}

/// Says of control planes that others move with what they read that they take it later.
fn suspended<'i>(input: &'i Verification<'_>) -> impl Iterator<Item = Finding> + 'i {
    let suspended = &input.inventory.facts.suspended;
    let planes = input.moving().map(|(pin, _)| pin).filter(|pin| pin.is_of(CONTROL_PLANE));
    let told: BTreeMap<&Arc<str>, &Pin> = planes
        .flat_map(|pin| pin.installations.iter().map(move |name| (name, pin)))
        .filter(|(name, _)| suspended.contains(*name))
        .collect();
    let to = input.plan.to;
    let is_stop = input.catalog.knowledge.hops.iter().any(|hop| hop.has(to));
    let hint = match is_stop {
        true => format!("resume it before a change goes beyond {to}, or give it a version of its own"),
        false => "resume it, or give it a version of its own".to_owned(),
    };
    told.into_iter().map(move |(name, pin)| {
        let reason = format!(
            "the control plane of `{name}` is suspended: it takes this once it is resumed, and its proxies wait until then"
        );
        Finding::warn(ID, reason).at_pin(pin).hint(hint.clone())
    })
}

fn ends(control_plane: ControlPlane) -> Option<(EdgeVersion, EdgeVersion)> {
    match control_plane {
        ControlPlane::Known(version) => Some((version, version)),
        ControlPlane::Mixed { lowest, highest } => Some((lowest, highest)),
        ControlPlane::Unknown => None,
    }
}

/// Returns where to stop on the way: the newest release of the next milestone that nothing was said against, else its first.
fn stop(input: &Verification<'_>, old: usize) -> Option<EdgeVersion> {
    let milestones = &input.catalog.knowledge.milestones;
    let first = milestones.get(old)?.first;
    let end = milestones.get(old + 1)?.first;
    let good = |release: &Release| {
        !release.charts.is_empty()
            && matches!(release.guidance, Guidance::Recommended { .. } | Guidance::Unknown)
    };
    let between = input.catalog.releases.range(first..end).rev();
    Some(between.filter(|(_, release)| good(release)).map(|(version, _)| *version).next().unwrap_or(first))
}

type Faults<'p> = BTreeMap<(&'p RepoPath, usize, usize), (Fault<'p>, &'p Pin)>;

fn faults<'p>(input: &Verification<'_>, inventory: &'p Inventory) -> Faults<'p> {
    let plane = input.control_plane_in(inventory);
    let faults = faults_of(inventory, input.target, plane, &input.catalog.knowledge);
    let faults = faults.chain(faults_beside(input, inventory));
    faults.map(|(fault, pin)| ((&pin.path, pin.site.line, pin.site.column), (fault, pin))).collect()
}

/// Finds the proxy pins of other targets that do not go with a control plane which moves here, and that they are run beside.
fn faults_beside<'p>(
    input: &Verification<'_>,
    inventory: &'p Inventory,
) -> impl Iterator<Item = (Fault<'p>, &'p Pin)> {
    let planes = ControlPlanes::now(inventory, input.target);
    let knowledge = &input.catalog.knowledge;
    let moving = input.moving().map(|(pin, _)| pin).filter(|pin| pin.is_of(CONTROL_PLANE));
    let moved: BTreeSet<Arc<str>> = moving.flat_map(|pin| pin.installations.iter().cloned()).collect();
    let beside = |pin: &&'p Pin| {
        pin.stage == Stage::DataPlane
            && !input.target.has_proxy(pin)
            && pin.installations.iter().any(|name| moved.contains(name))
    };
    let fault = |pin: &'p Pin, version| match planes.outrun(pin, version) {
        Some((newest, name)) => Some(Fault::AheadOf(newest, name)),
        None => {
            let oldest = planes.ceiling(std::iter::once(pin), None)?;
            is_behind(knowledge, version, oldest).then_some(Fault::Behind)
        }
    };
    let found = told(inventory.pins().filter(beside));
    found.filter_map(|(pin, version)| Some((fault(pin, version)?, pin))).collect::<Vec<_>>().into_iter()
}

/// Finds the proxy pins of a target that do not go with a control plane.
pub(super) fn faults_of<'p, 'i>(
    inventory: &'p Inventory,
    target: &'i Target,
    plane: ControlPlane,
    knowledge: &'i Knowledge,
) -> impl Iterator<Item = (Fault<'p>, &'p Pin)> + use<'p, 'i> {
    let planes = ControlPlanes::now(inventory, target);
    let fault = move |pin: &'p Pin, version: EdgeVersion| {
        let (lowest, highest) = ends(plane)?;
        if version > highest {
            Some(Fault::Ahead)
        } else if let Some((newest, name)) = planes.outrun(pin, version) {
            Some(Fault::AheadOf(newest, name))
        } else if is_behind(knowledge, version, lowest) {
            Some(Fault::Behind)
        } else {
            None
        }
    };
    proxies(inventory, target).filter_map(move |(pin, version)| Some((fault(pin, version)?, pin)))
}

/// Returns the proxy pins of a target that mean something, with their releases.
pub fn proxies<'p, 'i>(
    inventory: &'p Inventory,
    target: &'i Target,
) -> impl Iterator<Item = (&'p Pin, EdgeVersion)> + use<'p, 'i> {
    told(inventory.pins().filter(|pin| target.has_proxy(pin)))
}

fn told<'p>(pins: impl Iterator<Item = &'p Pin>) -> impl Iterator<Item = (&'p Pin, EdgeVersion)> {
    let unmeshed = |pin: &Pin| {
        matches!(pin.stays, Some(Reason::OptedOut | Reason::NoEffect | Reason::OwnVersion | Reason::Channel))
    };
    // An image that nobody injected is some other part of Linkerd.
    let other = |pin: &Pin| {
        pin.kind == PinKind::Image && matches!(pin.stays, Some(Reason::NotFollowed | Reason::RetiredChart))
    };
    pins.filter(move |p| !unmeshed(p) && !other(p)).filter_map(|p| Some((p, deployed_at(p)?)))
}

/// Tells whether proxies are more than one milestone behind a control plane.
fn is_behind(knowledge: &Knowledge, proxies: EdgeVersion, control_plane: EdgeVersion) -> bool {
    milestone(knowledge, control_plane) > milestone(knowledge, proxies) + 1
}

/// Numbers the milestones from 1; what is older than all of them is 0.
fn milestone(knowledge: &Knowledge, version: EdgeVersion) -> usize {
    knowledge.milestones.iter().filter(|m| m.first <= version).count()
}

pub(super) fn finding(plane: ControlPlane, fault: Fault<'_>, pin: &Pin, severity: Severity) -> Finding {
    let value = &pin.value;
    let control_plane = match (plane, fault) {
        (ControlPlane::Mixed { highest, .. }, Fault::Ahead) => highest.to_string(),
        (other, _) => other.ceiling().map_or_else(String::new, |version| version.to_string()),
    };
    let (reason, hint) = match fault {
        Fault::Ahead => (
            format!("the proxy pin `{value}` is ahead of the control plane, {control_plane}"),
            "let the control plane reach this release first",
        ),
        Fault::AheadOf(newest, installation) => (
            format!("the proxy pin `{value}` is ahead of the control plane of `{installation}`, {newest}"),
            "let that control plane reach this release first, or give its proxies a version of their own",
        ),
        Fault::Behind => (
            format!(
                "the proxy pin `{value}` is more than one milestone behind the control plane, {control_plane}"
            ),
            "move this proxy first, or take the control plane there in steps of one milestone with `--to`",
        ),
    };
    Finding::new(ID, severity, reason).at_pin(pin).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::testing::Build,
        verify::{Severity::*, testing::*},
    };

    const CP: &str = "linkerd-control-plane";

    #[test]
    fn a_control_plane_that_is_suspended_takes_later_what_others_move_with_it() {
        let at = |value: &'static str, to: &'static str, suspended: &[&str]| {
            let case = Case::default().to(to).pins(|b| {
                let b = b.chart("cp.yaml", CP, value).serves(&["a", "b"]);
                b.facts(|facts| facts.suspended = suspended.iter().map(|name| (*name).into()).collect())
            });
            let found = case.check(ID);
            let told = |found: &Finding| (found.severity, found.reason.clone(), found.hint.clone());
            found.iter().map(told).collect::<Vec<_>>()
        };
        let of = |suspended: &[&str]| at("2026.8.2", "edge-26.8.3", suspended);
        assert!(of(&[]).is_empty());
        let found = of(&["b"]);
        let [(Warn, reason, _)] = found.as_slice() else { panic!("one warning") };
        assert!(reason.starts_with("the control plane of `b` is suspended"), "{reason}");
        let found = at("2025.2.3", "edge-25.7.6", &["b"]);
        let [(Warn, _, Some(hint))] = found.as_slice() else { panic!("one warning") };
        assert!(hint.starts_with("resume it before a change goes beyond edge-25.7.6"), "{hint}");
    }

    fn platform(chart: &'static str, proxy: &'static str) -> Vec<Finding> {
        Case::default().pins(|b| b.chart("cp.yaml", CP, chart).proxy("ns.yaml", proxy)).check(ID)
    }

    #[test]
    fn one_milestone_apart_is_supported() {
        assert_eq!(platform("2026.8.2", "edge-26.8.2"), []);
        assert_eq!(platform("2026.8.2", "edge-26.1.1"), [], "2.19 under 2.20");
    }

    #[test]
    fn two_milestones_apart_block_if_this_change_does_it() {
        let found = platform("2026.6.2", "edge-25.4.4");
        assert_eq!(severities(&found), [Block], "from 2.19 to 2.20 with proxies of 2.18");
        assert_eq!(severities(&platform("2026.8.2", "edge-25.4.4")), [Warn], "it was so before");
    }

    #[test]
    fn what_nothing_runs_is_no_proxy() {
        let off = |pin: &mut Pin| pin.is_off = true;
        let debug = |b: Build| b.chart("cp.yaml", CP, "2026.6.2").proxy("ns.yaml", "edge-25.4.4").with(off);
        assert_eq!(Case::default().pins(debug).check(ID), []);
    }

    #[test]
    fn proxies_ahead_are_found() {
        assert_eq!(severities(&platform("2026.8.2", "edge-26.9.1")), [Warn]);
    }

    #[test]
    fn a_data_plane_that_catches_up_passes() {
        let case = Case::default()
            .data_plane()
            .pins(|b| b.chart("cp.yaml", CP, "2026.8.3").proxy("ns.yaml", "edge-26.8.2"));
        assert_eq!(case.check(ID), []);
    }

    #[test]
    fn a_leap_over_a_milestone_leaves_running_proxies_behind() {
        let alone = |chart: &'static str| Case::default().pins(|b| b.chart("cp.yaml", CP, chart)).check(ID);
        let found = alone("2025.8.3");
        assert_eq!(severities(&found), [Warn], "2.18 to 2.20");
        assert!(
            found[0].reason.starts_with("the control plane goes from 2.18 to 2.20, and proxies keep 2.18")
        );
        assert!(found[0].hint.as_ref().unwrap().starts_with("stop at edge-25.10.7 (`--to`)"), "{found:?}");
        assert_eq!(alone("2026.6.2"), [], "2.19 to 2.20");
        let crds = Case::default().pins(|b| b.chart("crds.yaml", "linkerd-crds", "2025.8.3"));
        assert_eq!(crds.check(ID), [], "no control plane moves");
    }

    #[test]
    fn proxies_of_an_unknown_control_plane_are_for_a_person_to_look_at() {
        let unknown = |b: Build| b.proxy("ns.yaml", "edge-26.8.2");
        let found = Case::default().data_plane().pins(unknown).check(ID);
        assert_eq!(severities(&found), [Warn]);
        assert!(found[0].reason.ends_with("it must be at edge-26.8.3 before its proxies are"), "{found:?}");
        let back = Case::default().data_plane().pins(unknown).undoing("2026.8.3");
        assert_eq!(back.check(ID), [], "it ran that before");
        assert_eq!(
            Case::default().pins(|b| unknown(b).chart("crds.yaml", "linkerd-crds", "2026.8.2")).check(ID),
            []
        );
    }

    #[test]
    fn proxies_that_two_installations_run_suit_both() {
        let both = |b: Build, proxy| {
            let b = b
                .chart("a.yaml", CP, "2026.8.3")
                .serves(&["a"])
                .chart("b.yaml", CP, "2026.8.2")
                .serves(&["b"]);
            b.stays(Reason::Held)
                .proxy("ns.yaml", proxy)
                .serves(&["a", "b"])
                .proxy("own.yaml", "edge-26.8.2")
                .serves(&["a"])
        };
        let found = Case::default().data_plane().pins(|b| both(b, "edge-26.8.3")).check(ID);
        assert_eq!(severities(&found), [Warn], "it was so before");
        let reason = "the proxy pin `edge-26.8.3` is ahead of the control plane of `b`, edge-26.8.2";
        assert_eq!(found[0].reason, reason);
        assert_eq!(Case::default().data_plane().pins(|b| both(b, "edge-26.8.2")).check(ID), []);
    }

    #[test]
    fn proxies_of_another_target_go_with_the_control_plane_that_moves_here() {
        let shared = |proxy, cluster: &'static str| {
            let case = Case::default().target(&["own"]);
            let found = case.pins(|b| {
                let b = b.chart("own/cp.yaml", CP, "2026.6.2").serves(&["a"]);
                b.proxy("shared/ns.yaml", proxy).serves(&[cluster])
            });
            severities(&found.check(ID))
        };
        assert_eq!(shared("edge-25.4.4", "a"), [Block], "from 2.19 to 2.20 with proxies of 2.18");
        assert_eq!(shared("edge-26.9.1", "a"), [Warn], "it was so before");
        assert_eq!((shared("edge-26.6.2", "a"), shared("edge-25.4.4", "b")), (vec![], vec![]));
    }

    #[test]
    fn other_images_of_linkerd_are_no_proxies() {
        let image = |reason| {
            let case = Case::default().pins(|b| {
                b.chart("cp.yaml", CP, "2026.8.2")
                    .proxy("web.yaml", "edge-25.1.1")
                    .with(|pin| pin.kind = PinKind::Image)
                    .stays(reason)
            });
            severities(&case.check(ID))
        };
        assert_eq!(image(Reason::NotFollowed), []);
        assert_eq!(image(Reason::ManualInjection), [Warn]);
    }

    #[test]
    fn what_cannot_be_told_is_not_said() {
        let opted_out = Case::default().pins(|b| {
            b.chart("cp.yaml", CP, "2026.6.2").proxy("ns.yaml", "edge-24.4.4").stays(Reason::OptedOut)
        });
        assert_eq!(opted_out.check(ID), []);
        let mixed = Case::default().data_plane().pins(|b| {
            b.chart("prod.yaml", CP, "2026.8.3")
                .chart("lab.yaml", CP, "2026.9.1")
                .proxy("ns.yaml", "edge-26.8.2")
        });
        assert_eq!(mixed.check(ID), []);
    }

    #[test]
    fn what_proxies_read_too_goes_with_the_platform_and_is_said() {
        let values = |b: Build| {
            let b = b.chart("cp.yaml", CP, "2026.8.2").value("vars.yaml", CP, "tag", "edge-26.8.2");
            b.read_by(None, "ns.yaml").read_by(Some("linkerd-viz"), "viz.yaml")
        };
        let found = Case::default().pins(values).check(ID);
        assert_eq!(severities(&found), [Warn]);
        let said = "`edge-26.8.2` is the version of proxies too (ns.yaml:7): they go to edge-26.8.3 with this change";
        assert!(found[0].reason.starts_with(said), "{found:?}");
        let held = Case::default().pins(|b| values(b).stays(Reason::Held)).check(ID);
        assert_eq!(held, []);
        let kept = |b: Build| {
            let b = b.chart("cp.yaml", CP, "2026.8.2").stays(Reason::Held);
            b.value("vars.yaml", "linkerd-crds", "tag", "edge-26.8.2").read_by(None, "ns.yaml")
        };
        let found = Case::default().pins(kept).check(ID);
        assert_eq!(severities(&found), [Block], "the control plane is held");
        assert!(found[0].reason.ends_with("and the control plane stays at edge-26.8.2"), "{found:?}");
    }
}

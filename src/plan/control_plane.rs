//! Step 6, plan: which release the control plane runs, as far as the repository shows.
//!
//! In: the inventory, a target, the configured release. Out: a [`ControlPlane`], and the releases of those of single
//! installations. Proxies must never be ahead of their control plane, so where pins disagree the oldest is the safe one.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Constraint, Target, edge_of, standing::is_locked_to};
use crate::{
    linkerd::{CONTROL_PLANE as CHART, EdgeVersion, is_control_plane},
    pins::{Form, Inventory, Pin, PinKind, Reader, Reason, Stage},
    policy::Waits,
};

/// The installation of what is in none.
const NAMELESS: &str = "";

/// The release of the control plane that a target's proxies talk to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlPlane {
    /// All pins, or the configuration, name this release.
    Known(EdgeVersion),
    /// Pins name different releases.
    Mixed {
        /// The oldest of them.
        lowest: EdgeVersion,
        /// The newest of them.
        highest: EdgeVersion,
    },
    /// Neither the repository nor the configuration tells.
    Unknown,
}

/// What is known of the control planes that the proxies of a target run beside. What is deployed in several clusters has to
/// suit the one that is furthest behind.
#[derive(Debug, Default)]
pub struct ControlPlanes {
    /// By installation; those of the target that are in none have no name.
    of: BTreeMap<Arc<str>, Plane>,
    /// Those that are switched off, by installation.
    off: BTreeMap<Arc<str>, Plane>,
    /// The oldest release of the whole repository.
    oldest: Option<EdgeVersion>,
    /// The release that the configuration names.
    configured: Option<EdgeVersion>,
}

/// What the pins of one control plane say.
#[derive(Debug, Default)]
struct Plane {
    /// The oldest and the newest release that they name.
    ends: Option<(EdgeVersion, EdgeVersion)>,
    /// Ranges from which it takes what is newest.
    ranges: Vec<Constraint>,
    /// Whether it is on another channel, or whatever a digest is.
    is_elsewhere: bool,
    /// Whether the repository has its version as code alone, which is not evaluated here.
    is_untold: bool,
    /// Whether a value or a tag chooses what its controllers run, whatever its version is.
    is_chosen: bool,
    /// Whether it stays as it is, whatever its pins say.
    is_suspended: bool,
    /// Whether it is among the files of the target, whichever part of them the target has.
    is_near: bool,
}

// === impl ControlPlane ===

impl ControlPlane {
    /// Returns the newest release that proxies may go to; `None` where that cannot be told.
    pub fn ceiling(self) -> Option<EdgeVersion> {
        match self {
            Self::Known(version) => Some(version),
            Self::Mixed { lowest, .. } => Some(lowest),
            Self::Unknown => None,
        }
    }
}

// === impl ControlPlanes ===

impl ControlPlanes {
    /// Reads them from a repository as it is.
    pub fn now(inventory: &Inventory, target: &Target) -> Self {
        Self::new(inventory.pins().map(|pin| (pin, edge_of(pin))), target, &inventory.facts.suspended)
    }

    /// Reads them from pins, with the release that each names; those of `suspended` installations stay as they are.
    pub(super) fn new<'p>(
        pins: impl Iterator<Item = (&'p Pin, Option<EdgeVersion>)>,
        target: &Target,
        suspended: &BTreeSet<Arc<str>>,
    ) -> Self {
        let mut planes = Self::default();
        for (pin, version) in pins {
            let version = version.filter(|_| names_its_release(pin));
            if pin.is_off {
                for name in pin.installations.iter().filter(|_| version.is_some()) {
                    planes.off.entry(name.clone()).or_default().take(pin, version);
                }
                continue;
            }
            if version.is_none() && !goes_its_own_way(pin) {
                continue;
            }
            planes.oldest = planes.oldest.into_iter().chain(version).min();
            let unnamed = [NAMELESS.into()];
            let names = match &*pin.installations {
                [] if target.whole_has(pin) => &unnamed[..],
                names => names,
            };
            for name in names.iter().filter(|name| !is_beside_live(pin, name, suspended)) {
                let plane = planes.of.entry(name.clone()).or_default();
                plane.take(pin, version);
                plane.is_suspended |= suspended.contains(name);
                plane.is_near |= target.spans(&pin.path);
            }
        }
        planes
    }

    /// Takes the release that is configured for that of those of which the repository has code alone.
    pub(super) fn with_configured(self, configured: Option<EdgeVersion>) -> Self {
        Self { configured, ..self }
    }

    /// Returns the oldest release that proxies have to suit: of those whom they serve, else as configured, else of all.
    pub fn ceiling<'p>(
        &self,
        proxies: impl Iterator<Item = &'p Pin>,
        configured: Option<EdgeVersion>,
    ) -> Option<EdgeVersion> {
        let served: BTreeSet<&Arc<str>> = proxies.flat_map(|pin| pin.installations.iter()).collect();
        let oldest = served.iter().filter_map(|name| Some(self.of.get(*name)?.ends?.0)).min();
        oldest.or(configured).or(self.oldest.filter(|_| served.is_empty()))
    }

    /// Returns, of the control planes that a proxy pin runs beside, the one that is furthest behind a release.
    pub(super) fn behind(&self, proxy: &Pin, to: EdgeVersion) -> Option<Waits> {
        let name = |name: &str| Some(name.to_owned()).filter(|name| name != NAMELESS);
        let behind = self.beside(proxy).filter_map(|(installation, plane)| {
            let is_suspended = plane.is_suspended;
            let oldest = plane.ends.map(|(oldest, _)| oldest);
            // What it runs in one outcome says nothing of another.
            let told = match plane.is_untold && !plane.is_chosen {
                true => self.configured.map(|named| oldest.map_or(named, |oldest| oldest.min(named))),
                false => oldest,
            };
            let running = told.filter(|_| !is_suspended);
            let waits = match running {
                Some(oldest) => oldest < to,
                None => {
                    let refuses = |range: &Constraint| !range.allows(&to.chart());
                    let goes_elsewhere = plane.is_elsewhere || plane.ranges.iter().any(refuses);
                    is_suspended || plane.is_untold || goes_elsewhere
                }
            };
            waits.then(|| Waits { running, installation: name(installation), is_suspended })
        });
        behind.min()
    }

    /// Tells whether proxies have to suit what a pin names, which may be suspended beside a control plane that is not.
    pub(super) fn count(&self, pin: &Pin) -> bool {
        let is_suspended = |name: &Arc<str>| self.of.get(name).is_some_and(|plane| plane.is_suspended);
        pin.stays != Some(Reason::Suspended) || pin.installations.iter().all(is_suspended)
    }

    /// Returns one that is behind for certain, with all that it names: its release, and its name.
    pub fn outrun<'p>(&self, proxy: &'p Pin, by: EdgeVersion) -> Option<(EdgeVersion, &'p str)> {
        let named = proxy.installations.iter();
        let newest = named.filter_map(|name| Some((self.of.get(name)?.ends?.1, &**name)));
        newest.filter(|(newest, _)| *newest < by && proxy.stage == Stage::DataPlane).min()
    }

    /// Lists those that a proxy pin runs beside: as its installations say, else all that it may run beside. Where nothing but
    /// what is switched off is known of one of them, the proxies meet that once it is on.
    fn beside<'a>(&'a self, proxy: &'a Pin) -> impl Iterator<Item = (&'a str, &'a Plane)> {
        let is_proxy = proxy.stage == Stage::DataPlane;
        let is_anybodys = is_proxy && proxy.installations.is_empty();
        let known =
            move |name: &'a Arc<str>| self.of.get_key_value(name).or_else(|| self.off.get_key_value(name));
        let may_be_its = move |(name, plane): &(&Arc<str>, &Plane)| {
            is_anybodys && (***name == *NAMELESS || plane.is_near && plane.may_have(proxy))
        };
        let named = proxy.installations.iter().filter(move |_| is_proxy).filter_map(known);
        let others = self.of.iter().filter(may_be_its);
        named.chain(others).map(|(name, plane)| (&**name, plane))
    }
}

// === impl Plane ===

impl Plane {
    /// Tells whether a proxy pin of which nobody says whose it is may run beside it: proxies are never ahead of their own.
    fn may_have(&self, proxy: &Pin) -> bool {
        let may_reach = |newest: EdgeVersion| edge_of(proxy).is_none_or(|version| version <= newest);
        self.is_untold || self.ends.is_some_and(|(_, newest)| may_reach(newest))
    }

    fn take(&mut self, pin: &Pin, version: Option<EdgeVersion>) {
        self.is_chosen |= version.is_some() && pin.chooses_controllers;
        match (version, pin.stays_by_itself()) {
            (Some(version), _) => {
                let (oldest, newest) = self.ends.unwrap_or((version, version));
                self.ends = Some((version.min(oldest), version.max(newest)));
            }
            (None, Some(Reason::Range)) => self.ranges.extend(Constraint::of(pin)),
            (None, Some(Reason::NotFollowed)) => self.is_untold = true,
            (None, _) => self.is_elsewhere = true,
        }
    }
}

/// Finds the control plane of a target: from its own pins, else from those of the installations that its proxies serve, where
/// each has one here, else as configured, else, where nobody knows whom they serve, from the whole repository.
///
/// Counted are the versions of the chart, locked versions, and the values and tags that choose the controllers' images.
/// Pins of another channel, without effect, or without a version (a range) say nothing.
pub fn control_plane(
    inventory: &Inventory,
    target: &Target,
    configured: Option<EdgeVersion>,
) -> ControlPlane {
    let proxies = inventory.pins().filter(|pin| pin.stage == Stage::DataPlane && target.whole_has(pin));
    let served: BTreeSet<&Arc<str>> = proxies.flat_map(|pin| pin.installations.iter()).collect();
    let of_served = || named(inventory, |pin| pin.installations.iter().any(|name| served.contains(name)));
    let is_told = !served.iter().any(|name| inventory.facts.bare.contains(*name));
    named(inventory, |pin| target.whole_has(pin))
        .or_else(|| of_served().filter(|_| is_told))
        .or(configured.map(ControlPlane::Known))
        .or_else(|| named(inventory, |_| served.is_empty()))
        .unwrap_or(ControlPlane::Unknown)
}

/// Returns the oldest release that the control plane of a target runs by its own pins.
pub fn own_control_plane(inventory: &Inventory, target: &Target) -> Option<EdgeVersion> {
    named(inventory, |pin| target.whole_has(pin)).and_then(ControlPlane::ceiling)
}

/// Names a pin with which the control plane of a target takes releases without a commit, or as a digest, so that its release
/// cannot be told. A lock beside a range tells it.
pub fn untold_control_plane(inventory: &Inventory, target: &Target) -> Option<String> {
    let is_locked = |pin: &Pin| {
        let is_beside = |other: &Pin| {
            pin.kind == PinKind::ChartDependency
                && other.kind == PinKind::ChartLock
                && other.path.folder() == pin.path.folder()
        };
        let lock = |other: &Pin| {
            (is_beside(other) || is_locked_to(pin, other))
                && other.chart == pin.chart
                && edge_of(other).is_some()
        };
        inventory.pins().any(lock)
    };
    let is_untold = |pin: &&Pin| {
        let floats = match pin.stays_by_itself() {
            Some(Reason::Range) => true,
            // An image's digest among values chooses no release of the chart.
            Some(Reason::Digest) => pin.kind != PinKind::HelmValues,
            _ => false,
        };
        floats
            && !pin.is_off
            && pin.chart.as_deref() == Some(CHART)
            && target.whole_has(pin)
            && edge_of(pin).is_none()
    };
    let pin = inventory.pins().filter(is_untold).find(|pin| !is_locked(pin))?;
    let place = format!("{}:{}", pin.path, pin.site.line);
    Some(if pin.value.is_empty() {
        format!("no version in {place}")
    } else {
        format!("`{}` in {place}", pin.value)
    })
}

fn named(inventory: &Inventory, counts: impl Fn(&Pin) -> bool) -> Option<ControlPlane> {
    let suspended = &inventory.facts.suspended;
    let counts = |pin: &Pin| {
        let mut all = pin.installations.iter();
        counts(pin) && !all.any(|name| is_beside_live(pin, name, suspended))
    };
    let pins = inventory.pins().filter(|pin| counts(pin) && says_what_runs(pin));
    sum(&pins.filter_map(edge_of).collect::<Vec<_>>())
}

fn sum(versions: &[EdgeVersion]) -> Option<ControlPlane> {
    let (lowest, highest) = (*versions.iter().min()?, *versions.iter().max()?);
    Some(match lowest == highest {
        true => ControlPlane::Known(lowest),
        false => ControlPlane::Mixed { lowest, highest },
    })
}

/// Tells whether a pin is suspended in an installation that has another control plane, which is not: proxies suit that one.
pub(super) fn is_beside_live(pin: &Pin, installation: &Arc<str>, suspended: &BTreeSet<Arc<str>>) -> bool {
    pin.stays == Some(Reason::Suspended) && !suspended.contains(installation)
}

/// Tells whether a pin has a control plane somewhere that no release of ours changes: of another channel, at a digest, in
/// a range, from which it takes releases by itself, or where code says, which is not evaluated here.
fn goes_its_own_way(pin: &Pin) -> bool {
    let reasons = [Reason::Channel, Reason::Digest, Reason::RetiredChart, Reason::Range];
    let is_own = pin.stays_by_itself().is_some_and(|reason| reasons.contains(&reason)) || pin.is_untold();
    pin.kind != PinKind::HelmValues && !pin.is_off && is_own && pin.charts().any(is_control_plane)
}

pub(super) fn says_what_runs(pin: &Pin) -> bool {
    !pin.is_off && names_its_release(pin)
}

/// Tells whether a pin names the release of a control plane, which may be switched off.
fn names_its_release(pin: &Pin) -> bool {
    let silent = matches!(
        pin.stays_by_itself(),
        Some(
            Reason::Channel
                | Reason::NoEffect
                | Reason::OwnVersion
                | Reason::NotDeployed
                | Reason::Range
                | Reason::RetiredChart
                | Reason::Digest
        )
    );
    let is_version = |reader: Reader| {
        reader.chart.as_deref() == Some(CHART) && matches!(reader.form, Form::Chart | Form::Rendered)
    };
    !silent && (pin.readers().any(is_version) || pin.chooses_controllers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::{Build, edge, target};

    #[test]
    fn a_chart_s_version_that_is_made_of_an_image_s_tag_says_what_runs() {
        let tag = |b: Build| b.value("set.yaml", CHART, "proxy.image.version", "edge-26.8.2");
        let as_chart = |pin: &mut Pin| pin.read_as = Some(Form::Chart);
        let of = |b: Build| control_plane(&b.inventory(), &Target::default_all(), None);
        assert_eq!(of(tag(Build::default())), ControlPlane::Unknown);
        assert_eq!(of(tag(Build::default()).with(as_chart)), ControlPlane::Known(edge("edge-26.8.2")));
    }

    #[test]
    fn all_pins_that_agree_are_known_and_others_are_mixed() {
        let one = Build::default()
            .chart("a.yaml", CHART, "2026.8.3")
            .chart("crds.yaml", "linkerd-crds", "2026.1.1")
            .chart("legacy.yaml", CHART, "1.16.11")
            .stays(Reason::Channel);
        let all = Target::default_all();
        let known = control_plane(&one.clone().inventory(), &all, None);
        assert_eq!(known, ControlPlane::Known(edge("edge-26.8.3")));
        let two = one.chart("b.yaml", CHART, "2026.8.2").inventory();
        let mixed = control_plane(&two, &all, None);
        assert_eq!(mixed.ceiling(), Some(edge("edge-26.8.2")), "proxies must suit the oldest");
    }

    #[test]
    fn a_range_of_the_control_plane_tells_no_release_and_a_lock_beside_it_does() {
        let all = Target::default_all();
        let crds = Build::default().chart("crds.yaml", "linkerd-crds", "2026.8.3");
        let untold = |build: Build| untold_control_plane(&build.inventory(), &all);
        assert_eq!(untold(crds.clone()), None);
        assert_eq!(untold(crds.clone().chart("a.yaml", CHART, "2026.8.3").stays(Reason::Held)), None);
        let range = crds.clone().chart("a.yaml", CHART, "2026.8.x").stays(Reason::Range);
        assert!(untold(range.clone()).is_some_and(|pin| pin.starts_with("`2026.8.x` in a.yaml:")));
        assert!(untold(range.chart("b.yaml", CHART, "2026.8.3")).is_some(), "one of two clusters");
        let others = crds.chart("viz.yaml", "linkerd-viz", "2026.8.x").stays(Reason::Range);
        assert_eq!(untold(others), None);
        let range = Build::default().pin("Chart.yaml", PinKind::ChartDependency, ">=2026.1.1").of(CHART);
        let range = range.stays(Reason::Range);
        assert!(untold(range.clone()).is_some());
        assert_eq!(untold(range.pin("Chart.lock", PinKind::ChartLock, "2026.8.3").of(CHART)), None);
    }

    #[test]
    fn a_value_that_keeps_controllers_old_counts_and_one_for_proxies_does_not() {
        let build = Build::default().chart("a.yaml", CHART, "2026.8.3");
        let all = Target::default_all();
        let held = build.clone().value("v.yaml", CHART, "linkerdVersion", "edge-26.8.2").inventory();
        assert_eq!(control_plane(&held, &all, None).ceiling(), Some(edge("edge-26.8.2")));
        let tag = build.clone().pin("k.yaml", PinKind::KustomizeImage, "edge-26.8.2");
        let tag = tag.with(|pin| pin.chooses_controllers = true).inventory();
        assert_eq!(control_plane(&tag, &all, None).ceiling(), Some(edge("edge-26.8.2")));
        let proxy = build.value("v.yaml", CHART, "proxy.image.version", "edge-26.8.2").inventory();
        assert_eq!(control_plane(&proxy, &all, None), ControlPlane::Known(edge("edge-26.8.3")));
    }

    #[test]
    fn a_version_that_another_chart_is_named_after_counts() {
        let variable = Build::default().pin("vars.yaml", PinKind::Variable, "2026.8.2").of("linkerd-crds");
        let all = Target::default_all();
        assert_eq!(control_plane(&variable.clone().inventory(), &all, None), ControlPlane::Unknown);
        let shared = variable.read_by(Some(CHART), "cp.yaml").inventory();
        assert_eq!(control_plane(&shared, &all, None), ControlPlane::Known(edge("edge-26.8.2")));
    }

    #[test]
    fn a_control_plane_that_is_committed_as_a_render_counts() {
        let rendered =
            Build::default().pin("cp.yaml", PinKind::RenderedManifest, "linkerd/cli edge-26.8.2").of(CHART);
        let all = Target::default_all();
        assert_eq!(
            control_plane(&rendered.inventory(), &all, None),
            ControlPlane::Known(edge("edge-26.8.2"))
        );
    }

    #[test]
    fn proxies_wait_for_a_control_plane_that_is_suspended_whatever_its_pins_say() {
        let build = Build::default().chart("a.yaml", CHART, "2026.8.3").serves(&["a", "b"]);
        let build = build.proxy("ns.yaml", "edge-26.8.1").serves(&["a"]).proxy("ns.yaml", "edge-26.8.1");
        let mut inventory = build.serves(&["b"]).inventory();
        inventory.facts.suspended.insert("b".into());
        let planes = ControlPlanes::now(&inventory, &Target::default_all());
        let waits: Vec<_> = inventory.pins().map(|pin| planes.behind(pin, edge("edge-26.8.3"))).collect();
        let of_b = Waits { running: None, installation: Some("b".to_owned()), is_suspended: true };
        assert_eq!(waits, [None, None, Some(of_b)]);
    }

    #[test]
    fn proxies_suit_a_control_plane_beside_which_another_one_is_suspended() {
        let build = Build::default().chart("a.yaml", CHART, "2026.8.3").serves(&["a"]);
        let build = build.chart("old.yaml", CHART, "2026.7.1").serves(&["a"]).stays(Reason::Suspended);
        let mut inventory = build.proxy("ns.yaml", "edge-26.8.1").serves(&["a"]).inventory();
        let all = Target::default_all();
        let waits = |inventory: &Inventory| {
            let planes = ControlPlanes::now(inventory, &all);
            inventory.pins().any(|pin| planes.behind(pin, edge("edge-26.8.3")).is_some())
        };
        let plane = control_plane(&inventory, &all, None);
        assert_eq!((plane, waits(&inventory)), (ControlPlane::Known(edge("edge-26.8.3")), false));
        inventory.facts.suspended.insert("a".into());
        assert!(waits(&inventory), "none of its control planes is live");
    }

    #[test]
    fn proxies_suit_those_whom_they_serve_and_nobody_else() {
        let build = Build::default().chart("infra/a.yaml", CHART, "2026.8.3").serves(&["a"]);
        let build = build.chart("infra/b.yaml", CHART, "2026.8.2").serves(&["b"]);
        let apps = target("apps", &["apps"], &[]);
        let of = |names: &[&str], configured| {
            let inventory = build.clone().proxy("apps/ns.yaml", "edge-26.1.1").serves(names).inventory();
            let judged = ControlPlanes::now(&inventory, &apps)
                .ceiling(inventory.pins().filter(|pin| pin.stage == Stage::DataPlane), configured);
            let plane = control_plane(&inventory, &apps, configured).ceiling();
            assert_eq!(judged, plane, "{names:?}");
            plane
        };
        let (known, newest) = (Some(edge("edge-26.8.2")), Some(edge("edge-26.8.3")));
        assert_eq!((of(&["a"], None), of(&["a", "b"], None)), (newest, known));
        assert_eq!((of(&[], None), of(&["c"], None), of(&["c"], known)), (known, None, known));
    }

    #[test]
    fn of_proxies_that_serve_a_cluster_without_a_control_plane_here_nothing_is_known() {
        let build = Build::default().chart("a.yaml", CHART, "2026.8.3").serves(&["a"]);
        let mut inventory = build.proxy("apps/ns.yaml", "edge-26.8.1").serves(&["a", "b"]).inventory();
        inventory.facts.bare.insert("b".into());
        let apps = target("apps", &["apps"], &[]);
        let (known, older) = (edge("edge-26.8.3"), edge("edge-26.8.2"));
        let of = |inventory: &Inventory, configured| control_plane(inventory, &apps, configured).ceiling();
        assert_eq!((of(&inventory, None), of(&inventory, Some(older))), (None, Some(older)));
        inventory.facts.bare.clear();
        assert_eq!(of(&inventory, Some(older)), Some(known));
    }

    #[test]
    fn own_pins_come_before_the_configuration_and_that_before_the_rest_of_the_tree() {
        let inventory = Build::default().chart("infra/a.yaml", CHART, "2026.8.2").inventory();
        let infra = target("infra", &["infra"], &[]);
        let apps = target("apps", &["apps"], &[]);
        let configured = Some(edge("edge-26.8.3"));
        assert_eq!(control_plane(&inventory, &infra, configured).ceiling(), Some(edge("edge-26.8.2")));
        assert_eq!(control_plane(&inventory, &apps, configured).ceiling(), configured);
        assert_eq!(control_plane(&inventory, &apps, None).ceiling(), Some(edge("edge-26.8.2")));
        assert_eq!(control_plane(&Inventory::default(), &apps, None), ControlPlane::Unknown);
    }
}

//! Step 6, plan: which release the control plane runs, as far as the repository shows.
//!
//! In: the inventory, a target, the configured release. Out: a [`ControlPlane`], and the releases of those of single
//! installations. Proxies must never be ahead of their control plane, so where pins disagree the oldest is the safe one.

use std::{collections::BTreeMap, sync::Arc};

use super::{Target, edge_of};
use crate::{
    linkerd::{CONTROL_PLANE as CHART, EdgeVersion},
    pins::{Form, Inventory, Pin, PinKind, Reader, Reason, Stage},
    yaml::{Route, Step},
};

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

/// The releases that the control planes of installations run. What is deployed in several clusters has to suit the one
/// that is furthest behind.
#[derive(Debug, Default)]
pub struct ControlPlanes {
    /// The oldest and the newest that its pins name.
    of: BTreeMap<Arc<str>, (EdgeVersion, EdgeVersion)>,
    /// The oldest of the whole repository.
    pub(super) oldest: Option<EdgeVersion>,
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
    pub fn now(inventory: &Inventory) -> Self {
        Self::new(inventory.pins().filter_map(|pin| Some((pin, edge_of(pin)?))))
    }

    /// Reads them from pins, with the release that each names.
    pub(super) fn new<'p>(pins: impl Iterator<Item = (&'p Pin, EdgeVersion)>) -> Self {
        let mut planes = Self::default();
        for (pin, version) in pins.filter(|(pin, _)| says_what_runs(pin)) {
            planes.oldest = planes.oldest.into_iter().chain([version]).min();
            for name in pin.installations.iter() {
                let (oldest, newest) = planes.of.entry(name.clone()).or_insert((version, version));
                (*oldest, *newest) = (version.min(*oldest), version.max(*newest));
            }
        }
        planes
    }

    /// Returns, of the installations that a proxy pin serves, the one whose control plane is furthest behind a release.
    pub(super) fn behind<'p>(&self, proxy: &'p Pin, to: EdgeVersion) -> Option<(EdgeVersion, &'p str)> {
        self.below(proxy, to, |(oldest, _)| oldest)
    }

    /// Returns one that is behind for certain: with all that it names.
    pub fn outrun<'p>(&self, proxy: &'p Pin, by: EdgeVersion) -> Option<(EdgeVersion, &'p str)> {
        self.below(proxy, by, |(_, newest)| newest)
    }

    fn below<'p>(
        &self,
        proxy: &'p Pin,
        release: EdgeVersion,
        end: impl Fn((EdgeVersion, EdgeVersion)) -> EdgeVersion,
    ) -> Option<(EdgeVersion, &'p str)> {
        let proxy = Some(proxy).filter(|pin| pin.stage == Stage::DataPlane)?;
        let of = proxy.installations.iter().filter_map(|name| Some((end(*self.of.get(name)?), &**name)));
        of.filter(|(version, _)| *version < release).min()
    }
}

/// Finds the control plane of a target: from its own pins, else as configured, else from the whole repository.
///
/// Counted are the versions of the chart, locked versions, and the values that choose the controllers' images.
/// Pins of another channel, without effect, or without a version (a range) say nothing.
pub fn control_plane(
    inventory: &Inventory,
    target: &Target,
    configured: Option<EdgeVersion>,
) -> ControlPlane {
    named(inventory, |pin| target.whole_has(pin))
        .or(configured.map(ControlPlane::Known))
        .or_else(|| named(inventory, |_| true))
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
        let lock = |other: &Pin| {
            other.kind == PinKind::ChartLock
                && other.path.folder() == pin.path.folder()
                && other.chart == pin.chart
                && edge_of(other).is_some()
        };
        pin.kind == PinKind::ChartDependency && inventory.pins().any(lock)
    };
    let is_untold = |pin: &&Pin| {
        let floats = match pin.stays {
            Some(Reason::Range) => true,
            // An image's digest among values chooses no release of the chart.
            Some(Reason::Digest) => pin.kind != PinKind::HelmValues,
            _ => false,
        };
        floats && pin.chart.as_deref() == Some(CHART) && target.whole_has(pin) && edge_of(pin).is_none()
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

pub(super) fn says_what_runs(pin: &Pin) -> bool {
    let silent = matches!(
        pin.stays,
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
    let controllers = pin.kind == PinKind::HelmValues
        && pin.site.route.as_ref().and_then(last_key).is_some_and(chooses_controllers);
    let is_version = |reader: Reader| reader.chart.as_deref() == Some(CHART) && reader.form == Form::Chart;
    !silent && (pin.readers().any(is_version) || controllers && pin.is_of(CHART))
}

/// `proxy.image.version` is not among them: it chooses proxies, and the controllers stay as the chart says.
fn chooses_controllers(key: &str) -> bool {
    matches!(key, "linkerdVersion" | "controllerImageVersion")
}

fn last_key(route: &Route) -> Option<&str> {
    match route.steps.last()? {
        Step::Key(key) => Some(key),
        Step::Text(inner) => last_key(inner),
        Step::Index(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::{Build, edge, target};

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

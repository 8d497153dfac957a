//! Step 8, verify: an upgrade that was done by half, in a tree as it is.
//!
//! In: what a target deploys and its pins, without any change. Out: a `block` where CRDs and control plane of one place
//! name different releases, where a value or a proxy pin is ahead of its control plane, or a committed certificate is not
//! what its bundle signed; a `warn` where a value keeps images old, an extension lags, proxies are too far behind, or
//! committed certificates end. What a person holds is left alone.

use std::collections::BTreeMap;

use super::{
    CheckId, Finding, Place, Severity, certificate_expiry, required_hop::by_stop, skew, values_stale_override,
};
use crate::{
    linkerd::{CONTROL_PLANE, CRDS, EdgeVersion, Knowledge, built_in},
    pins::{Inventory, Pin, PinKind, Reason},
    plan::{ControlPlane, Target, control_plane, edge_of},
    render::committed::Committed,
    repo::RepoPath,
};

/// The name under which these findings are told.
pub const ID: CheckId = CheckId::HalfDone;

/// A tree at rest.
#[derive(Clone, Copy)]
pub struct AtRest<'a> {
    /// What is pinned in it.
    pub inventory: &'a Inventory,
    /// The charts that it deploys, or has committed.
    pub deployed: &'a [Deployed],
    /// What it has committed.
    pub committed: &'a [Committed],
    /// The time, for certificates.
    pub now: jiff::Timestamp,
}

/// The proxies of one target of it.
#[derive(Clone, Copy)]
pub struct Proxies<'a> {
    /// What is pinned in the tree.
    pub inventory: &'a Inventory,
    /// The target.
    pub target: &'a Target,
    /// `dataPlane.controlPlane`, as configured.
    pub control_plane: Option<EdgeVersion>,
    /// What is known of releases.
    pub knowledge: &'a Knowledge,
}

/// A chart that a tree deploys, or whose output is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployed {
    /// The chart.
    pub chart: String,
    /// Its release.
    pub version: EdgeVersion,
    /// Where it stands.
    pub place: Place,
    /// Those who have it so, where others may have another of the same object: overlays, clusters.
    pub by: Vec<RepoPath>,
    /// The files that it was written in, those of its values among them.
    pub values: Vec<RepoPath>,
}

/// What a tree at rest shows of upgrades that were begun, whatever targets there are: what runs in a cluster does not depend on
/// them.
pub fn at_rest(input: &AtRest<'_>) -> Vec<Finding> {
    let mut findings = input.together();
    findings.extend(input.values());
    findings.extend(certificate_expiry::at_rest(input.committed, input.now));
    super::united(findings)
}

/// What it shows of the proxies of one target.
pub fn proxies_at_rest(input: &Proxies<'_>) -> Vec<Finding> {
    super::united(input.findings())
}

// === impl AtRest ===

impl AtRest<'_> {
    /// Compares the charts of one cluster, where the tree tells clusters apart, else those of one folder. Only what is
    /// certain is said: a folder may hold several clusters, so one release in common is enough.
    fn together(&self) -> Vec<Finding> {
        type Charts<'d> = BTreeMap<&'d str, Vec<&'d Deployed>>;
        let mut groups: BTreeMap<(bool, &str), Charts<'_>> = BTreeMap::new();
        for deployed in self.deployed {
            let lone = deployed.by.is_empty().then(|| (false, deployed.place.path.folder()));
            for group in deployed.by.iter().map(|by| (true, by.as_str())).chain(lone) {
                groups.entry(group).or_default().entry(&deployed.chart).or_default().push(deployed);
            }
        }
        let mut findings = Vec::new();
        for mut charts in groups.into_values() {
            let planes = charts.remove(CONTROL_PLANE).unwrap_or_default();
            let Some(plane) = planes.first() else { continue };
            let differing = charts.values().filter(|others| {
                let free = planes.iter().chain(*others).all(|deployed| !self.is_held(deployed));
                free && others.iter().all(|other| planes.iter().all(|plane| plane.version != other.version))
            });
            findings.extend(differing.filter_map(|others| Some(disagreement(plane, others.first()?))));
        }
        findings
    }

    /// Compares values that choose images with the charts that they are given to.
    fn values(&self) -> Vec<Finding> {
        let values = self.pins().filter(|pin| {
            matches!(pin.kind, PinKind::HelmValues | PinKind::ArgoHelmParameter)
                && matches!(pin.stays, None | Some(Reason::UpToDate))
        });
        let one = |pin: &Pin| {
            let at = edge_of(pin)?;
            let given = |d: &&Deployed| pin.is_of(&d.chart) && d.is_written_in(&pin.path);
            let of = || self.deployed.iter().filter(given);
            let versions: Vec<EdgeVersion> = of().map(|d| d.version).collect();
            let (lowest, highest) = (*versions.iter().min()?, *versions.iter().max()?);
            let chart = &of().next()?.chart;
            let value = &pin.value;
            if at > highest {
                let reason =
                    format!("`{value}` chooses images that are ahead of {chart} {}", highest.chart());
                return Some(
                    Finding::block(ID, reason)
                        .at_pin(pin)
                        .hint("move the chart to that release, or the value back"),
                );
            }
            let reason = format!("`{value}` keeps images at that release under {chart} {}", lowest.chart());
            (at < lowest).then(|| Finding::warn(ID, reason).at_pin(pin).hint(values_stale_override::HINT))
        };
        values.filter_map(one).collect()
    }

    fn pins(&self) -> impl Iterator<Item = &Pin> {
        self.inventory.pins()
    }

    fn is_held(&self, deployed: &Deployed) -> bool {
        self.pins().any(|pin| {
            pin.stays == Some(Reason::Held) && deployed.is_written_in(&pin.path) && pin.is_of(&deployed.chart)
        })
    }
}

// === impl Deployed ===

impl Deployed {
    fn is_written_in(&self, path: &RepoPath) -> bool {
        self.place.path == *path || self.values.contains(path)
    }
}

fn disagreement(plane: &Deployed, other: &Deployed) -> Finding {
    let Deployed { chart, version, .. } = other;
    let at = plane.version;
    let reason = format!("{chart} is of {version} and the control plane beside it of {at} ({})", plane.place);
    let finding = if chart == CRDS {
        let moved = |what: &str| format!("set {what}, or hold one of the two with `# uplinker: hold`");
        let crds = |release: &str| moved(&format!("the CRDs to {release}"));
        Finding::block(ID, reason).hint(match *version < at {
            true => by_stop(built_in(), (Some(*version), at), crds),
            false => moved("both to one release"),
        })
    } else {
        Finding::warn(ID, reason).hint("move it with the control plane; extensions go by its release")
    };
    Finding { place: Some(other.place.clone()), ..finding }
}

// === impl Proxies ===

impl Proxies<'_> {
    /// Compares proxy pins with the control plane.
    fn findings(&self) -> Vec<Finding> {
        let plane = control_plane(self.inventory, self.target, self.control_plane);
        let faults = skew::faults_of(self.inventory, self.target, plane, self.knowledge);
        let each = faults.map(|(fault, pin)| {
            let severity = if fault == skew::Fault::Behind { Severity::Warn } else { Severity::Block };
            let finding = skew::finding(plane, fault, pin, severity);
            Finding { check: ID, ..finding }
        });
        each.collect()
    }

    /// Counts those that are compared with the control plane: none where its release is not known.
    pub fn count(&self) -> usize {
        match control_plane(self.inventory, self.target, self.control_plane) {
            ControlPlane::Unknown => 0,
            _ => skew::proxies(self.inventory, self.target).count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::testing::{Build, edge, path},
        verify::{Severity::*, testing::severities},
    };

    fn chart(file: &str, chart: &str, version: &str) -> Deployed {
        Deployed {
            chart: chart.into(),
            version: edge(version),
            place: Place { path: path(file), line: Some(3) },
            by: Vec::new(),
            values: Vec::new(),
        }
    }

    fn by(cluster: &str, deployed: Deployed) -> Deployed {
        Deployed { by: vec![path(cluster)], ..deployed }
    }

    fn found(deployed: &[Deployed], build: impl FnOnce(Build) -> Build) -> Vec<Finding> {
        let inventory = build(Build::default()).inventory();
        let (target, knowledge) = (Target::default_all(), built_in());
        let now = "2026-09-01T00:00:00Z".parse().unwrap();
        let (inventory, target) = (&inventory, &target);
        let mut found = at_rest(&AtRest { inventory, deployed, committed: &[], now });
        found.extend(proxies_at_rest(&Proxies { inventory, target, control_plane: None, knowledge }));
        found
    }

    fn charts(deployed: &[Deployed]) -> Vec<Finding> {
        found(deployed, |b| b)
    }

    #[test]
    fn one_of_two_files_that_moved_is_found_either_way() {
        for (crds, plane) in [("edge-26.8.3", "edge-26.8.2"), ("edge-26.8.2", "edge-26.8.3")] {
            let half = charts(&[chart("m/crds.yaml", CRDS, crds), chart("m/cp.yaml", CONTROL_PLANE, plane)]);
            assert_eq!(severities(&half), [Block]);
            let words =
                format!("{CRDS} is of {crds} and the control plane beside it of {plane} (m/cp.yaml:3)");
            assert_eq!(half[0].reason, words);
        }
        let old =
            [chart("m/crds.yaml", CRDS, "edge-24.11.8"), chart("m/cp.yaml", CONTROL_PLANE, "edge-26.8.3")];
        let hint = charts(&old).remove(0).hint.unwrap();
        assert!(hint.starts_with("set the CRDs to edge-25.7.6 first and edge-26.8.3 after it, or"), "{hint}");
        let viz = [
            chart("m/viz.yaml", "linkerd-viz", "edge-26.6.3"),
            chart("m/cp.yaml", CONTROL_PLANE, "edge-26.8.2"),
        ];
        assert_eq!(severities(&charts(&viz)), [Warn], "an extension may wait");
    }

    #[test]
    fn clusters_of_their_own_releases_pass() {
        let (old, new) = ("edge-26.8.2", "edge-26.8.3");
        let of = |folder: &str, version: &str| {
            [CRDS, CONTROL_PLANE].map(|name| chart(&format!("{folder}/{name}.yaml"), name, version))
        };
        assert_eq!(charts(&[of("prod", old), of("test", new)].concat()), []);
        assert_eq!(charts(&[of("all", old), of("all", new)].concat()), [], "two clusters in one folder");
        let cluster = |name: &str, version: &str| of("apps", version).map(|d| by(name, d));
        assert_eq!(charts(&[cluster("a.json", old), cluster("b.json", new)].concat()), []);
        let half =
            [of("apps", old).map(|d| by("a.json", d)), of("apps", new).map(|d| by("b.json", d))].concat();
        let mixed = [half[0].clone(), by("a.json", half[3].clone())];
        assert_eq!(severities(&charts(&mixed)), [Block], "one cluster has both");
        let fleet =
            [chart("apps/crds.yaml", CRDS, old), by("a.json", chart("apps/cp.yaml", CONTROL_PLANE, new))];
        assert_eq!(charts(&fleet), [], "whose CRDs these are is not said");
        assert_eq!(charts(&[chart("a/cp.yaml", CONTROL_PLANE, old), chart("b/crds.yaml", CRDS, new)]), []);
    }

    #[test]
    fn what_is_held_is_left_alone() {
        let both =
            [chart("m/crds.yaml", CRDS, "edge-26.8.2"), chart("m/cp.yaml", CONTROL_PLANE, "edge-26.8.3")];
        let held = found(&both, |b| b.chart("m/crds.yaml", CRDS, "2026.8.2").stays(Reason::Held));
        assert_eq!(held, []);
    }

    #[test]
    fn values_and_proxies_ahead_of_their_control_plane_block() {
        let plane = [chart("cp.yaml", CONTROL_PLANE, "edge-26.8.2")];
        let value = |version: &'static str| {
            found(&plane, |b| b.value("cp.yaml", CONTROL_PLANE, "proxy.image.version", version))
        };
        assert_eq!(severities(&value("edge-26.8.3")), [Block]);
        assert_eq!(severities(&value("edge-26.8.1")), [Warn], "it keeps images old");
        assert_eq!(value("edge-26.8.2"), []);
        let proxy = |version: &'static str| {
            found(&plane, |b| b.chart("cp.yaml", CONTROL_PLANE, "2026.8.2").proxy("ns.yaml", version))
        };
        let ahead = proxy("edge-26.8.3");
        assert_eq!(severities(&ahead), [Block]);
        assert!(ahead[0].check == ID && ahead[0].reason.contains("ahead of the control plane, edge-26.8.2"));
        assert_eq!(severities(&proxy("edge-25.4.4")), [Warn]);
        assert_eq!(proxy("edge-26.8.1"), []);
    }
}

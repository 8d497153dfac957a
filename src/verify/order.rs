//! Step 8, verify: CRDs are applied before the control plane.
//!
//! In: what the repository says of the order of Linkerd's releases and applications. Out: a `warn` where a control
//! plane does not wait for its CRDs. An order that a parent sets (a Flux Kustomization, an app of apps) is not seen
//! here, so across folders it is only an `info`.

use std::collections::{BTreeSet, HashMap};

use super::{CheckId, Checked, Finding, Severity, Verification, count};
use crate::{
    linkerd::{CONTROL_PLANE, CRDS},
    pins::{Deployment, Inventory, Stage, is_kustomization},
    render::Rendering,
};

pub(super) const ID: CheckId = CheckId::Order;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let moves = input.moving().any(|(pin, _)| pin.is_of_none() || pin.is_of(CRDS));
    if input.plan.stage == Stage::DataPlane || !moves {
        return Checked { looked_at: "nothing: no CRDs move".to_owned(), findings: Vec::new() };
    }
    let all: Vec<&Deployment> =
        input.inventory.facts.deployments.iter().filter(|d| input.target.covers(&d.path)).collect();
    // What stays at its release is not applied, whatever it waits for.
    let moves = |d: &&&Deployment| d.chart == CONTROL_PLANE && !input.plan.leaves(d);
    let control_planes: Vec<&Deployment> = all.iter().filter(moves).copied().collect();
    let others = Others::of(&all, input.inventory);
    // That nothing waits is nothing new, and does no harm where the definitions stay as they are.
    let weight = |found: Finding| match crds_change(input) {
        true => found,
        false => Finding { severity: Severity::Info, ..found },
    };
    let facts = &input.inventory.facts;
    let is_apart =
        |one: &Deployment, other: &Deployment| facts.applied_by(&one.path) != facts.applied_by(&other.path);
    let findings = control_planes.iter().filter_map(|d| {
        let candidates = others.beside(d, &served(input.inventory, d));
        finding(d, candidates, &others, &is_apart)
    });
    let findings = findings.map(weight).collect();
    let looked_at = format!("dependsOn and sync waves of {}", count(control_planes.len(), "control plane"));
    Checked { looked_at, findings }
}

/// Lists the installations that a deployment is known to serve, as the pins of its version tell.
fn served<'i>(inventory: &'i Inventory, of: &Deployment) -> BTreeSet<&'i str> {
    let paths = of.version.iter().map(|(path, ..)| path).chain(of.version.is_empty().then_some(&of.path));
    let pins = paths.collect::<BTreeSet<_>>().into_iter().flat_map(move |path| {
        let first = inventory.pins.partition_point(|pin| pin.path < *path);
        inventory.pins.iter().skip(first).take_while(move |pin| pin.path == *path)
    });
    let own = pins.filter(|pin| pin.is_of(&of.chart) && of.has_version_of(pin));
    own.flat_map(|pin| pin.installations.iter()).map(|name| &**name).collect()
}

/// Tells whether the definitions themselves change, as far as they were rendered.
fn crds_change(input: &Verification<'_>) -> bool {
    let mut crds = input.rendered.done.iter().filter(|r| r.to.name == CRDS).peekable();
    let differs = |rendering: &Rendering| {
        let diff = rendering.diff();
        !diff.added.is_empty()
            || !diff.removed.is_empty()
            || diff.beyond_version(&rendering.from, &rendering.to).next().is_some()
    };
    crds.peek().is_none() || crds.any(differs)
}

/// Deployments by the installations that they are known to serve: thousands need not be held against one another.
#[derive(Default)]
struct Placed<'d> {
    all: Vec<&'d Deployment>,
    /// By position in `all`.
    serving: HashMap<&'d str, Vec<usize>>,
    /// Those of which nobody knows where they are.
    anywhere: Vec<usize>,
}

/// The deployments that a control plane may wait for.
#[derive(Default)]
struct Others<'d> {
    crds: Placed<'d>,
    crds_by_folder: HashMap<&'d str, Placed<'d>>,
    /// What the releases of a name wait for.
    waits: HashMap<&'d str, BTreeSet<&'d str>>,
}

// === impl Placed ===

impl<'d> Placed<'d> {
    fn push(&mut self, deployment: &'d Deployment, serves: &BTreeSet<&'d str>) {
        let n = self.all.len();
        self.all.push(deployment);
        serves.iter().for_each(|name| self.serving.entry(*name).or_default().push(n));
        self.anywhere.extend(serves.is_empty().then_some(n));
    }

    /// Lists those that may be in one cluster with what serves these installations.
    fn meeting(&self, serves: &BTreeSet<&str>) -> Vec<&'d Deployment> {
        if serves.is_empty() {
            return self.all.clone();
        }
        let own = serves.iter().filter_map(|name| self.serving.get(name)).flatten();
        let found: BTreeSet<usize> = own.chain(&self.anywhere).copied().collect();
        found.into_iter().filter_map(|n| self.all.get(n).copied()).collect()
    }
}

// === impl Others ===

impl<'d> Others<'d> {
    fn of(all: &[&'d Deployment], inventory: &'d Inventory) -> Self {
        let mut others = Self::default();
        for deployment in all.iter().copied() {
            if deployment.chart == CRDS {
                let serves = served(inventory, deployment);
                others.crds.push(deployment, &serves);
                let near = others.crds_by_folder.entry(deployment.path.folder()).or_default();
                near.push(deployment, &serves);
            }
            let waits = deployment.depends_on.iter().flatten().map(|name| bare(name));
            others.waits.entry(&deployment.name).or_default().extend(waits);
        }
        others
    }

    /// Lists the CRDs that may be in the cluster of a control plane: those in its folder, else all, which weigh less.
    fn beside(&self, plane: &Deployment, serves: &BTreeSet<&str>) -> (Vec<&'d Deployment>, Severity) {
        let near = self.crds_by_folder.get(plane.path.folder()).map(|near| near.meeting(serves));
        match near.filter(|near| !near.is_empty()) {
            Some(near) => (near, Severity::Warn),
            None => (self.crds.meeting(serves), Severity::Info),
        }
    }

    /// Names that a release waits for, directly or through other releases of Linkerd's charts.
    fn reachable(&self, from: &'d Deployment, depends_on: &'d [String]) -> BTreeSet<&'d str> {
        let mut waiting: Vec<&str> = depends_on.iter().map(|name| bare(name)).collect();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            if seen.insert(name) && name != from.name {
                waiting.extend(self.waits.get(name).into_iter().flatten());
            }
        }
        seen
    }
}

fn bare(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Says that a control plane does not wait for its CRDs; `is_apart` says of two whether different objects apply them.
fn finding<'d>(
    control_plane: &'d Deployment,
    (candidates, severity): (Vec<&'d Deployment>, Severity),
    others: &Others<'d>,
    is_apart: &dyn Fn(&Deployment, &Deployment) -> bool,
) -> Option<Finding> {
    // One application with both charts is applied by kind, CRDs first; so is what one kustomization has.
    let is_one = |d: &Deployment| d.name == control_plane.name || is_kustomization(d.path.name());
    let one_object = |d: &Deployment| d.path == control_plane.path && is_one(d);
    if candidates.is_empty() || candidates.iter().any(|d| one_object(d)) {
        return None;
    }
    let place = |finding: Finding| finding.at(&control_plane.path, control_plane.line);
    if let Some(depends_on) = &control_plane.depends_on {
        let waited_for = others.reachable(control_plane, depends_on);
        // What another deployer brings has no name here.
        let named: Vec<&Deployment> = candidates.iter().copied().filter(|d| d.depends_on.is_some()).collect();
        let name = named.first()?.name.as_str();
        let waits = named.iter().any(|d| waited_for.contains(d.name.as_str()));
        // Elsewhere, what deploys both may put one before the other.
        let itself = if severity == Severity::Info { "itself " } else { "" };
        let reason =
            format!("`{}` does not {itself}wait for `{name}`, which brings its CRDs", control_plane.name);
        let finding = Finding::new(ID, severity, reason).hint(format!("name `{name}` under `dependsOn`"));
        return (!waits).then(|| place(finding));
    }
    let wave = control_plane.sync_wave?;
    // A wave counts among what one application applies.
    let beside = candidates.iter().filter(|d| !is_apart(control_plane, d));
    let first = beside.filter_map(|d| d.sync_wave).min()?;
    let reason = format!(
        "this control plane is in sync wave {wave} and its CRDs in wave {first}: they may come after it"
    );
    let hint = format!("give the CRDs a wave below {wave}");
    (first >= wave).then(|| place(Finding::new(ID, severity, reason).hint(hint)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        pins::Applier,
        plan::testing::{Build, path},
        verify::{Severity::*, testing::*},
    };

    fn flux(file: &str, chart: &str, depends_on: &[&str]) -> Deployment {
        Deployment {
            path: path(file),
            line: 3,
            chart: chart.into(),
            version: Vec::new(),
            name: chart.into(),
            namespace: None,
            depends_on: Some(depends_on.iter().map(|n| (*n).to_owned()).collect()),
            sync_wave: None,
        }
    }

    fn argo(file: &str, chart: &str, wave: i64) -> Deployment {
        Deployment { depends_on: None, sync_wave: Some(wave), ..flux(file, chart, &[]) }
    }

    fn found(deployments: Vec<Deployment>) -> Vec<Finding> {
        Case::default()
            .pins(|b| {
                b.chart("mesh/crds.yaml", CRDS, "2026.8.2")
                    .chart("mesh/cp.yaml", CONTROL_PLANE, "2026.8.2")
                    .facts(|facts| facts.deployments = deployments)
            })
            .check(ID)
    }

    #[test]
    fn a_control_plane_that_waits_passes() {
        let crds = || flux("mesh/crds.yaml", CRDS, &[]);
        assert_eq!(found(vec![crds(), flux("mesh/cp.yaml", CONTROL_PLANE, &["linkerd-crds"])]), []);
        let namespaced = flux("mesh/cp.yaml", CONTROL_PLANE, &["linkerd/linkerd-crds"]);
        assert_eq!(found(vec![crds(), namespaced]), []);
        let cni = flux("mesh/cni.yaml", "linkerd2-cni", &["linkerd-crds"]);
        let through = flux("mesh/cp.yaml", CONTROL_PLANE, &["linkerd2-cni"]);
        assert_eq!(found(vec![crds(), cni, through]), [], "it waits through another release");
        let waves = vec![argo("mesh/crds.yaml", CRDS, -1), argo("mesh/cp.yaml", CONTROL_PLANE, 0)];
        assert_eq!(found(waves), []);
    }

    #[test]
    fn a_control_plane_that_does_not_wait_is_found() {
        let none = vec![flux("mesh/crds.yaml", CRDS, &[]), flux("mesh/cp.yaml", CONTROL_PLANE, &["certs"])];
        let found_flux = found(none);
        assert_eq!(severities(&found_flux), [Warn]);
        assert!(found_flux[0].hint.as_ref().unwrap().contains("`linkerd-crds` under `dependsOn`"));
        let waves = vec![argo("mesh/crds.yaml", CRDS, 0), argo("mesh/cp.yaml", CONTROL_PLANE, 0)];
        assert_eq!(severities(&found(waves)), [Warn], "one wave is ordered by name, control plane first");
    }

    #[test]
    fn one_kustomization_with_both_is_applied_by_kind() {
        let both = |file| vec![argo(file, CRDS, 0), argo(file, CONTROL_PLANE, 0)];
        assert_eq!(found(both("mesh/kustomization.yaml")), []);
        assert_eq!(severities(&found(both("mesh/apps.yaml"))), [Warn], "two objects of one file");
    }

    #[test]
    fn where_the_definitions_stay_as_they_are_nothing_must_wait() {
        let case = |after: &str| {
            let deployments =
                vec![flux("mesh/crds.yaml", CRDS, &[]), flux("mesh/cp.yaml", CONTROL_PLANE, &["certs"])];
            let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a, labels: \
                       {helm.sh/chart: linkerd-crds-VERSION}}\n";
            let (old, new) = (crd.replace("VERSION", "2026.8.2"), crd.replace("VERSION", "2026.8.3"));
            Case::default()
                .pins(|b| {
                    b.chart("mesh/crds.yaml", CRDS, "2026.8.2")
                        .chart("mesh/cp.yaml", CONTROL_PLANE, "2026.8.2")
                        .facts(|facts| facts.deployments = deployments)
                })
                .rendering(&old, &format!("{new}{after}"))
                .with_rendering(|r| (r.from.name, r.to.name) = (CRDS.into(), CRDS.into()))
                .check(ID)
        };
        assert_eq!(severities(&case("")), [Info]);
        assert_eq!(severities(&case("spec: {group: x}\n")), [Warn]);
    }

    #[test]
    fn an_order_that_a_parent_may_set_is_only_mentioned() {
        let apart = vec![flux("a/crds.yaml", CRDS, &[]), flux("b/cp.yaml", CONTROL_PLANE, &[])];
        assert_eq!(severities(&found(apart)), [Info]);
    }

    #[test]
    fn nothing_waits_for_what_is_in_another_cluster_or_is_of_another_deployer() {
        let found = |of: &'static [&'static str], crds: Deployment| {
            let pins = |b: Build| {
                let b = b.chart("a/crds.yaml", CRDS, "2026.8.2").serves(of);
                let b = b.chart("b/cp.yaml", CONTROL_PLANE, "2026.8.2").serves(&["b"]);
                b.facts(|facts| facts.deployments = vec![crds, flux("b/cp.yaml", CONTROL_PLANE, &[])])
            };
            severities(&Case::default().pins(pins).check(ID))
        };
        let crds = || flux("a/crds.yaml", CRDS, &[]);
        assert_eq!(found(&["a", "b"], crds()), [Info]);
        assert_eq!(found(&[], crds()), [Info], "nobody knows where");
        assert_eq!(found(&["a"], crds()), []);
        assert_eq!(found(&[], argo("a/crds.yaml", CRDS, 0)), [], "a HelmRelease cannot name an Application");
    }

    #[test]
    fn waves_count_among_what_one_application_applies() {
        let waves = || vec![argo("a/crds.yaml", CRDS, 0), argo("b/cp.yaml", CONTROL_PLANE, 0)];
        let found = |apart: bool| {
            let applier = |file: &str| Applier {
                name: file.to_owned(),
                namespace: None,
                path: path("root.yaml"),
                line: 1,
                flux: false,
                prunes: true,
                replaces: false,
                waits: false,
                revision: None,
            };
            let by = |file: &str| (path(file), vec![applier(if apart { file } else { "root" })]);
            let pins = |b: Build| {
                b.chart("a/crds.yaml", CRDS, "2026.8.2").chart("b/cp.yaml", CONTROL_PLANE, "2026.8.2").facts(
                    |facts| {
                        facts.deployments = waves();
                        facts.appliers = ["a/crds.yaml", "b/cp.yaml"].map(by).into();
                    },
                )
            };
            severities(&Case::default().pins(pins).check(ID))
        };
        assert_eq!((found(false), found(true)), (vec![Info], vec![]));
    }

    #[test]
    fn circles_end_and_lone_control_planes_are_quiet() {
        assert_eq!(found(vec![flux("mesh/cp.yaml", CONTROL_PLANE, &[])]), []);
        let circle = vec![
            flux("mesh/crds.yaml", CRDS, &[CONTROL_PLANE]),
            flux("mesh/cp.yaml", CONTROL_PLANE, &["linkerd-viz"]),
            flux("mesh/viz.yaml", "linkerd-viz", &[CONTROL_PLANE]),
        ];
        assert_eq!(severities(&found(circle)), [Warn]);
        let mut one = vec![argo("mesh/app.yaml", CRDS, 0), argo("mesh/app.yaml", CONTROL_PLANE, 0)];
        one.iter_mut().for_each(|d| d.name = "linkerd".into());
        assert_eq!(found(one), [], "one application with two sources");
    }

    #[test]
    fn crds_move_with_a_version_that_other_charts_read_too() {
        let deployments =
            || vec![flux("mesh/crds.yaml", CRDS, &[]), flux("mesh/cp.yaml", CONTROL_PLANE, &[])];
        let case = |also: bool| {
            let pins = |b: Build| {
                let b = b.pin("vars.yaml", crate::pins::PinKind::Variable, "2026.8.2").of(CONTROL_PLANE);
                let b = if also { b.read_by(Some(CRDS), "mesh/crds.yaml") } else { b };
                b.facts(|facts| facts.deployments = deployments())
            };
            Case::default().pins(pins).check(ID)
        };
        assert_eq!((severities(&case(false)), severities(&case(true))), (vec![], vec![Warn]));
    }

    #[test]
    fn a_control_plane_stays_whose_version_stands_elsewhere_and_is_held() {
        let found = |held: bool| {
            let control_plane = Deployment {
                version: vec![(path("vars.yaml"), 0, 8)],
                ..flux("mesh/cp.yaml", CONTROL_PLANE, &[])
            };
            let pins = |b: Build| {
                let b = b.chart("mesh/crds.yaml", CRDS, "2026.8.2");
                let b = b.pin("vars.yaml", crate::pins::PinKind::Variable, "2026.8.2").of(CONTROL_PLANE);
                let b = if held { b.stays(crate::pins::Reason::Held) } else { b };
                let deployments = vec![flux("mesh/crds.yaml", CRDS, &[]), control_plane];
                b.facts(|facts| facts.deployments = deployments)
            };
            severities(&Case::default().pins(pins).check(ID))
        };
        assert_eq!((found(false), found(true)), (vec![Warn], vec![]));
    }

    #[test]
    fn without_moving_crds_the_order_does_not_matter() {
        let case = Case::default().pins(|b| {
            b.chart("mesh/viz.yaml", "linkerd-viz", "2026.8.2").facts(|facts| {
                facts.deployments =
                    vec![flux("mesh/crds.yaml", CRDS, &[]), flux("mesh/cp.yaml", CONTROL_PLANE, &[])];
            })
        });
        assert_eq!(case.check(ID), []);
    }
}

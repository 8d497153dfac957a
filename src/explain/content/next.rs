//! Step 9, explain: what happens once a change is merged.
//!
//! In: the order that the repository gives, proxies and control plane, one-way changes. Out: a [`Next`]. Pure.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Material, Statement, Workload, statement, workloads};
use crate::{
    linkerd::{CONTROL_PLANE, CRDS, EdgeVersion, Turn, turn},
    pins::{Deployment, Form, Pin, Reason, Stage},
    plan::deployed_at,
    render::Object,
    verify::{CheckId, Finding, Severity, proxies},
};

/// What makes Helm leave an object in the cluster.
const KEEP: &str = "helm.sh/resource-policy";

/// What happens next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Next {
    /// The charts that move, in the order in which they are applied as far as the repository says it.
    pub order: Vec<Step>,
    /// Whether these are applied by several, each of which may have an order of its own, so that their own tells nothing.
    pub order_apart: bool,
    /// What the checks say of the order, where it is no warning.
    pub order_notes: Vec<Statement>,
    /// Whether a warning or a block is about the order.
    pub order_warned: bool,
    /// How far the running proxies stay supported.
    pub skew: Skew,
    /// Proxy pins of the target that this change leaves.
    pub proxy_pins: usize,
    /// Why going back is not safe, one sentence each.
    pub one_way: Vec<String>,
    /// Whether the CRDs were rendered, so that their storage versions could be compared.
    pub crds_compared: bool,
    /// Whether linkerd-crds moves.
    pub crds_move: bool,
    /// What the data plane's change does to workloads.
    pub workloads: Vec<Workload>,
}

/// A chart's place in the order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
    /// The chart.
    pub chart: String,
    /// The release or application.
    pub name: String,
    /// `path:line` of each.
    pub places: Vec<String>,
    /// What it waits for; `None` where its shape has no such thing.
    pub waits_for: Option<Vec<String>>,
    /// Its sync wave; `None` where its shape has no such thing.
    pub wave: Option<i64>,
    /// The names of those who apply it, as far as they are known.
    pub applied_by: Vec<String>,
}

/// How the oldest proxies go with the new control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Skew {
    /// The oldest release that a proxy may have.
    pub oldest: Option<String>,
    /// Its milestone.
    pub milestone: Option<String>,
    /// The control plane's milestone after the change.
    pub control_plane: Option<String>,
    /// How many milestones lie between; `None` where that is not known.
    pub behind: Option<usize>,
}

/// Tells whether this section says what a check found, where it is no warning.
pub(super) fn tells(check: CheckId) -> bool {
    check == CheckId::Order
}

// === impl Next ===

impl Next {
    /// Says what happens.
    pub(super) fn of(material: &Material<'_>) -> Self {
        let Material { plan, inventory, target, findings, rendered, .. } = *material;
        let of_order = || findings.iter().filter(|f| tells(f.check));
        let (mut oldest, mut behind) = (Vec::new(), 0);
        for (pin, version) in proxies(inventory, target) {
            behind += usize::from(pin.stays.is_none() && version < plan.to);
            oldest.push(version);
        }
        let platform = plan.stage == Stage::Platform;
        let order = if platform { order(material) } else { Vec::new() };
        Self {
            order_apart: order
                .iter()
                .any(|step| Some(&step.applied_by) != order.first().map(|s| &s.applied_by)),
            order,
            order_notes: of_order().filter(|f| f.severity == Severity::Info).map(statement).collect(),
            order_warned: of_order().any(|f| f.severity != Severity::Info),
            skew: if platform { skew(material, &oldest) } else { Skew::default() },
            proxy_pins: if platform { behind } else { 0 },
            one_way: one_way(material),
            crds_compared: rendered.done.iter().any(|r| r.to.name == CRDS),
            crds_move: moving(material).contains(CRDS),
            workloads: workloads::of(material),
        }
    }
}

/// Lists the deployments of charts that move: by sync wave, then by how much they wait for, then CRDs first.
fn order(material: &Material<'_>) -> Vec<Step> {
    let Material { plan, inventory, target, .. } = *material;
    let moving = moving(material);
    let all: Vec<&Deployment> = inventory
        .facts
        .deployments
        .iter()
        .filter(|d| target.covers(&d.path) && moving.contains(d.chart.as_str()) && !plan.leaves(d))
        .collect();
    let mut waits: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for deployment in &all {
        let names = deployment.depends_on.iter().flatten().map(|n| bare(n));
        waits.entry(&deployment.name).or_default().extend(names);
    }
    let mut steps: Vec<((i64, usize, Turn), Step)> = Vec::new();
    let mut known: BTreeMap<_, usize> = BTreeMap::new();
    for d in &all {
        let place = format!("{}:{}", d.path, d.line);
        let by = inventory.facts.applied_by(&d.path);
        let applied_by = by.iter().map(ToString::to_string).collect();
        let index = *known
            .entry((d.chart.as_str(), d.name.as_str(), &d.depends_on, d.sync_wave, by))
            .or_insert(steps.len());
        if let Some((_, step)) = steps.get_mut(index) {
            if !step.places.contains(&place) {
                step.places.push(place);
            }
            continue;
        }
        let rank = (d.sync_wave.unwrap_or_default(), depth(&d.name, &waits), turn(&d.chart));
        let step = Step {
            chart: d.chart.clone(),
            name: d.name.clone(),
            places: vec![place],
            waits_for: d.depends_on.clone(),
            wave: d.sync_wave,
            applied_by,
        };
        steps.push((rank, step));
    }
    steps.sort_by_key(|(rank, _)| *rank);
    steps.into_iter().map(|(_, step)| step).collect()
}

/// Names the charts whose pins move.
fn moving<'a>(material: &Material<'a>) -> BTreeSet<&'a str> {
    material.plan.moving().flat_map(|(pin, _)| pin.charts()).collect()
}

fn bare(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Counts how many names a release waits for, directly or through others.
fn depth<'d>(name: &'d str, waits: &BTreeMap<&'d str, BTreeSet<&'d str>>) -> usize {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&str> = vec![name];
    while let Some(next) = open.pop() {
        for wait in waits.get(next).into_iter().flatten() {
            if waits.contains_key(wait) && seen.insert(wait) {
                open.push(wait);
            }
        }
    }
    seen.len()
}

fn skew(material: &Material<'_>, proxies: &[EdgeVersion]) -> Skew {
    let Material { catalog, .. } = *material;
    let control_planes = control_planes(material);
    let Some(new) = control_planes.iter().map(|(_, after)| *after).max() else { return Skew::default() };
    // Where nothing pins a proxy, it is of its control plane's release.
    let oldest = control_planes.iter().map(|(before, _)| before).chain(proxies).min().copied();
    let milestones = &catalog.knowledge.milestones;
    let number = |version: EdgeVersion| milestones.iter().filter(|m| m.first <= version).count();
    let behind = oldest.filter(|v| number(*v) > 0).map(|v| number(new).saturating_sub(number(v)));
    let name = |version| catalog.milestone_of(version).map(str::to_owned);
    Skew {
        milestone: oldest.and_then(name),
        oldest: oldest.map(|v| v.to_string()),
        control_plane: name(new),
        behind,
    }
}

/// Lists the target's control planes before and after the plan. Pins that name no chart may be of one.
fn control_planes(material: &Material<'_>) -> Vec<(EdgeVersion, EdgeVersion)> {
    let Material { plan, target, .. } = *material;
    let may_be = |pin: &&Pin| pin.is_of_none() || pin.is_of(CONTROL_PLANE);
    let moves = plan.moving().map(|(pin, _)| pin);
    let moves = moves.filter(may_be).filter_map(deployed_at);
    let stays = plan
        .staying()
        .filter(|(_, reason)| !matches!(reason, Reason::NoEffect | Reason::NotDeployed))
        .map(|(pin, _)| pin);
    let stays = stays
        .filter(|pin| matches!(pin.form, Form::Chart | Form::Rendered) && target.has(pin))
        .filter(|pin| pin.is_of(CONTROL_PLANE))
        .filter_map(deployed_at);
    moves.map(|before| (before, plan.to)).chain(stays.map(|at| (at, at))).collect()
}

/// Says of the CRDs what going back does not undo: objects that were deleted with their definition, and objects that
/// are stored in a version which the definition before does not have.
fn one_way(material: &Material<'_>) -> Vec<String> {
    // Not every deployer heeds the annotation; the check knows which does.
    let goes = |name: &str| {
        let blocks = |f: &&Finding| f.check == CheckId::CrdRemoval && f.severity == Severity::Block;
        material.findings.iter().filter(blocks).any(|f| f.reason.contains(name))
    };
    let mut all: BTreeSet<String> = BTreeSet::new();
    for rendering in &material.rendered.done {
        let after = crds(&rendering.after.objects);
        for (name, old) in crds(&rendering.before.objects) {
            match after.get(name) {
                None if old.annotation(KEEP) != Some("keep") || goes(name) => {
                    all.insert(format!(
                        "`{name}` is removed: objects that are deleted with it do not come back"
                    ));
                }
                None => {}
                Some(new) => {
                    let known: Vec<&str> = versions(old).map(|(version, _)| version).collect();
                    let stored = versions(new).find(|(version, stored)| *stored && !known.contains(version));
                    all.extend(stored.map(|(version, _)| {
                        format!(
                            "`{name}` stores objects as {version}, which the release before does not know"
                        )
                    }));
                }
            }
        }
    }
    all.into_iter().collect()
}

fn crds(objects: &[Object]) -> BTreeMap<&str, &Object> {
    let crds = objects.iter().filter(|o| o.key.kind == "CustomResourceDefinition");
    crds.map(|crd| (crd.key.name.as_str(), crd)).collect()
}

/// The versions of a CRD, and whether objects are stored in each.
fn versions(crd: &Object) -> impl Iterator<Item = (&str, bool)> {
    let list = crd.at(&["spec", "versions"]).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|v| {
        Some((v.get("name")?.as_str()?, v.get("storage").and_then(Value::as_bool) == Some(true)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_more_comes_later_and_circles_end() {
        let waits: BTreeMap<&str, BTreeSet<&str>> = [
            ("crds", vec![]),
            ("cp", vec!["crds"]),
            ("viz", vec!["cp", "other"]),
            ("a", vec!["b"]),
            ("b", vec!["a"]),
        ]
        .into_iter()
        .map(|(name, waits)| (name, waits.into_iter().collect()))
        .collect();
        let depths = ["crds", "cp", "viz"].map(|name| depth(name, &waits));
        assert_eq!(depths, [0, 1, 2]);
        assert_eq!(depth("a", &waits), 2, "a circle");
    }
}

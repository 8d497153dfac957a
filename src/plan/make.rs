//! Step 6, plan: the plan of one target's stage.
//!
//! In: a [`Request`]. Out: a [`Plan`], nothing where every pin is where it should be, or [`PlanBlocked`] where pins
//! should move and none can. It does not decide whether a plan with obstacles is proposed: `verify` names them,
//! and `onBlock` decides.

use std::{collections::BTreeSet, fmt};

use super::{Judged, Options, Plan, Request, Stay, Target, edge_of, fingerprint, judge, standing::obstructs};
use crate::{
    linkerd::{EdgeVersion, Knowledge},
    pins::{Inventory, Line, PinKind, Reason, Stage},
    repo::RepoPath,
};

/// A stage in which pins should move and none can be edited. The repository must be fixed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct PlanBlocked {
    /// The target's name.
    pub target: String,
    /// The stage.
    pub stage: Stage,
    /// The release that the pins should go to.
    pub to: EdgeVersion,
    /// The pins that cannot be edited.
    pub stuck: Vec<Stuck>,
}

/// A pin that should move and cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The file.
    pub path: RepoPath,
    /// From 1.
    pub line: usize,
    /// The text as it stands.
    pub value: String,
    /// Why it cannot be edited.
    pub reason: Reason,
    /// The line elsewhere that keeps it.
    pub kept_by: Option<Line>,
}

/// Plans the moves of one target's stage.
pub fn plan(request: &Request<'_>) -> Result<Option<Plan>, PlanBlocked> {
    let Request { inventory, target, stage, to, .. } = *request;
    let of_stage = |m: &Judged| m.pin.stage == stage;
    let judged = judge(inventory, target, to, &request.catalog.knowledge, request.options)
        .into_iter()
        .filter(of_stage);
    let (moves, stays) = Judged::part(judged);
    if moves.is_empty() {
        let stuck = stuck(&stays);
        let blocked = PlanBlocked { target: target.name.clone(), stage, to, stuck };
        return if blocked.stuck.is_empty() { Ok(None) } else { Err(blocked) };
    }
    // What is off names the release that it was left at.
    let is_on = moves.iter().any(|m| !m.pin.is_off);
    let counted = moves.iter().filter(|m| !is_on || !m.pin.is_off);
    let older = counted.clone().any(|m| m.pin.version.is_none() && edge_of(&m.pin).is_some());
    let from: BTreeSet<EdgeVersion> = counted.filter_map(|m| edge_of(&m.pin)).collect();
    Ok(Some(Plan {
        target: target.name.clone(),
        stage,
        from: from.into_iter().collect(),
        older,
        to,
        hop_towards: request.hop_towards,
        published: request.catalog.get(to).and_then(|r| r.published),
        undoes: None,
        fingerprint: fingerprint::fingerprint(request, &moves),
        inputs: fingerprint::inputs(request, &moves),
        moves,
        stays,
    }))
}

/// Returns why the pins of a stage stay where something of it is behind a release, since it cannot be edited or its chart is in a
/// range that does not take it; `None` where nothing is.
pub fn resting_at(
    inventory: &Inventory,
    target: &Target,
    stage: Stage,
    to: EdgeVersion,
    knowledge: &Knowledge,
    options: &Options,
) -> Option<BTreeSet<Reason>> {
    let judged = judge(inventory, target, to, knowledge, options);
    let mine = || judged.iter().filter(|m| m.pin.stage == stage && m.pin.kind != PinKind::Other);
    let is_kept = |m: &Judged| m.pin.stays.is_none() && m.reason() == Some(Reason::ChartStays);
    let is_stuck =
        |m: &Judged| m.reason().is_some_and(obstructs) && edge_of(&m.pin).is_some_and(|at| at < to);
    mine().any(|m| is_kept(m) || is_stuck(m)).then(|| mine().filter_map(Judged::reason).collect())
}

/// Returns the pins of a stage that are known to be behind and cannot be edited. Where a pin's release cannot be
/// read (it is encrypted), nothing shows that it is behind.
fn stuck(stays: &[Stay]) -> Vec<Stuck> {
    let behind = stays.iter().filter(|stay| obstructs(stay.reason) && edge_of(&stay.pin).is_some());
    behind
        .map(|Stay { pin, reason }| Stuck {
            path: pin.path.clone(),
            line: pin.site.line,
            value: pin.value.clone(),
            reason: *reason,
            kept_by: pin.kept_by.clone(),
        })
        .collect()
}

// === impl PlanBlocked ===

impl fmt::Display for PlanBlocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, to, .. } = self;
        let stage = self.stage.name();
        write!(
            f,
            "no pin of target `{target}`, stage {stage}, can be moved to {to}; edit by hand or hold: "
        )?;
        let stuck: Vec<String> = self.stuck.iter().map(ToString::to_string).collect();
        f.write_str(&stuck.join("; "))
    }
}

// === impl Stuck ===

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, value, reason, kept_by } = self;
        write!(f, "{path}:{line}: `{value}` cannot be edited: {}", why(*reason))?;
        kept_by.iter().try_for_each(|(path, line)| write!(f, " ({path}:{line})"))
    }
}

/// Says in words why a pin cannot be edited.
fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::DuplicateKey => "its key is written twice",
        Reason::Shared => "something that must not move with Linkerd reads it too",
        Reason::Encrypted => "the file is encrypted",
        Reason::NeedsWorkflowsScope => {
            "a file under .github/workflows needs a token with the workflows scope"
        }
        _ => "its shape cannot be edited safely",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{linkerd::built_in, plan::testing::*};

    fn made(inventory: &Inventory, stage: Stage, to: &str) -> Result<Option<Plan>, PlanBlocked> {
        let (target, options, catalog) = (Target::default_all(), Options::default(), catalog(&[to]));
        let (catalog, options) = (&catalog, &options);
        let request = Request {
            inventory,
            target: &target,
            stage,
            to: edge(to),
            hop_towards: None,
            catalog,
            options,
            sources: &[],
        };
        plan(&request)
    }

    #[test]
    fn a_plan_has_the_moves_of_its_stage_and_the_pins_that_stay() {
        let inventory = Build::default()
            .chart("a.yaml", "linkerd-crds", "2026.8.2")
            .chart("b.yaml", "linkerd-viz", "2026.6.3")
            .chart("c.yaml", "linkerd-control-plane", "2026.8.3")
            .proxy("d.yaml", "edge-26.8.2")
            .inventory();
        let plan = made(&inventory, Stage::Platform, "edge-26.8.3").unwrap().unwrap();
        assert_eq!(plan.from, [edge("edge-26.6.3"), edge("edge-26.8.2")]);
        let moving = |plan: &Plan| plan.moving().map(|(pin, _)| pin.path.to_string()).collect::<Vec<_>>();
        assert_eq!(moving(&plan), ["a.yaml", "b.yaml"]);
        let staying: Vec<_> = plan.staying().map(|(pin, reason)| (pin.path.as_str(), reason)).collect();
        assert_eq!(staying, [("c.yaml", Reason::UpToDate)]);
        assert_eq!(plan.published, Some("2026-08-21T00:00:00Z".parse().unwrap()));
        let touched: Vec<_> = plan.touched().iter().map(|t| (t.path.to_string(), t.pins)).collect();
        assert_eq!(touched, [("a.yaml".to_owned(), 1), ("b.yaml".to_owned(), 1)]);
        let proxies = made(&inventory, Stage::DataPlane, "edge-26.8.3").unwrap().unwrap();
        assert_eq!(moving(&proxies), ["d.yaml"]);
    }

    #[test]
    fn what_is_switched_off_makes_no_origin_older() {
        let on = Build::default().chart("a.yaml", "linkerd-crds", "2026.8.2");
        let off = on.chart("b.yaml", "linkerd-viz", "1.16.9-edge").with(|p| p.is_off = true);
        let plan = made(&off.inventory(), Stage::Platform, "edge-26.8.3").unwrap().unwrap();
        assert_eq!((plan.moves.len(), plan.origins()), (2, vec!["edge-26.8.2".to_owned()]));
    }

    #[test]
    fn nothing_to_do_is_no_plan() {
        let inventory = Build::default().chart("a.yaml", "linkerd-crds", "2026.8.3").inventory();
        assert!(made(&inventory, Stage::Platform, "edge-26.8.3").unwrap().is_none());
        assert!(made(&inventory, Stage::DataPlane, "edge-26.8.3").unwrap().is_none());
    }

    #[test]
    fn what_stays_behind_with_its_range_is_not_up_to_date() {
        let (all, to) = (Target::default_all(), edge("edge-26.8.3"));
        let why = |range: &str, value: &str| {
            let build = Build::default().chart("a.yaml", "linkerd-control-plane", range).stays(Reason::Range);
            let build = build.value("b.yaml", "linkerd-control-plane", "linkerdVersion", value);
            let inventory = build.inventory();
            let why = resting_at(&inventory, &all, Stage::Platform, to, built_in(), &Options::default());
            (made(&inventory, Stage::Platform, "edge-26.8.3").unwrap().is_none(), why)
        };
        let stays = BTreeSet::from([Reason::Range, Reason::ChartStays]);
        assert_eq!(why("~2026.7.0", "edge-26.7.1"), (true, Some(stays)));
        assert_eq!(why("~2026.8.0", "edge-26.8.3"), (true, None));
    }

    #[test]
    fn what_cannot_be_edited_is_not_up_to_date_beside_what_is() {
        let (all, to) = (Target::default_all(), edge("edge-26.8.3"));
        let why = |crds: &str| {
            let build = Build::default().chart("a.yaml", "linkerd-crds", crds).stays(Reason::Shared);
            let build = build.chart("b.yaml", "linkerd-control-plane", "2026.8.3");
            resting_at(&build.inventory(), &all, Stage::Platform, to, built_in(), &Options::default())
        };
        assert_eq!(why("2026.8.2"), Some(BTreeSet::from([Reason::Shared, Reason::UpToDate])));
        assert_eq!(why("2026.8.3"), None);
    }

    #[test]
    fn a_stage_in_which_nothing_can_move_is_blocked_and_says_where() {
        let build = Build::default().chart("a.yaml", "linkerd-crds", "2026.8.2").stays(Reason::DuplicateKey);
        let text = made(&build.clone().inventory(), Stage::Platform, "edge-26.8.3").unwrap_err().to_string();
        assert!(text.contains("a.yaml:1: `2026.8.2`") && text.contains("written twice"), "{text}");
        let there = made(&build.clone().inventory(), Stage::Platform, "edge-26.8.2").unwrap();
        assert!(there.is_none(), "a pin that is where it should be blocks nothing");
        let shared = Build::default().chart("a.yaml", "linkerd-crds", "2026.8.2").stays(Reason::Shared);
        let shared = made(&shared.kept_by("app.yaml").inventory(), Stage::Platform, "edge-26.8.3");
        let text = shared.unwrap_err().to_string();
        assert!(
            text.ends_with("something that must not move with Linkerd reads it too (app.yaml:7)"),
            "{text}"
        );
        let held = Build::default().chart("a.yaml", "linkerd-crds", "2026.8.2").stays(Reason::Held);
        assert!(made(&held.inventory(), Stage::Platform, "edge-26.8.3").unwrap().is_none());
    }

    #[test]
    fn one_pin_that_cannot_be_edited_leaves_the_others_planned() {
        let inventory = Build::default()
            .chart("a.yaml", "linkerd-crds", "2026.8.2")
            .stays(Reason::Uneditable)
            .chart("b.yaml", "linkerd-viz", "2026.8.2")
            .inventory();
        let plan = made(&inventory, Stage::Platform, "edge-26.8.3").unwrap().unwrap();
        assert_eq!((plan.moves.len(), plan.stays.len()), (1, 1));
    }
}

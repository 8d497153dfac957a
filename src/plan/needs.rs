//! Step 6, plan: what a target's pins ask of a release.
//!
//! In: the inventory and a target. Out: [`Needs`], the policy's own type, so that policy never sees a file.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    Options, Served, Target,
    control_plane::ControlPlanes,
    edge_of,
    standing::{deployed_at, obstructs, ought_to_move},
    steps_from,
};
use crate::{
    linkerd::EdgeVersion,
    pins::{Form, Inventory, Pin, PinKind, Reason, Stage, canonical, lies_in},
    policy::{Beside, ChartNeed, Needs},
};

/// Fills the policy's needs from the pins of one target's stage.
///
/// Pins that may move and pins that are held count, and of the stops those too that somebody sets by hand; the others say nothing
/// of what this target runs from the edge channel. Where proxy pins are ignored, none of them may move. Of a mirror that cannot be asked nothing is demanded.
pub fn needs(inventory: &Inventory, target: &Target, stage: Stage, options: &Options) -> Needs {
    needs_towards(inventory, target, stage, options, None)
}

/// Fills them on the way to a release: proxies that run beside a control plane which is not there yet may not move either.
pub fn needs_towards(
    inventory: &Inventory,
    target: &Target,
    stage: Stage,
    options: &Options,
    to: Option<EdgeVersion>,
) -> Needs {
    let planes =
        to.map(|to| (to, ControlPlanes::now(inventory, target).with_configured(options.control_plane)));
    let mine = || inventory.pins().filter(|p| p.stage == stage && target.has(p));
    let free = || mine().filter(|p| p.stays.is_none() && !options.ignores(p));
    let behind = |p: &Pin| planes.as_ref().and_then(|(to, planes)| planes.behind(p, *to));
    let moving = || free().filter(|p| behind(p).is_none());
    let by_whomever = || mine().filter(|p| ought_to_move(p) && !options.ignores(p) && behind(p).is_none());
    let mut charts: BTreeSet<ChartNeed> = BTreeSet::new();
    let readers = moving().flat_map(Pin::readers);
    for reader in readers.filter(|reader| matches!(reader.form, Form::Chart | Form::Rendered)) {
        let Some(chart) = reader.chart else { continue };
        let mirror = match source(reader.mirror.as_deref(), &options.served) {
            Source::Index => None,
            Source::Mirror(mirror) => Some(mirror),
            Source::Unread => continue,
        };
        charts.insert(ChartNeed { chart, mirror });
    }
    let highest = mine().filter(|p| p.stays.is_none_or(Reason::is_deliberate)).filter_map(deployed_at).max();
    let is_unnamed = |p: &Pin| matches!(p.form, Form::Rendered | Form::Absent) && edge_of(p).is_none();
    let unnamed = moving().any(is_unnamed);
    let oldest = by_whomever().filter(|p| edge_of(p).is_some()).min_by_key(|p| edge_of(p));
    let late = free().filter(|p| to.is_some_and(|to| edge_of(p).is_none_or(|version| version < to)));
    Needs {
        charts: charts.into_iter().collect(),
        lowest: moving().filter_map(edge_of).min(),
        steps_from: by_whomever().filter_map(steps_from).min(),
        laggard: oldest.map(|pin| format!("`{}` in {}:{}", pin.value, pin.path, pin.site.line)),
        highest,
        unnamed,
        beside: if stage == Stage::Platform { beside(inventory, target) } else { None },
        waits: late.filter_map(behind).min(),
        suspended: free().filter_map(behind).filter(|waits| waits.is_suspended).min(),
        before: Vec::new(),
        absent: Vec::new(),
    }
}

/// Finds, of the installations that the target's pins serve which move or ought to, the one whose own pins, in another target,
/// are furthest behind.
fn beside(inventory: &Inventory, target: &Target) -> Option<Beside> {
    let moving = |mine: bool| {
        let all = inventory.pins().filter(|p| p.stage == Stage::Platform && ought_to_move(p));
        all.filter(move |p| target.has(p) == mine)
    };
    let served: BTreeSet<&Arc<str>> = moving(true).flat_map(|pin| pin.installations.iter()).collect();
    let others = moving(false).filter_map(|pin| {
        let installation = pin.installations.iter().find(|name| served.contains(name))?;
        Some(Beside { lowest: steps_from(pin)?, installation: installation.to_string() })
    });
    others.min()
}

/// Returns why the pins of a target's stage stay, where every one of them stays whatever the release is; `None` where
/// one may move, or ought to and cannot be edited.
pub fn resting(
    inventory: &Inventory,
    target: &Target,
    stage: Stage,
    options: &Options,
) -> Option<BTreeSet<Reason>> {
    let mine = |p: &&Pin| p.stage == stage && p.kind != PinKind::Other && target.has(p);
    inventory
        .pins()
        .filter(mine)
        .map(|pin| match pin.stays {
            None if options.ignores(pin) => Some(Reason::Ignored),
            stays => stays.filter(|reason| !obstructs(*reason)),
        })
        .collect()
}

/// Who can tell whether the chart of a pin is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The chart index: for the edge repository itself, and for the mirror of it that the index is of.
    Index,
    /// A mirror that the operator has named: the address that the chart is had from.
    Mirror(String),
    /// Nobody that the operator has named.
    Unread,
}

/// Tells who serves a chart, by the mirror that it comes from.
pub fn source(mirror: Option<&str>, served: &Served) -> Source {
    let Some(mirror) = mirror else { return Source::Index };
    let address = canonical(mirror);
    if served.index.as_ref().is_some_and(|index| canonical(index) == address) {
        Source::Index
    } else if served.mirrors.iter().any(|named| lies_in(&address, named)) {
        Source::Mirror(address)
    } else {
        Source::Unread
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::testing::{Build, edge},
        policy::Waits,
    };

    #[test]
    fn lowest_moves_highest_counts_held_pins_too() {
        let inventory = Build::default()
            .chart("a.yaml", "linkerd-crds", "2026.8.2")
            .chart("b.yaml", "linkerd-control-plane", "2026.6.3")
            .chart("c.yaml", "linkerd-viz", "2026.8.3")
            .stays(Reason::Held)
            .chart("d.yaml", "linkerd-viz", "2026.9.9")
            .stays(Reason::Channel)
            .proxy("e.yaml", "edge-26.1.1")
            .inventory();
        let needs = needs(&inventory, &Target::default_all(), Stage::Platform, &Options::default());
        assert_eq!((needs.lowest, needs.highest), (Some(edge("edge-26.6.3")), Some(edge("edge-26.8.3"))));
        let charts: Vec<&str> = needs.charts.iter().map(|c| c.chart.as_str()).collect();
        assert_eq!(charts, ["linkerd-control-plane", "linkerd-crds"], "a held chart asks for nothing");
    }

    #[test]
    fn what_somebody_sets_by_hand_asks_for_its_stop() {
        let asks = |crds: &dyn Fn(Build) -> Build| {
            let build = crds(Build::default().chart("cp.yaml", "linkerd-control-plane", "2025.8.1"));
            let (inventory, all) = (build.inventory(), Target::default_all());
            let needs = needs(&inventory, &all, Stage::Platform, &Options::default());
            assert_eq!(needs.lowest, Some(edge("edge-25.8.1")), "that is of what moves");
            (needs.steps_from, needs.laggard)
        };
        let crds = |build: Build| build.chart("crds.yaml", "linkerd-crds", "2025.2.3");
        let (from, laggard) = asks(&|build| crds(build).stays(Reason::Encrypted));
        assert_eq!(from, Some(edge("edge-25.2.3")));
        assert_eq!(laggard.as_deref(), Some("`2025.2.3` in crds.yaml:1"));
        let none = Some(edge("edge-25.8.1"));
        assert_eq!(asks(&|build| crds(build).stays(Reason::Held)).0, none);
        let sealed = asks(&|build| {
            let note = build.pin("crds.yaml", PinKind::RenderedManifest, "linkerd/cli edge-25.2.3");
            note.of("linkerd-crds").stays(Reason::Encrypted)
        });
        assert_eq!(sealed.0, none, "nobody sets a note");
    }

    #[test]
    fn what_is_off_goes_along_and_asks_nothing() {
        let inventory = |off: bool| {
            Build::default()
                .chart("a.yaml", "linkerd-crds", "2026.8.2")
                .chart("b.yaml", "linkerd-control-plane", "2025.2.3")
                .with(|pin| pin.is_off = off)
                .chart("c.yaml", "linkerd-viz", "2026.9.1")
                .with(|pin| pin.is_off = off)
                .inventory()
        };
        let needs =
            |off| needs(&inventory(off), &Target::default_all(), Stage::Platform, &Options::default());
        let (on, off) = (needs(false), needs(true));
        assert_eq!((on.steps_from, on.highest), (Some(edge("edge-25.2.3")), Some(edge("edge-26.9.1"))));
        assert_eq!((off.steps_from, off.highest), (Some(edge("edge-26.8.2")), Some(edge("edge-26.8.2"))));
        assert_eq!(off.lowest, Some(edge("edge-25.2.3")), "it moves all the same");
        let planes = ControlPlanes::now(&inventory(true), &Target::default_all());
        assert_eq!(planes.ceiling(std::iter::empty(), None), None, "no proxies run beside it");
    }

    #[test]
    fn a_stage_rests_where_no_pin_may_move_or_ought_to() {
        let all = Target::default_all();
        let build = Build::default()
            .chart("a.yaml", "linkerd-crds", "2026.8.2")
            .stays(Reason::Held)
            .chart("b.yaml", "linkerd-viz", "1.x")
            .stays(Reason::Channel)
            .proxy("c.yaml", "edge-26.8.2");
        let why = |inventory: &Inventory, stage, options| resting(inventory, &all, stage, &options);
        let inventory = build.clone().inventory();
        let platform = why(&inventory, Stage::Platform, Options::default());
        assert_eq!(platform, Some(BTreeSet::from([Reason::Channel, Reason::Held])));
        assert_eq!(why(&inventory, Stage::DataPlane, Options::default()), None);
        let ignoring = Options { proxies: crate::plan::Proxies::Ignore, ..Options::default() };
        assert_eq!(why(&inventory, Stage::DataPlane, ignoring), Some(BTreeSet::from([Reason::Ignored])));
        let stuck = build.chart("d.yaml", "linkerd-viz", "2026.8.2").stays(Reason::Encrypted).inventory();
        assert_eq!(why(&stuck, Stage::Platform, Options::default()), None, "that is for a person to fix");
    }

    #[test]
    fn each_place_is_demanded_the_charts_that_come_from_it() {
        let inventory = Build::default()
            .chart("a.yaml", "linkerd-crds", "2026.8.2")
            .chart("b.yaml", "linkerd-crds", "2026.8.2")
            .mirror("https://charts.example.com/linkerd/")
            .chart("c.yaml", "linkerd-viz", "2026.8.2")
            .mirror("oci://cr.example.com/charts")
            .inventory();
        let needed = |served: Served| {
            let options = Options { served, ..Options::default() };
            needs(&inventory, &Target::default_all(), Stage::Platform, &options).charts
        };
        let need = |chart: &str, mirror: Option<&str>| ChartNeed {
            chart: chart.to_owned(),
            mirror: mirror.map(str::to_owned),
        };
        let of_index = need("linkerd-crds", None);
        assert_eq!(
            needed(Served::default()),
            std::slice::from_ref(&of_index),
            "nothing of a mirror that nobody named"
        );
        let index = Some("https://charts.example.com/linkerd/index.yaml".to_owned());
        assert_eq!(needed(Served { index, ..Served::default() }), std::slice::from_ref(&of_index));
        let mirrors = vec!["https://charts.example.com".to_owned(), "oci://cr.example.com/charts".to_owned()];
        let of_mirror = need("linkerd-crds", Some("https://charts.example.com/linkerd"));
        let viz = need("linkerd-viz", Some("oci://cr.example.com/charts"));
        assert_eq!(needed(Served { mirrors, ..Served::default() }), [of_index, of_mirror, viz]);
    }

    #[test]
    fn a_version_of_several_charts_asks_for_each_of_them() {
        let inventory = Build::default()
            .pin("vars.yaml", PinKind::Variable, "2026.8.2")
            .of("linkerd-crds")
            .read_by(Some("linkerd-viz"), "viz.yaml")
            .read_by(None, "ns.yaml")
            .inventory();
        let charts = needs(&inventory, &Target::default_all(), Stage::Platform, &Options::default()).charts;
        let names: Vec<&str> = charts.iter().map(|need| need.chart.as_str()).collect();
        assert_eq!(names, ["linkerd-crds", "linkerd-viz"]);
    }

    #[test]
    fn the_data_plane_has_needs_of_its_own() {
        let inventory = Build::default()
            .chart("a.yaml", "linkerd-crds", "2026.8.3")
            .proxy("e.yaml", "edge-26.8.2")
            .proxy("f.yaml", "edge-26.6.3")
            .inventory();
        let needs = needs(&inventory, &Target::default_all(), Stage::DataPlane, &Options::default());
        assert_eq!((needs.lowest, needs.highest), (Some(edge("edge-26.6.3")), Some(edge("edge-26.8.2"))));
        assert!(needs.charts.is_empty());
    }

    #[test]
    fn proxies_beside_a_control_plane_that_is_behind_are_not_among_those_that_may_move() {
        let inventory = Build::default()
            .chart("a.yaml", "linkerd-control-plane", "2026.8.3")
            .serves(&["a"])
            .chart("b.yaml", "linkerd-control-plane", "2026.8.2")
            .serves(&["b"])
            .proxy("own.yaml", "edge-26.8.3")
            .serves(&["a"])
            .proxy("shared.yaml", "edge-26.8.1")
            .serves(&["a", "b"])
            .inventory();
        let of = |to: &str| {
            let (all, options) = (Target::default_all(), Options::default());
            needs_towards(&inventory, &all, Stage::DataPlane, &options, Some(edge(to)))
        };
        let ahead = of("edge-26.8.3");
        assert_eq!((ahead.lowest, ahead.highest), (Some(edge("edge-26.8.3")), Some(edge("edge-26.8.3"))));
        let (running, installation) = (Some(edge("edge-26.8.2")), Some("b".to_owned()));
        let of_b = Waits { running, installation, is_suspended: false };
        assert_eq!(ahead.waits, Some(of_b));
        let there = of("edge-26.8.2");
        assert_eq!((there.lowest, there.waits), (Some(edge("edge-26.8.1")), None));
        let mut inventory = inventory.clone();
        inventory.facts.suspended.insert("b".into());
        let (all, options) = (Target::default_all(), Options::default());
        let to = Some(edge("edge-26.8.1"));
        let level = needs_towards(&inventory, &all, Stage::DataPlane, &options, to);
        let of_b = Waits { running: None, installation: Some("b".to_owned()), is_suspended: true };
        assert_eq!((level.waits, level.suspended), (None, Some(of_b)), "also of proxies that are there");
    }
}

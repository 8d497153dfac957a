//! Step 6, plan: installations that go together, since what they share cannot go before them.
//!
//! In: the pins of a target by the installations that they serve. Out: groups of installations. What several of them read
//! may go before each of them where that is the order in which a release is installed anyway: the definitions before a
//! control plane. A control plane, an extension or the tag of an image does not go before the chart that it needs.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    linkerd::{Turn, turn},
    pins::{Form, Pin, Reader, Stage},
};

/// Returns, of those that read something, the ones that have a say in when it goes: those that are `silent` have none, unless
/// nobody else reads it, the first of them least.
pub(super) fn deciding(readers: &[Arc<str>], silent: &[&BTreeSet<Arc<str>>]) -> BTreeSet<Arc<str>> {
    let all: BTreeSet<Arc<str>> = readers.iter().cloned().collect();
    silent.iter().fold(all, |all, silent| {
        let moving: BTreeSet<Arc<str>> = all.difference(silent).cloned().collect();
        if moving.is_empty() { all } else { moving }
    })
}

/// Returns the groups of installations that move at once, each of at least two. Those that are `silent` are bound to nobody.
pub(super) fn together(pins: &[&Pin], silent: &[&BTreeSet<Arc<str>>]) -> Vec<BTreeSet<Arc<str>>> {
    let mut of: BTreeMap<BTreeSet<Arc<str>>, BTreeSet<Reader>> = BTreeMap::new();
    // Nothing needs what nothing runs.
    let moves = |pin: &&&Pin| pin.stage == Stage::Platform && pin.stays.is_none() && !pin.is_off;
    for pin in pins.iter().filter(moves) {
        let readers = pin.readers().filter(|reader| reader.stage == Stage::Platform);
        // Where it is read makes no difference.
        let readers = readers.map(|reader| Reader { places: Vec::new(), ..reader });
        of.entry(deciding(&pin.installations, silent)).or_default().extend(readers);
    }
    let mut groups: Vec<BTreeSet<Arc<str>>> = Vec::new();
    loop {
        let is_inside =
            |set: &BTreeSet<Arc<str>>| set.len() < 2 || groups.iter().any(|group| set.is_subset(group));
        let (inside, before): (Vec<_>, Vec<_>) = of.iter().partition(|(set, _)| is_inside(set));
        let cannot = |(set, first): &&(&BTreeSet<Arc<str>>, &BTreeSet<Reader>)| {
            let mut later = inside.iter().filter(|(own, _)| !own.is_disjoint(set));
            later.any(|(_, later)| first.iter().any(|first| later.iter().any(|later| needs(first, later))))
        };
        let bound: Vec<BTreeSet<Arc<str>>> =
            before.iter().filter(cannot).map(|(set, _)| (*set).clone()).collect();
        if bound.is_empty() {
            return groups;
        }
        groups = tied(groups.into_iter().chain(bound));
    }
}

/// Puts together sets that have something in common.
pub(super) fn tied(sets: impl Iterator<Item = BTreeSet<Arc<str>>>) -> Vec<BTreeSet<Arc<str>>> {
    let mut groups: Vec<BTreeSet<Arc<str>>> = Vec::new();
    for mut set in sets {
        groups.retain(|group| {
            let apart = group.is_disjoint(&set);
            if !apart {
                set.extend(group.iter().cloned());
            }
            apart
        });
        groups.push(set);
    }
    groups.sort();
    groups
}

/// Tells whether what would go first needs what would follow it.
fn needs(first: &Reader, later: &Reader) -> bool {
    let is_same = first.chart == later.chart || first.chart.is_none() || later.chart.is_none();
    let is_parted = is_same && (first.form == Form::Edge) != (later.form == Form::Edge);
    let turn = |reader: &Reader| reader.chart.as_deref().map_or(Turn::ControlPlane, turn);
    let (own, other) = (turn(first), turn(later));
    own >= Turn::ControlPlane && own > other || own == other && is_parted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::Build;

    const CHART: &str = "linkerd-control-plane";

    fn of(build: Build) -> Vec<String> {
        let inventory = build.inventory();
        let groups = together(&inventory.pins().collect::<Vec<_>>(), &[]);
        groups.iter().map(|group| group.iter().map(|name| &**name).collect::<Vec<_>>().join(" ")).collect()
    }

    fn three() -> Build {
        ["a", "b", "c"].iter().fold(Build::default(), |build, name| {
            let file = |part: &str| format!("{name}/{part}.yaml");
            build.chart(&file("cp"), CHART, "2026.8.2").serves(&[name])
        })
    }

    #[test]
    fn what_is_installed_first_goes_before_those_that_share_it() {
        assert_eq!(of(three()), [""; 0]);
        let crds = three().chart("base.yaml", "linkerd-crds", "2026.8.2").serves(&["a", "b"]);
        assert_eq!(
            of(crds.clone().chart("cni.yaml", "linkerd2-cni", "2026.8.2").serves(&["b", "c"])),
            [""; 0]
        );
        let all = crds.chart("cp.yaml", CHART, "2026.8.2").serves(&["d", "e"]);
        assert_eq!(of(all), [""; 0], "nothing is left for after it");
    }

    #[test]
    fn the_tag_of_an_image_goes_with_the_charts_that_read_it_and_a_chart_with_its_tags() {
        let tag = |build: Build| build.value("base.yaml", CHART, "proxy.image.version", "edge-26.8.2");
        assert_eq!(of(tag(three()).serves(&["a", "b"])), ["a b"]);
        assert_eq!(of(tag(three()).stays(crate::pins::Reason::Held).serves(&["a", "b"])), [""; 0]);
        let chart = |build: Build| build.chart("base.yaml", CHART, "2026.8.2").serves(&["d", "e"]);
        assert_eq!(of(tag(chart(three())).serves(&["d"])), ["d e"]);
        assert_eq!(of(tag(chart(three())).serves(&["d", "e"])), [""; 0]);
        let image = three().pin("images.yaml", crate::pins::PinKind::KustomizeImage, "edge-26.8.2");
        assert_eq!(of(image.serves(&["b", "c"])), ["b c"], "of no chart that is known");
    }

    #[test]
    fn nothing_goes_before_what_it_needs() {
        let viz = three().chart("viz.yaml", "linkerd-viz", "2026.8.2").serves(&["a", "c"]);
        assert_eq!(of(viz.clone()), ["a c"]);
        assert_eq!(of(viz.with(|pin| pin.is_off = true)), [""; 0], "nothing runs it");
        let crds = ["d", "e"].iter().fold(Build::default(), |build, name| {
            build.chart(&format!("{name}.yaml"), "linkerd-crds", "2026.8.2").serves(&[name])
        });
        assert_eq!(of(crds.chart("cp.yaml", CHART, "2026.8.2").serves(&["d", "e"])), ["d e"]);
        let jaeger = Build::default().chart("j.yaml", "linkerd-multicluster", "2026.8.2").serves(&["a"]);
        assert_eq!(of(jaeger.chart("viz.yaml", "linkerd-viz", "2026.8.2").serves(&["a", "b"])), [""; 0]);
    }

    #[test]
    fn those_that_are_bound_to_each_other_bind_others() {
        // What `a` and `b` share goes with them, so that what `b` and `c` share would go before what it needs.
        let build = three()
            .value("base.yaml", CHART, "proxy.image.version", "edge-26.8.2")
            .serves(&["a", "b"])
            .chart("crds.yaml", "linkerd-crds", "2026.8.2")
            .serves(&["a", "b"])
            .chart("cp.yaml", CHART, "2026.8.2")
            .serves(&["b", "d"]);
        assert_eq!(of(build), ["a b d"]);
    }
}

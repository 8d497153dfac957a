//! Step 8, verify: what a change leaves apart in one installation, since it lies in another target or in none.
//!
//! In: the plan's moves and all pins of the installations that they serve. Out: a `block` where a control plane would go ahead
//! of its CRDs, or images ahead of their chart; a `warn` where CRDs are held, suspended, left to Flux's image automation or of
//! another channel, or where their control plane is of one, where a helmfile brings a control plane and only another one CRDs, or
//! where a value keeps images old. What else the plan itself leaves behind is the business of the checks that look at its stays.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use super::{CheckId, Finding, Verification, listed, required_hop::by_stop};
use crate::{
    linkerd::{CRDS, EdgeVersion, is_control_plane},
    pins::{ChartVersions, Form, Pin, PinKind, Reason, Stage},
    plan::{edge_of, old_chart},
    repo::RepoPath,
};

const ID: CheckId = CheckId::VersionAgreement;
const TOGETHER: &str = "let one target have both files, or give each installation a text of its own";

const BOTH: &str = "bring the control plane to the edge channel too, or hold its CRDs";

/// Installations that one line names before it counts the rest.
const NAMED: usize = 5;

/// What would be apart at a pin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Apart {
    /// A control plane, ahead of its CRDs.
    Plane { at: EdgeVersion, by: Option<Reason> },
    /// A control plane, while its CRDs are of another channel: about as old as a release, where that is known.
    Channel { about: Option<EdgeVersion> },
    /// A control plane to which nothing brings CRDs, ahead of those that may be its own.
    Beside { at: EdgeVersion },
    /// Images, ahead of their chart.
    Images { at: EdgeVersion },
    /// A chart, ahead of its images.
    Chart,
}

/// A pin's place, what would be apart there, and its chart: said once for all the installations that it serves.
type Once<'a> = (&'a RepoPath, usize, Apart, String);

/// The pins of one installation, and what becomes of them.
struct Installation<'a> {
    to: EdgeVersion,
    pins: Vec<&'a Pin>,
    moving: &'a HashSet<*const Pin>,
    /// CRDs that helmfiles bring and that stay behind, where nothing brings it any: the first, and the oldest release.
    beside: Option<(&'a Pin, EdgeVersion)>,
}

/// Finds what would be apart in the installations of the moving pins.
pub(super) fn apart(input: &Verification<'_>) -> Vec<Finding> {
    if input.plan.stage != Stage::Platform || input.plan.undoes.is_some() {
        return Vec::new();
    }
    let moving: HashSet<*const Pin> = input.plan.moves.iter().map(|moved| Arc::as_ptr(&moved.pin)).collect();
    let crds: Vec<&Pin> = input.inventory.pins().filter(|pin| pin.is_of(CRDS)).collect();
    let with_crds: BTreeSet<&Arc<str>> = crds.iter().flat_map(|pin| pin.installations.iter()).collect();
    let is_run = |pin: &&Pin| pin.kind == PinKind::Helmfile && is_told(pin);
    let pins = crds.iter().copied().filter(is_run).collect();
    let run = Installation { to: input.plan.to, pins, moving: &moving, beside: None };
    let beside = run.pins.first().copied().zip(run.left(&run.pins));
    let names: BTreeSet<&Arc<str>> = input.moving().flat_map(|(pin, _)| pin.installations.iter()).collect();
    let mut found: BTreeMap<Once<'_>, (&Pin, Vec<&str>)> = BTreeMap::new();
    let mut of: BTreeMap<&Arc<str>, Vec<&Pin>> = names.into_iter().map(|name| (name, Vec::new())).collect();
    for pin in input.inventory.pins().filter(|pin| is_told(pin)) {
        for name in pin.installations.iter() {
            if let Some(pins) = of.get_mut(name) {
                pins.push(pin);
            }
        }
    }
    for (name, pins) in of {
        let beside = beside.filter(|_| !with_crds.contains(name));
        let installation = Installation { to: input.plan.to, pins, moving: &moving, beside };
        for (pin, chart, what) in installation.plane(input).into_iter().chain(installation.images(input)) {
            let key = (&pin.path, pin.site.span.start, what, chart);
            found.entry(key).or_insert((pin, Vec::new())).1.push(name);
        }
    }
    let told =
        found.into_iter().map(|((.., what, chart), (pin, names))| what.finding(input, pin, &chart, &names));
    told.chain(left_on_another_channel(input)).collect()
}

/// Finds control planes of another channel that CRDs would go ahead of.
fn left_on_another_channel(input: &Verification<'_>) -> Vec<Finding> {
    let served = |is_of: fn(&str) -> bool| -> BTreeSet<&Arc<str>> {
        let moving = input.moving().filter(|(pin, _)| fixes(pin, is_of));
        moving.flat_map(|(pin, _)| pin.installations.iter()).collect()
    };
    let (crds, planes) = (served(|name| name == CRDS), served(is_control_plane));
    let found = input.inventory.pins().filter(|pin| pin.stays == Some(Reason::Channel) && !pin.is_off);
    // Its images have the name of their channel.
    let is_chart = |pin: &&Pin| old_chart(&pin.value).is_some() && pin.charts().any(is_control_plane);
    let found = found.filter(is_chart).filter_map(|pin| {
        let is_left = |name: &&Arc<str>| crds.contains(name) && !planes.contains(name);
        let names: Vec<_> =
            pin.installations.iter().filter(is_left).map(|name| format!("`{name}`")).collect();
        let (value, to, of) = (&pin.value, input.plan.to, listed(names.iter().cloned(), NAMED));
        let text = format!(
            "the CRDs of {of} would go to {to} ahead of `{value}`, a control plane of another channel"
        );
        (!names.is_empty()).then(|| Finding::warn(ID, text).at_pin(pin).hint(BOTH))
    });
    found.collect()
}

/// Tells whether a pin says which release something runs.
fn is_told(pin: &Pin) -> bool {
    let tells = |reason| is_meant(reason) || matches!(reason, Reason::Shared | Reason::UpToDate);
    let is_told = pin.stays.is_none_or(tells) || is_of_another_channel(pin);
    pin.stage == Stage::Platform && !pin.is_off && is_told
}

/// Tells whether CRDs are of another channel than the edge channel.
fn is_of_another_channel(pin: &Pin) -> bool {
    pin.stays == Some(Reason::Channel) && pin.is_of(CRDS)
}

/// Tells whether whoever keeps a pin where it is means it.
fn is_meant(reason: Reason) -> bool {
    reason.is_deliberate() || reason == Reason::ManagedByFlux
}

fn fixes(pin: &Pin, is_of: impl Fn(&str) -> bool) -> bool {
    let is_version = |form| matches!(form, Form::Chart | Form::Rendered);
    pin.readers().any(|reader| is_version(reader.form) && reader.chart.as_deref().is_some_and(&is_of))
}

fn brings_crds(pin: &Pin) -> bool {
    is_of_another_channel(pin) || fixes(pin, |name| name == CRDS)
}

fn by_policy(release: &str) -> String {
    format!("let the image policy take {release}, or hold the control plane too")
}

fn by_hand(release: &str) -> String {
    format!("apply by hand the CRDs of {release}, or hold the control plane too")
}

fn by_merge(release: &str) -> String {
    format!("let these CRDs go to {release} before it where both are of one cluster")
}

// === impl Apart ===

impl Apart {
    fn finding(self, input: &Verification<'_>, pin: &Pin, chart: &str, names: &[&str]) -> Finding {
        let of = listed(names.iter().map(|name| format!("`{name}`")), NAMED);
        let (value, to, knowledge) = (&pin.value, input.plan.to, &input.catalog.knowledge);
        let found = match self {
            Self::Plane { at, by } => {
                let ahead = format!("the control plane of {of} would go to {to} ahead of its CRDs, which stay at {at}");
                match by {
                    Some(Reason::Suspended) => Finding::warn(ID, format!("{ahead} since they are suspended"))
                        .hint("resume them first, or hold the control plane too"),
                    Some(Reason::ManagedByFlux) => {
                        Finding::warn(ID, format!("{ahead} under Flux's image automation"))
                            .hint(by_stop(knowledge, (Some(at), to), by_policy))
                    }
                    Some(_) => Finding::warn(ID, format!("{ahead} by a comment"))
                        .hint(by_stop(knowledge, (Some(at), to), by_hand)),
                    None => {
                        Finding::block(ID, format!("{ahead} in another target, or in none")).hint(TOGETHER)
                    }
                }
            }
            Self::Channel { about } => {
                let text = format!(
                    "the control plane of {of} would go to {to} ahead of its CRDs, which stay at `{value}`, a version of \
                     another channel"
                );
                Finding::warn(ID, text).hint(by_stop(knowledge, (about, to), by_hand))
            }
            Self::Beside { at } => {
                let text = format!(
                    "the control plane of {of} would go to {to}, and only another helmfile brings CRDs, which stay at {at}"
                );
                Finding::warn(ID, text).hint(by_stop(knowledge, (Some(at), to), by_merge))
            }
            Self::Images { at } => Finding::block(
                ID,
                format!("`{value}` chooses images of {of} ahead of {chart}, which stays at {at} in another target, or in none"),
            )
            .hint(TOGETHER),
            Self::Chart => Finding::warn(
                ID,
                format!(
                    "`{value}` keeps images of {of} at that release under {chart} {}: it is in another target, or in none",
                    to.chart()
                ),
            )
            .hint(TOGETHER),
        };
        found.at_pin(pin)
    }
}

// === impl Installation ===

impl<'a> Installation<'a> {
    fn moves(&self, pin: &Pin) -> bool {
        self.moving.contains(&std::ptr::from_ref(pin))
    }

    /// Returns the release of a pin that stays behind.
    fn behind(&self, pin: &Pin) -> Option<EdgeVersion> {
        edge_of(pin).filter(|at| !self.moves(pin) && *at < self.to)
    }

    /// Returns the release at which all pins of a chart's version stay; one that arrives is enough, since which of several
    /// counts is not always known.
    fn left(&self, versions: &[&Pin]) -> Option<EdgeVersion> {
        let left: Option<Vec<EdgeVersion>> = versions.iter().map(|pin| self.behind(pin)).collect();
        left?.into_iter().min()
    }

    /// Finds a control plane that moves while its CRDs do not.
    fn plane(&self, input: &Verification<'_>) -> Option<(&'a Pin, String, Apart)> {
        let plane = self.pins.iter().find(|pin| self.moves(pin) && fixes(pin, is_control_plane))?;
        let all = self.pins.iter().copied().filter(|pin| brings_crds(pin));
        let (others, crds): (Vec<&'a Pin>, Vec<&'a Pin>) = all.partition(|pin| is_of_another_channel(pin));
        let Some(first) = crds.first().copied() else {
            let of_channel = |first: &&'a Pin| {
                (*first, CRDS.to_owned(), Apart::Channel { about: old_chart(&first.value) })
            };
            return others.first().map(of_channel).or_else(|| self.beside(plane));
        };
        let at = self.left(&crds)?;
        let by = first.stays.filter(|reason| is_meant(*reason));
        // What the plan leaves behind itself is told by its reason.
        let is_own = first.stays.is_some() && input.target.has(first);
        (by.is_some() || !is_own).then(|| (first, CRDS.to_owned(), Apart::Plane { at, by }))
    }

    /// Finds CRDs that may be those of a control plane without: of what people run nothing says that it is for another cluster.
    fn beside(&self, plane: &Pin) -> Option<(&'a Pin, String, Apart)> {
        let (first, at) = self.beside.filter(|_| plane.kind == PinKind::Helmfile)?;
        Some((first, CRDS.to_owned(), Apart::Beside { at }))
    }

    /// Says of versions at which release they stay, and whether any of them moves.
    fn fate(&self, versions: impl Iterator<Item = &'a Pin>) -> (Option<EdgeVersion>, bool) {
        let versions: Vec<&Pin> = versions.collect();
        (self.left(&versions), versions.iter().any(|version| self.moves(version)))
    }

    /// Finds images that move while their chart does not, and those that stay while it moves.
    fn images(&self, input: &Verification<'_>) -> Vec<(&'a Pin, String, Apart)> {
        let versions = ChartVersions::of(self.pins.iter().copied().filter(|pin| fixes(pin, |_| true)));
        let mut of_any: HashMap<String, (Option<EdgeVersion>, bool)> = HashMap::new();
        let mut found = Vec::new();
        for pin in self.pins.iter().copied().filter(|pin| pin.stays.is_none()) {
            let readers = pin.readers().filter(|reader| reader.form == Form::Edge);
            for chart in readers.filter_map(|reader| reader.chart) {
                let of_chart = |version: &&Pin| fixes(version, |name| name == chart);
                let fate = || self.fate(versions.going_with(pin, &chart).filter(of_chart));
                let (left, moves) = match pin.given_to.is_empty() {
                    true => *of_any.entry(chart.clone()).or_insert_with(fate),
                    false => fate(),
                };
                let what = match left {
                    Some(at) => self.moves(pin).then_some(Apart::Images { at }),
                    None => {
                        // What the plan leaves behind itself is told by its reason.
                        let is_behind = self.behind(pin).is_some() && !input.target.has(pin);
                        (is_behind && moves).then_some(Apart::Chart)
                    }
                };
                found.extend(what.map(|what| (pin, chart, what)));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        pins::{Form, PinKind, Reason},
        plan::testing::{Build, path},
        verify::{CheckId, Severity, testing::*},
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
        let wanted = [
            (Reason::Held, "by a comment"),
            (Reason::Suspended, "since they are suspended"),
            (Reason::ManagedByFlux, "under Flux's image automation"),
        ];
        for (reason, why) in wanted {
            let found = told(|b| {
                let crds = plane(b, "own/cp.yaml", &["a"])
                    .chart("own/crds.yaml", "linkerd-crds", "2026.8.2")
                    .serves(&["a"]);
                crds.stays(reason)
            });
            assert_eq!(found.len(), 2);
            let says = format!("stay at edge-26.8.2 {why}");
            assert!(found[0].starts_with("Warn: ") && found[0].ends_with(&says), "{found:?}");
        }
    }

    #[test]
    fn a_control_plane_goes_ahead_of_crds_of_another_channel() {
        let crds = |version: &'static str, reason| {
            let case = Case::default().pins(|b| {
                let b = plane(b, "cp.yaml", &["a"]).chart("crds.yaml", "linkerd-crds", version);
                b.serves(&["a"]).stays(reason).with(|pin| pin.form = Form::Opaque)
            });
            case.check(CheckId::VersionAgreement)
        };
        let found = crds("1.8.0", Reason::Channel);
        assert_eq!(severities(&found), [Severity::Warn]);
        assert_eq!(
            found[0].reason,
            "the control plane of `a` would go to edge-26.8.3 ahead of its CRDs, which stay at `1.8.0`, a version of another \
             channel"
        );
        let hint = |version| crds(version, Reason::Channel).remove(0).hint.unwrap();
        assert!(
            hint("1.8.0").starts_with("apply by hand the CRDs of edge-25.7.6 first and edge-26.8.3 after it")
        );
        assert!(hint("2026.8.2-fork.1").starts_with("apply by hand the CRDs of edge-26.8.3, or hold"));
        assert_eq!(crds("1.8.0", Reason::OptedOut), [], "nobody runs them");
        let beside = told(|b| {
            let b = plane(b, "own/cp.yaml", &["a"]).chart("own/crds.yaml", "linkerd-crds", "2026.8.2");
            let b = b.serves(&["a"]).chart("own/old.yaml", "linkerd-crds", "1.8.0").serves(&["a"]);
            b.stays(Reason::Channel).with(|pin| pin.form = Form::Opaque)
        });
        assert_eq!(beside, [""; 0], "others go with it");
    }

    #[test]
    fn crds_go_ahead_of_a_control_plane_of_another_channel() {
        let beside = |chart: &'static str, of: &'static [&'static str]| {
            told(|b| {
                let b = b.chart("own/crds.yaml", "linkerd-crds", "2026.8.2").serves(&["a", "c"]);
                let b = plane(b, "own/cp.yaml", &["c"]).chart("own/old.yaml", chart, "1.16.11").serves(of);
                b.stays(Reason::Channel).with(|pin| pin.form = Form::Opaque)
            })
        };
        let said = "Warn: the CRDs of `a` would go to edge-26.8.3 ahead of `1.16.11`, a control plane of another channel";
        assert_eq!(beside(PLANE, &["a", "b", "c"]), [said]);
        assert_eq!(beside(PLANE, &["b", "c"]), [""; 0], "one goes with them, or has others");
        assert_eq!(beside("linkerd-viz", &["a"]), [""; 0], "an extension");
    }

    #[test]
    fn crds_of_another_helmfile_may_be_those_of_a_control_plane_without() {
        let crds = |kind, version: &'static str, of: &'static [&'static str]| {
            told(|b| {
                let b = b.pin("own/helmfile.yaml", PinKind::Helmfile, "2026.8.2").of(PLANE).serves(&["a"]);
                b.pin("helmfile.yaml", kind, version).of("linkerd-crds").serves(of)
            })
        };
        assert_eq!(
            crds(PinKind::Helmfile, "2026.8.2", &["b"]),
            [
                "Warn: the control plane of `a` would go to edge-26.8.3, and only another helmfile brings CRDs, which stay at \
              edge-26.8.2"
            ]
        );
        assert_eq!(crds(PinKind::Helmfile, "2026.8.3", &["b"]), [""; 0], "they are there");
        assert_eq!(crds(PinKind::FluxHelmRelease, "2026.8.2", &["b"]), [""; 0], "its cluster is known");
        let range = told(|b| {
            let b = b.pin("own/helmfile.yaml", PinKind::Helmfile, "2026.8.2").of(PLANE).serves(&["a"]);
            let b = b.pin("crds.yaml", PinKind::Helmfile, "2026.x").of("linkerd-crds").serves(&["a"]);
            let b = b.stays(Reason::Range).pin("helmfile.yaml", PinKind::Helmfile, "2026.8.2");
            b.of("linkerd-crds").serves(&["b"])
        });
        assert_eq!(range, [""; 0], "it has its own");
    }

    #[test]
    fn crds_from_before_a_required_stop_are_led_by_it() {
        let hint = |crds: &str, reason| {
            let case = Case::default().pins(|b| {
                let b = plane(b, "cp.yaml", &["a"]).chart("crds.yaml", "linkerd-crds", crds);
                b.serves(&["a"]).stays(reason)
            });
            let mut found = case.check(CheckId::VersionAgreement).into_iter();
            found.find(|found| found.reason.contains("ahead of its CRDs")).unwrap().hint.unwrap()
        };
        let straight = "apply by hand the CRDs of edge-26.8.3, or hold the control plane too";
        assert_eq!(hint("2026.8.1", Reason::Held), straight);
        for (reason, stop) in [
            (Reason::Held, "apply by hand the CRDs of edge-25.7.6 first and edge-26.8.3 after it, or hold"),
            (Reason::ManagedByFlux, "let the image policy take edge-25.7.6 first and edge-26.8.3 after it"),
        ] {
            let hint = hint("2024.11.8", reason);
            assert!(hint.starts_with(stop), "{hint}");
        }
    }

    #[test]
    fn images_that_the_plan_itself_keeps_lie_in_no_other_target() {
        let ranged = |file: &'static str| {
            told(|b| {
                let b = plane(b, "own/fleet.yaml", &["a"]).chart("own/fleet.yaml", PLANE, "~2026.5");
                let b = b.serves(&["b"]).stays(Reason::Range);
                b.value(file, PLANE, "proxy.image.version", "edge-26.8.2").serves(&["a", "b"])
            })
        };
        let says = |file| ranged(file).iter().any(|text| text.contains("it is in another target"));
        assert_eq!((says("own/values.yaml"), says("values.yaml")), (false, true));
    }

    #[test]
    fn images_go_with_their_own_of_several_dependencies() {
        const VIZ: &str = "linkerd-viz";
        let of = |line: usize| {
            told(|b| {
                let b = b.chart("own/Chart.yaml", VIZ, "2026.8.1").serves(&["a"]).stays(Reason::Held);
                let b = b.chart("own/Chart.yaml", VIZ, "2026.8.2").serves(&["a"]).with(|p| p.is_off = true);
                let b = b.value("own/values.yaml", VIZ, "tap.image.tag", "edge-26.8.2").serves(&["a"]);
                b.with(|pin| pin.given_to = vec![(path("own/Chart.yaml"), line)])
            })
        };
        let blocks = |line| of(line).iter().any(|text| text.starts_with("Block: "));
        assert_eq!((blocks(1), blocks(2)), (true, false));
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
                "Block: `edge-26.8.2` chooses images of `b` ahead of linkerd-control-plane, which stays at edge-26.8.2 in another \
              target, or in none"
            ]
        );
        let many: Vec<String> = (0..7).map(|n| format!("c{n}")).collect();
        let all: Vec<&str> = many.iter().map(String::as_str).collect();
        let ahead = told(|b| {
            let charts = many.iter().fold(b, |b, name| plane(b, &format!("b/{name}.yaml"), &[name]));
            tag(charts, "own/base.yaml", &all)
        });
        assert!(
            matches!(&ahead[..], [one] if one.contains("`c0`, `c1`, `c2`, `c3`, `c4` and 2 more")),
            "{ahead:?}"
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

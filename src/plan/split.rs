//! Step 6, plan: targets that nobody lists one by one, from the installations of the pins.
//!
//! In: an inventory with its installations, a target or group, and the release that is wanted. Out: targets. One target is enough for what goes
//! together. An installation that cannot go along gets a target of its own: one with a required stop before the release,
//! one that is held, one on another channel. What several installations read goes with those that can; where one of those
//! that read it has a stop to make first, all that share a file with it wait together, and nobody else does. With a target
//! for each, what several read goes before them, and what cannot goes with them, in one target.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Share, Target, edge_of, standing::obstructs, target::DEFAULT, together::{tied, together};
use crate::{
    linkerd::{EdgeVersion, Knowledge, is_control_plane},
    pins::{Form, Inventory, Pin, Reason, Stage},
    repo::RepoPath,
};

/// The target of what several installations read.
const SHARED: &str = "shared";
/// Longer names of targets are not put together.
const LONGEST: usize = 48;

/// How targets are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// One.
    Whole,
    /// One, and one for each installation that cannot go along.
    #[default]
    Laggards,
    /// One for each installation, or for those that go together, and one before them for what several read.
    Each,
}

/// What targets are made for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The release that is wanted.
    pub to: Option<EdgeVersion>,
    /// What is known of releases.
    pub knowledge: &'a Knowledge,
    /// The names that the configuration gives.
    pub taken: &'a [&'a str],
}

/// What each part of an inventory is: pins by the installations that they serve, and files by their pins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    of: BTreeMap<Vec<Arc<str>>, usize>,
    files: BTreeMap<RepoPath, BTreeSet<usize>>,
}

/// The part of everything that has no other one.
const REST: usize = 0;

/// A part on the way to its target.
struct Named {
    name: String,
    /// The part that goes before it.
    after: Option<usize>,
}

/// What installations can do on the way to a release.
struct Standing {
    /// Too far behind for one step.
    far: BTreeSet<Arc<str>>,
    /// They stay, whatever the others do: by somebody's will, or since they are ahead.
    still: BTreeSet<Arc<str>>,
}

/// Makes targets of one, which is the first of them where it has what no other has; at least one.
pub fn split(inventory: &Inventory, whole: &Target, how: Split, wanted: Wanted<'_>) -> Vec<Target> {
    let all = &inventory.facts.installations;
    if how == Split::Whole || all.is_empty() || all.len() < 2 && how == Split::Laggards {
        return vec![whole.clone()];
    }
    let mine: Vec<&Pin> = inventory.pins().filter(|pin| whole.has(pin)).collect();
    let sets: BTreeSet<Vec<Arc<str>>> = mine.iter().map(|pin| pin.installations.to_vec()).collect();
    let (named, of) = match how {
        Split::Each => each(&sets, &together(&mine), whole, wanted.taken),
        _ => laggards(inventory, &sets, &standing(inventory, wanted.to, wanted.knowledge)),
    };
    let mut parts = Parts { of, files: BTreeMap::new() };
    for pin in &mine {
        let part = parts.part(&pin.installations);
        parts.files.entry(pin.path.clone()).or_default().insert(part);
    }
    let parts = Arc::new(parts);
    let used: BTreeSet<usize> = mine.iter().map(|pin| parts.part(&pin.installations)).collect();
    let target = |(n, part): (usize, &Named)| Target {
        name: part.name.clone(),
        share: Share::Part { parts: parts.clone(), mine: n },
        after: part.after.and_then(|n| named.get(n)).map(|before| before.name.clone()),
        ..whole.clone()
    };
    let made: Vec<Target> = named.iter().enumerate().filter(|(n, _)| used.contains(n)).map(target).collect();
    if made.is_empty() { vec![whole.clone()] } else { made }
}

/// Narrows a target to the pins that serve some of these installations, and none but these.
pub fn narrowed(inventory: &Inventory, whole: &Target, installations: &BTreeSet<Arc<str>>) -> Target {
    const MINE: usize = REST + 1;
    let serves = |pin: &&Pin| {
        let mut all = pin.installations.iter();
        !pin.installations.is_empty() && all.all(|name| installations.contains(name)) && whole.has(pin)
    };
    let mut parts = Parts::default();
    for pin in inventory.pins().filter(serves) {
        parts.of.insert(pin.installations.to_vec(), MINE);
        parts.files.entry(pin.path.clone()).or_default().insert(MINE);
    }
    Target { share: Share::Part { parts: Arc::new(parts), mine: MINE }, ..whole.clone() }
}

/// Returns the newest release that a pin that may move names: what the others are measured by where no release is wanted.
pub fn newest(inventory: &Inventory) -> Option<EdgeVersion> {
    inventory
        .pins()
        .filter(|pin| pin.stage == Stage::Platform && pin.stays.is_none())
        .filter_map(edge_of)
        .max()
}

/// Parts for each installation, or for those that go together, behind those for what several of them read. Where a name is
/// taken, or would not say whose it is, that of the group stands before it.
fn each(
    sets: &BTreeSet<Vec<Arc<str>>>,
    together: &[BTreeSet<Arc<str>>],
    whole: &Target,
    taken: &[&str],
) -> (Vec<Named>, BTreeMap<Vec<Arc<str>>, usize>) {
    let alone = sets.iter().filter(|set| set.len() == 1).map(|set| set.iter().cloned().collect());
    let owners = tied(together.iter().cloned().chain(alone));
    let owner = |set: &Vec<Arc<str>>| {
        owners.iter().position(|owner| !set.is_empty() && set.iter().all(|name| owner.contains(name)))
    };
    let (owned, several): (Vec<_>, Vec<_>) =
        sets.iter().filter(|set| !set.is_empty()).partition(|set| owner(set).is_some());
    let groups = tied(several.iter().map(|set| set.iter().cloned().collect()));
    let own = |name: &str| match whole.name == DEFAULT {
        true => name.to_owned(),
        false => format!("{}-{name}", whole.name),
    };
    let mut named = vec![Named { name: whole.name.clone(), after: None }];
    let mut of = BTreeMap::new();
    for group in &groups {
        let first = group.iter().next().map_or("", |name| name);
        let name = if groups.len() == 1 { own(SHARED) } else { own(&format!("{SHARED}-{first}")) };
        let mine = several.iter().filter(|set| set.iter().any(|name| group.contains(name)));
        of.extend(mine.map(|set| ((*set).clone(), named.len())));
        named.push(Named { name, after: None });
    }
    for (n, installations) in owners.iter().enumerate() {
        let after = groups.iter().position(|group| !group.is_disjoint(installations)).map(|n| n + 1);
        of.extend(owned.iter().filter(|set| owner(set) == Some(n)).map(|set| ((*set).clone(), named.len())));
        let name = joined(installations);
        let name = if taken.contains(&&*name) { own(&name) } else { name };
        named.push(Named { name, after });
    }
    (named, of)
}

/// One part, and one for each installation that cannot go along.
fn laggards(
    inventory: &Inventory,
    sets: &BTreeSet<Vec<Arc<str>>>,
    standing: &Standing,
) -> (Vec<Named>, BTreeMap<Vec<Arc<str>>, usize>) {
    let mut named = vec![Named { name: DEFAULT.to_owned(), after: None }];
    let mut of = BTreeMap::new();
    let Standing { far, still } = standing;
    let all = &inventory.facts.installations;
    let goes = |name: &&Arc<str>| !far.contains(*name) && !still.contains(*name);
    // Where all have a stop to make, they make it together.
    let far = if all.iter().any(|name| goes(&name)) { far.clone() } else { BTreeSet::new() };
    if far.is_empty() && all.iter().all(|name| still.contains(name)) {
        return (named, of);
    }
    for name in still.iter().filter(|name| sets.contains(&vec![(*name).clone()])) {
        of.insert(vec![name.clone()], named.len());
        named.push(Named { name: name.to_string(), after: None });
    }
    // Those that stay have no say in what others share with them.
    let moving = |set: &Vec<Arc<str>>| -> BTreeSet<Arc<str>> {
        set.iter().filter(|name| !still.contains(*name)).cloned().collect()
    };
    let behind = |set: &Vec<Arc<str>>| {
        let moving = moving(set);
        !moving.is_empty() && moving.is_subset(&far)
    };
    for group in tied(sets.iter().filter(|set| behind(set)).map(moving)) {
        let mine = sets.iter().filter(|set| behind(set) && moving(set).is_subset(&group));
        of.extend(mine.map(|set| (set.clone(), named.len())));
        named.push(Named { name: joined(&group), after: None });
    }
    wait_together(inventory, sets, &far, &mut named, &mut of);
    (named, of)
}

/// Sets those apart that share what moves with one that has a stop to make, unless that is everybody.
fn wait_together(
    inventory: &Inventory,
    sets: &BTreeSet<Vec<Arc<str>>>,
    far: &BTreeSet<Arc<str>>,
    named: &mut Vec<Named>,
    of: &mut BTreeMap<Vec<Arc<str>>, usize>,
) {
    let moving = inventory.pins().filter(|pin| pin.stage == Stage::Platform && pin.stays.is_none());
    let mixed: BTreeSet<BTreeSet<Arc<str>>> = moving
        .map(|pin| pin.installations.iter().cloned().collect::<BTreeSet<_>>())
        .filter(|set| !set.is_disjoint(far) && !set.is_subset(far))
        .collect();
    let left: BTreeSet<Arc<str>> = sets
        .iter()
        .filter(|set| !of.contains_key(*set))
        .flatten()
        .filter(|n| !far.contains(*n))
        .cloned()
        .collect();
    for group in tied(mixed.into_iter()) {
        let waits: BTreeSet<Arc<str>> = group.difference(far).cloned().collect();
        if left.is_subset(&waits) {
            return;
        }
        let first = group.intersection(far).next().map_or("", |name| name);
        let mine = sets.iter().filter(|set| !of.contains_key(*set) && set.iter().any(|n| waits.contains(n)));
        let mine: Vec<_> = mine.map(|set| (set.clone(), named.len())).collect();
        of.extend(mine);
        named.push(Named { name: format!("with-{first}"), after: None });
    }
}

fn joined(group: &BTreeSet<Arc<str>>) -> String {
    let all = group.iter().map(|name| &**name).collect::<Vec<_>>().join("-");
    match group.iter().next() {
        Some(first) if all.len() > LONGEST => format!("{first}-and-{}-more", group.len() - 1),
        _ => all,
    }
}

/// Finds the installations that cannot go along.
fn standing(inventory: &Inventory, to: Option<EdgeVersion>, knowledge: &Knowledge) -> Standing {
    let mut platform: BTreeMap<&Arc<str>, Vec<&Pin>> = BTreeMap::new();
    for pin in inventory.pins().filter(|pin| pin.stage == Stage::Platform) {
        pin.installations.iter().for_each(|name| platform.entry(name).or_default().push(pin));
    }
    let mut standing = Standing { far: BTreeSet::new(), still: BTreeSet::new() };
    for (name, pins) in platform {
        let of = |counts: &dyn Fn(&Pin) -> bool| -> Vec<EdgeVersion> {
            pins.iter().filter(|pin| counts(pin)).filter_map(|pin| edge_of(pin)).collect()
        };
        let lowest = of(&|pin| pin.stays.is_none()).into_iter().min();
        let highest = of(&|pin| matches!(pin.stays, None | Some(Reason::Held))).into_iter().max();
        if is_still(&pins) || highest.zip(to).is_some_and(|(highest, to)| highest > to) {
            standing.still.insert(name.clone());
        } else if lowest.zip(to).is_some_and(|(lowest, to)| knowledge.hop(lowest, to).is_some()) {
            standing.far.insert(name.clone());
        }
    }
    standing
}

/// Tells whether an installation stays by somebody's will: its control plane is held, or nothing of it may move and
/// something of it is held or on another channel.
fn is_still(platform: &[&Pin]) -> bool {
    let is_plane = |pin: &Pin| {
        pin.readers().any(|reader| {
            let is_version = matches!(reader.form, Form::Chart | Form::Rendered);
            is_version && reader.chart.as_deref().is_some_and(is_control_plane)
        })
    };
    let held = platform.iter().any(|pin| is_plane(pin) && pin.stays == Some(Reason::Held));
    let rests = platform.iter().all(|pin| pin.stays.is_some_and(|reason| !obstructs(reason)));
    let mut reasons = platform.iter().filter_map(|pin| pin.stays);
    held || rests && reasons.any(|reason| matches!(reason, Reason::Held | Reason::Channel))
}

// === impl Parts ===

impl Parts {
    fn part(&self, installations: &[Arc<str>]) -> usize {
        self.of.get(installations).copied().unwrap_or(REST)
    }

    pub(super) fn has(&self, part: usize, pin: &Pin) -> bool {
        self.part(&pin.installations) == part
    }

    pub(super) fn serve(&self, part: usize, installation: &str) -> bool {
        let mut mine = self.of.iter().filter(|(_, of)| **of == part);
        mine.any(|(set, _)| set.iter().any(|name| **name == *installation))
    }

    pub(super) fn covers(&self, part: usize, path: &RepoPath) -> bool {
        self.files.get(path).map_or(part == REST, |parts| parts.contains(&part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::{Build, edge, target};

    const CHART: &str = "linkerd-control-plane";

    fn wanted<'a>(taken: &'a [&'a str]) -> Wanted<'a> {
        Wanted { to: Some(edge("edge-26.8.3")), knowledge: crate::linkerd::built_in(), taken }
    }

    /// What each target has: its name and its files.
    fn targets(inventory: &Inventory, how: Split) -> Vec<String> {
        let made = split(inventory, &Target::default_all(), how, wanted(&[]));
        let files = |target: &Target| {
            let mine = inventory.pins().filter(|pin| target.has(pin)).map(|pin| pin.path.as_str());
            mine.collect::<Vec<_>>().join(" ")
        };
        let one = |target: &Target| format!("{}: {}", target.name, files(target));
        let all = inventory.pins();
        assert!(all.clone().all(|pin| made.iter().filter(|target| target.has(pin)).count() == 1));
        assert!(all.clone().all(|pin| made.iter().filter(|t| t.has(pin)).all(|t| t.covers(&pin.path))));
        made.iter().map(one).collect()
    }

    fn fleet() -> Build {
        Build::default()
            .chart("a.yaml", CHART, "2026.8.2")
            .serves(&["a"])
            .chart("b.yaml", CHART, "2026.8.1")
            .serves(&["b"])
            .chart("far.yaml", CHART, "2025.2.3")
            .serves(&["far"])
            .chart("held.yaml", CHART, "2026.6.3")
            .stays(Reason::Held)
            .serves(&["held"])
            .chart("stable.yaml", CHART, "1.16.11")
            .stays(Reason::Channel)
            .serves(&["stable"])
            .proxy("team.yaml", "edge-26.8.1")
    }

    #[test]
    fn an_installation_that_cannot_go_along_has_a_target_of_its_own() {
        let found = targets(&fleet().inventory(), Split::Laggards);
        assert_eq!(
            found,
            ["default: a.yaml b.yaml team.yaml", "held: held.yaml", "stable: stable.yaml", "far: far.yaml"]
        );
    }

    #[test]
    fn where_nobody_can_go_along_nobody_is_set_apart() {
        let far = |build: Build| build.chart("a.yaml", CHART, "2025.2.3").serves(&["a"]);
        let both = far(Build::default()).chart("b.yaml", CHART, "2025.1.1").serves(&["b"]);
        assert_eq!(targets(&both.inventory(), Split::Laggards), ["default: a.yaml b.yaml"]);
        let held = |build: Build, name: &str| {
            build.chart(&format!("{name}.yaml"), CHART, "2026.8.2").stays(Reason::Held).serves(&[name])
        };
        let both = held(held(Build::default(), "a"), "b").inventory();
        assert_eq!(targets(&both, Split::Laggards), ["default: a.yaml b.yaml"]);
        let one = held(far(Build::default()), "b").inventory();
        assert_eq!(targets(&one, Split::Laggards), ["default: a.yaml", "b: b.yaml"]);
    }

    #[test]
    fn those_that_share_with_a_laggard_wait_and_nobody_else_does() {
        let build = fleet().chart("base.yaml", "linkerd-crds", "2026.8.1").serves(&["b", "far"]);
        assert_eq!(
            targets(&build.inventory(), Split::Laggards),
            [
                "default: a.yaml team.yaml",
                "held: held.yaml",
                "stable: stable.yaml",
                "far: far.yaml",
                "with-far: b.yaml base.yaml"
            ]
        );
        let all = fleet().chart("base.yaml", "linkerd-crds", "2026.8.1").serves(&["a", "b", "far"]);
        let found = targets(&all.inventory(), Split::Laggards);
        assert_eq!(found[0], "default: a.yaml b.yaml base.yaml team.yaml");
        let held = fleet().chart("base.yaml", "linkerd-crds", "2026.8.1").serves(&["a", "held"]);
        assert_eq!(
            targets(&held.inventory(), Split::Laggards)[0],
            "default: a.yaml b.yaml base.yaml team.yaml"
        );
    }

    #[test]
    fn laggards_that_share_go_together() {
        let build = fleet()
            .chart("further.yaml", CHART, "2025.1.1")
            .serves(&["further"])
            .chart("old.yaml", "linkerd-crds", "2025.1.1")
            .serves(&["far", "further"]);
        let found = targets(&build.inventory(), Split::Laggards);
        assert!(found.contains(&"far-further: far.yaml further.yaml old.yaml".to_owned()), "{found:?}");
    }

    #[test]
    fn each_installation_has_its_target_and_what_they_share_goes_before_them() {
        let build = fleet().chart("base.yaml", "linkerd-crds", "2026.8.1").serves(&["a", "b"]);
        let inventory = build.inventory();
        assert_eq!(
            targets(&inventory, Split::Each),
            [
                "default: team.yaml",
                "shared: base.yaml",
                "a: a.yaml",
                "b: b.yaml",
                "far: far.yaml",
                "held: held.yaml",
                "stable: stable.yaml"
            ]
        );
        let made = split(&inventory, &Target::default_all(), Split::Each, wanted(&[]));
        let after: Vec<_> = made.iter().map(|target| target.after.as_deref()).collect();
        assert_eq!(after[..5], [None, None, Some("shared"), Some("shared"), None]);
    }

    #[test]
    fn installations_that_share_what_cannot_go_before_them_have_one_target() {
        let build = fleet()
            .value("base.yaml", CHART, "proxy.image.version", "edge-26.8.1")
            .serves(&["a", "b"])
            .chart("crds.yaml", "linkerd-crds", "2026.8.1")
            .serves(&["a", "b", "far"]);
        let inventory = build.inventory();
        let made = split(&inventory, &Target::default_all(), Split::Each, wanted(&["a-b"]));
        let named = |target: &Target| format!("{} after {:?}", target.name, target.after.as_deref());
        let names: Vec<String> = made.iter().map(named).collect();
        assert_eq!(
            names[..4],
            [
                "default after None",
                "shared after None",
                "a-b after Some(\"shared\")",
                "far after Some(\"shared\")"
            ]
        );
        assert_eq!(targets(&inventory, Split::Each)[2], "a-b: a.yaml b.yaml base.yaml");
    }

    #[test]
    fn a_narrowed_target_has_what_serves_its_installations_and_nobody_else() {
        let inventory = Build::default()
            .chart("set.yaml", CHART, "2026.8.2")
            .serves(&["eu"])
            .chart("set.yaml", CHART, "2026.8.3")
            .serves(&["lab"])
            .chart("base.yaml", "linkerd-crds", "2026.8.2")
            .serves(&["eu", "lab"])
            .chart("both.yaml", "linkerd-crds", "2026.8.2")
            .serves(&["eu", "us"])
            .chart("us.yaml", CHART, "2026.8.2")
            .serves(&["us"])
            .proxy("team.yaml", "edge-26.8.1")
            .inventory();
        let of = |names: &[&str]| {
            let names = names.iter().map(|name| Arc::from(*name)).collect();
            narrowed(&inventory, &Target::default_all(), &names)
        };
        let (prod, lab) = (of(&["eu", "us"]), of(&["lab"]));
        let files = |target: &Target| -> Vec<String> {
            let mine = inventory.pins().filter(|pin| target.has(pin));
            mine.map(|pin| format!("{} {}", pin.path, pin.value)).collect()
        };
        assert_eq!(files(&prod), ["both.yaml 2026.8.2", "set.yaml 2026.8.2", "us.yaml 2026.8.2"]);
        assert_eq!(files(&lab), ["set.yaml 2026.8.3"]);
        // One file of both is no overlap; what serves both is in neither.
        let assigned = crate::plan::assign(&inventory, &[prod.clone(), lab]).unwrap();
        let outside: Vec<&str> = assigned.outside.iter().map(|pin| pin.path.as_str()).collect();
        assert_eq!(outside, ["base.yaml", "team.yaml"]);
        assert!(crate::plan::assign(&inventory, &[prod.clone(), Target::default_all()]).is_err());
        let each =
            split(&inventory, &Target { name: "prod".to_owned(), ..prod }, Split::Each, wanted(&["prod"]));
        let names: Vec<&str> = each.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["prod-shared", "eu", "us"]);
    }

    #[test]
    fn a_group_has_a_target_for_each_installation_in_its_files() {
        let build = Build::default()
            .chart("prod/eu.yaml", CHART, "2026.8.2")
            .serves(&["eu"])
            .chart("prod/us.yaml", CHART, "2026.8.2")
            .serves(&["us"])
            .chart("prod/base.yaml", "linkerd-crds", "2026.8.2")
            .serves(&["eu", "us"])
            .chart("staging/cp.yaml", CHART, "2026.8.3")
            .serves(&["staging"])
            .proxy("prod/team.yaml", "edge-26.8.1");
        let inventory = build.inventory();
        let group = |name: &str, taken: &[&str]| -> Vec<String> {
            let whole = Target { name: name.to_owned(), ..target(name, &[name], &[]) };
            let made = split(&inventory, &whole, Split::Each, wanted(taken));
            assert!(made.iter().all(|one| !inventory.pins().any(|pin| one.has(pin) && !whole.has(pin))));
            made.into_iter().map(|one| one.name).collect()
        };
        let taken = ["prod", "staging"];
        assert_eq!(group("prod", &taken), ["prod", "prod-shared", "eu", "us"]);
        assert_eq!(group("prod", &["prod", "eu"]), ["prod", "prod-shared", "prod-eu", "us"]);
        assert_eq!(group("staging", &taken), ["staging-staging"]);
        assert_eq!(group("lab", &taken), ["lab"], "a group without a pin is one target");
    }
}

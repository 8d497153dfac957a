//! Step 6, plan: targets that nobody lists one by one, from the installations of the pins.
//!
//! In: an inventory with its installations, a target or group, and the release that is wanted. Out: targets. One target is enough for what goes
//! together. An installation that cannot go along gets a target of its own: one with a required stop before the release,
//! one that is held, one on another channel; what several such read, and nobody else, has one too. What several installations
//! read goes with those that can; where one of those that read it has a stop to make first, all that share a file with it wait
//! together, and nobody else does. With a target for each, what several read goes before them, and what cannot goes with
//! them, in one target.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Share, Target,
    control_plane::is_beside_live,
    edge_of,
    standing::{deployed_at, obstructs, ought_to_move},
    steps_from,
    target::DEFAULT,
    together::{deciding, tied, together},
};
use crate::{
    linkerd::{EdgeVersion, Knowledge, is_control_plane},
    pins::{Form, Inventory, Pin, PinKind, Reason, Stage},
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
    /// The same by part: there may be thousands of parts, most with one set, and each is asked for every pin.
    sets: BTreeMap<usize, BTreeSet<Vec<Arc<str>>>>,
    files: BTreeMap<RepoPath, BTreeSet<usize>>,
}

/// Those that read something together, with the ones of them that have a say in when it goes.
type Sets = BTreeMap<Vec<Arc<str>>, BTreeSet<Arc<str>>>;

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
    /// Too far behind for one step, to the release that is wanted or to where others are.
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
    let (standing, proxies) = (standing(inventory, wanted.to, wanted.knowledge), proxies_alone(&mine));
    let (mut named, of) = match how {
        Split::Each => {
            let bound = together(&mine, &[&standing.still]);
            let late = standing.late(&bound);
            let silent = [&standing.still, &late];
            let bound = if late.is_empty() { bound } else { together(&mine, &silent) };
            each(&shared(sets, &proxies, &silent), &awaited(&mine), &bound, whole, wanted.taken)
        }
        _ => laggards(inventory, &sets, &proxies, &standing),
    };
    tell_apart(&mut named);
    let mut parts = Parts::new(of);
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
    let of = inventory.pins().filter(serves).map(|pin| (pin.installations.to_vec(), MINE));
    let mut parts = Parts::new(of.collect());
    for pin in inventory.pins().filter(serves) {
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

/// Says of each set of installations that read something who has a say in when it goes. Proxies alone are everybody's who runs
/// them.
fn shared(
    sets: BTreeSet<Vec<Arc<str>>>,
    proxies: &BTreeSet<Vec<Arc<str>>>,
    silent: &[&BTreeSet<Arc<str>>],
) -> Sets {
    let of = |set: &Vec<Arc<str>>| match proxies.contains(set) {
        true => set.iter().cloned().collect(),
        false => deciding(set, silent),
    };
    sets.into_iter().map(|set| (of(&set), set)).map(|(of, set)| (set, of)).collect()
}

/// Returns the sets of installations that read something of the platform together which moves, or ought to: what stays brings
/// nothing that anybody waits for.
fn awaited(mine: &[&Pin]) -> BTreeSet<Vec<Arc<str>>> {
    let moves = |pin: &&&Pin| {
        let may_move = pin.stays.is_none_or(obstructs) && !pin.is_off;
        pin.stage == Stage::Platform && pin.kind != PinKind::Other && may_move
    };
    mine.iter().filter(moves).map(|pin| pin.installations.to_vec()).collect()
}

/// Parts for each installation, or for those that go together, behind those for what several of them read. Where a name is
/// taken, or would not say whose it is, that of the group stands before it.
fn each(
    sets: &Sets,
    awaited: &BTreeSet<Vec<Arc<str>>>,
    together: &[BTreeSet<Arc<str>>],
    whole: &Target,
    taken: &[&str],
) -> (Vec<Named>, BTreeMap<Vec<Arc<str>>, usize>) {
    let alone = sets.values().filter(|names| names.len() == 1).cloned();
    let owners = tied(together.iter().cloned().chain(alone));
    // No installation has two owners.
    let owner_of: BTreeMap<&Arc<str>, usize> =
        (0..).zip(&owners).flat_map(|(n, owner)| owner.iter().map(move |name| (name, n))).collect();
    let owner = |names: &BTreeSet<Arc<str>>| {
        let first = owner_of.get(names.first()?).copied()?;
        names.iter().all(|name| owner_of.get(name) == Some(&first)).then_some(first)
    };
    let (mut owned, mut several) = (vec![Vec::new(); owners.len()], Vec::new());
    for (set, names) in sets.iter().filter(|(set, _)| !set.is_empty()) {
        match owner(names).and_then(|owner| owned.get_mut(owner)) {
            Some(owned) => owned.push(set.clone()),
            None => several.push((set, names)),
        }
    }
    // Those who go together wait for all that any of them reads.
    let sharing: BTreeSet<&Arc<str>> = several.iter().flat_map(|(_, names)| *names).collect();
    let bound = owners.iter().filter(|owner| owner.iter().any(|name| sharing.contains(name)));
    let groups = tied(several.iter().map(|(_, names)| *names).chain(bound).cloned());
    let own = |name: &str| match whole.name == DEFAULT {
        true => name.to_owned(),
        false => format!("{}-{name}", whole.name),
    };
    let mut named = vec![Named { name: whole.name.clone(), after: None }];
    let mut of = BTreeMap::new();
    for group in &groups {
        let first = group.iter().next().map_or("", |name| name);
        let name = if groups.len() == 1 { own(SHARED) } else { own(&format!("{SHARED}-{first}")) };
        let mine = several.iter().filter(|(_, names)| !names.is_disjoint(group));
        of.extend(mine.map(|(set, _)| ((*set).clone(), named.len())));
        named.push(Named { name, after: None });
    }
    several.retain(|(set, _)| awaited.contains(*set));
    for (installations, owned) in owners.iter().zip(owned) {
        let first = several.iter().find(|(_, names)| !names.is_disjoint(installations));
        let after = first.and_then(|(_, names)| groups.iter().position(|group| names.is_subset(group)));
        let after = after.map(|n| n + 1);
        of.extend(owned.into_iter().map(|set| (set, named.len())));
        // What only serves one of them may be in other targets.
        let with_own = installations.iter().filter(|name| sets.contains_key(&vec![(*name).clone()]));
        let with_own: BTreeSet<Arc<str>> = with_own.cloned().collect();
        let name = joined(if with_own.is_empty() { installations } else { &with_own });
        let name = if taken.contains(&&*name) { own(&name) } else { name };
        named.push(Named { name, after });
    }
    (named, of)
}

/// Returns the sets of installations that share proxies and nothing of the platform.
fn proxies_alone(mine: &[&Pin]) -> BTreeSet<Vec<Arc<str>>> {
    let of = |stage| {
        let pins = mine.iter().filter(move |pin| pin.stage == stage && pin.kind != PinKind::Other);
        pins.map(|pin| pin.installations.to_vec()).collect::<BTreeSet<_>>()
    };
    of(Stage::DataPlane).difference(&of(Stage::Platform)).cloned().collect()
}

/// One part, and one for each installation that cannot go along, and for what several of these alone read.
fn laggards(
    inventory: &Inventory,
    sets: &BTreeSet<Vec<Arc<str>>>,
    proxies: &BTreeSet<Vec<Arc<str>>>,
    standing: &Standing,
) -> (Vec<Named>, BTreeMap<Vec<Arc<str>>, usize>) {
    let mut named = vec![Named { name: DEFAULT.to_owned(), after: None }];
    let mut of = BTreeMap::new();
    let Standing { far, still } = standing;
    let all = &inventory.facts.installations;
    let goes = |name: &&Arc<str>| !far.contains(*name) && !still.contains(*name);
    // Where all have a stop to make, they make it together.
    let far = if all.iter().any(|name| goes(&name)) { far.clone() } else { BTreeSet::new() };
    // Nothing of them moves but proxies, each as far as its own control plane.
    let is_proxy = |pin: &Pin| pin.stage == Stage::DataPlane && pin.stays.is_none();
    if far.is_empty() && all.iter().all(|name| still.contains(name)) && !inventory.pins().any(is_proxy) {
        return (named, of);
    }
    // Those that stay have no say in what others share with them.
    let moving = |set: &Vec<Arc<str>>| -> BTreeSet<Arc<str>> {
        set.iter().filter(|name| !still.contains(*name)).cloned().collect()
    };
    let behind = |set: &Vec<Arc<str>>| {
        let moving = moving(set);
        !moving.is_empty() && moving.is_subset(&far)
    };
    // What nobody but these reads keeps nobody else back.
    let rests = |set: &&Vec<Arc<str>>| !set.is_empty() && set.iter().all(|name| still.contains(name));
    // Nor do proxies that some of these run: they go as far as the control plane that is furthest behind.
    let lags = |name: &Arc<str>| still.contains(name) || far.contains(name);
    let lagging = proxies.iter().filter(|set| set.len() > 1 && !rests(set) && set.iter().any(lags));
    for set in sets.iter().filter(rests).chain(lagging) {
        of.insert(set.clone(), named.len());
        named.push(Named { name: joined(&set.iter().cloned().collect()), after: None });
    }
    let sets: BTreeSet<Vec<Arc<str>>> = sets.iter().filter(|set| !of.contains_key(*set)).cloned().collect();
    let sets = &sets;
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

/// Numbers parts that have one name: of long ones only the beginning is told.
fn tell_apart(named: &mut [Named]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for part in named {
        let times = seen.entry(part.name.clone()).or_default();
        *times += 1;
        if *times > 1 {
            part.name = format!("{}-{times}", part.name);
        }
    }
}

fn joined(group: &BTreeSet<Arc<str>>) -> String {
    let all = group.iter().map(|name| &**name).collect::<Vec<_>>().join("-");
    match group.iter().next() {
        Some(first) if all.len() > LONGEST && group.len() > 1 => {
            format!("{first}-and-{}-more", group.len() - 1)
        }
        _ => all,
    }
}

/// Finds the installations that cannot go along.
fn standing(inventory: &Inventory, to: Option<EdgeVersion>, knowledge: &Knowledge) -> Standing {
    let mut platform: BTreeMap<&Arc<str>, Vec<&Pin>> = BTreeMap::new();
    for pin in inventory.pins().filter(|pin| pin.stage == Stage::Platform) {
        let counts = |name: &&Arc<str>| !is_beside_live(pin, name, &inventory.facts.suspended);
        let counted = pin.installations.iter().filter(counts);
        counted.for_each(|name| platform.entry(name).or_default().push(pin));
    }
    let reach = to.or_else(|| newest(inventory));
    // Of what has no control plane here nobody knows how far it can go.
    let bare = &inventory.facts.bare;
    let mut standing = Standing { far: BTreeSet::new(), still: bare.clone() };
    for (name, pins) in platform {
        let moving = pins.iter().filter(|pin| ought_to_move(pin));
        let lowest = moving.filter_map(|pin| steps_from(pin)).min();
        let counted = pins.iter().filter(|pin| pin.stays.is_none_or(Reason::is_deliberate));
        let highest = counted.filter_map(|pin| deployed_at(pin)).max();
        let is_ahead = highest.zip(to).is_some_and(|(highest, to)| highest > to);
        if bare.contains(name) || is_still(&pins) || is_ahead {
            standing.still.insert(name.clone());
        } else if lowest.zip(reach).is_some_and(|(lowest, to)| knowledge.hop(lowest, to).is_some()) {
            standing.far.insert(name.clone());
        }
    }
    standing
}

/// Tells whether an installation stays by somebody's will: its control plane is held or suspended, or nothing of it may move and
/// something of it is held or on another channel.
fn is_still(platform: &[&Pin]) -> bool {
    let is_plane = |pin: &Pin| {
        pin.readers().any(|reader| {
            let is_version = matches!(reader.form, Form::Chart | Form::Rendered);
            is_version && reader.chart.as_deref().is_some_and(is_control_plane)
        })
    };
    let held = platform.iter().any(|pin| is_plane(pin) && pin.stays.is_some_and(Reason::is_deliberate));
    let rests = platform.iter().all(|pin| pin.stays.is_some_and(|reason| !obstructs(reason)));
    let mut reasons = platform.iter().filter_map(|pin| pin.stays);
    held || rests && reasons.any(|reason| reason.is_deliberate() || reason == Reason::Channel)
}

// === impl Standing ===

impl Standing {
    /// Returns, of installations that would go together, those with a stop to make that others of them have made: in one target
    /// neither could go.
    fn late(&self, bound: &[BTreeSet<Arc<str>>]) -> BTreeSet<Arc<str>> {
        let is_mixed =
            |group: &&BTreeSet<Arc<str>>| !group.is_disjoint(&self.far) && !group.is_subset(&self.far);
        bound.iter().filter(is_mixed).flat_map(|group| group.intersection(&self.far)).cloned().collect()
    }
}

// === impl Parts ===

impl Parts {
    fn new(of: BTreeMap<Vec<Arc<str>>, usize>) -> Self {
        let mut sets: BTreeMap<usize, BTreeSet<Vec<Arc<str>>>> = BTreeMap::new();
        for (set, part) in &of {
            sets.entry(*part).or_default().insert(set.clone());
        }
        Self { of, sets, files: BTreeMap::new() }
    }

    fn part(&self, installations: &[Arc<str>]) -> usize {
        self.of.get(installations).copied().unwrap_or(REST)
    }

    pub(super) fn has(&self, part: usize, pin: &Pin) -> bool {
        let set: &[Arc<str>] = &pin.installations;
        match part {
            REST => self.part(set) == REST,
            part => self.sets.get(&part).is_some_and(|sets| sets.contains(set)),
        }
    }

    pub(super) fn serves(&self, part: usize, installation: &str) -> bool {
        let mut mine = self.sets.get(&part).into_iter().flatten();
        mine.any(|set| set.iter().any(|name| **name == *installation))
    }

    pub(super) fn covers(&self, part: usize, path: &RepoPath) -> bool {
        self.files.get(path).map_or(part == REST, |parts| parts.contains(&part))
    }
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;

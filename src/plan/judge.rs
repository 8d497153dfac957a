//! Step 6, plan: what becomes of each pin.
//!
//! In: an inventory, a target and a release. Out: one [`Judged`] for each pin of the target. Works without a
//! catalog too, for `uplinker pins PATH --to X`. It does not choose the release and does not edit.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Constraint, Fate, Judged, NewText, Options, Target,
    control_plane::{ControlPlanes, says_what_runs},
    needs::needs,
    standing::{LAST_OF_OLD_CHARTS, edge_of, is_locked_to, obstructs, steps_from},
    stops,
};
use crate::{
    linkerd::{EdgeVersion, Knowledge},
    pins::{Form, Inventory, Line, Pin, PinKind, Reason, Stage},
    release::Catalog,
    repo::RepoPath,
};

/// Fills in the releases of charts of the old schemes, which only the index knows through `appVersion`, and marks what asks
/// for no required stop.
pub fn resolve(inventory: &mut Inventory, catalog: &Catalog) {
    for pin in inventory.pins.iter_mut().filter(|p| p.version.is_none() && p.form == Form::Chart) {
        let version = pin.charts().find_map(|chart| catalog.edge_of_chart(chart, &pin.value));
        if version.is_some() {
            Arc::make_mut(pin).version = version;
        }
    }
    stops::mark(inventory, &catalog.knowledge);
}

/// Marks the pins at a place that an editor refused, so that a new plan leaves them out and the checks name them.
/// Where no pin begins on that line, all pins of the file are set aside. Returns whether any pin was still to move;
/// if none was, planning again would meet the same refusal.
pub fn set_aside(inventory: &mut Inventory, path: &RepoPath, line: usize) -> bool {
    let movable = |pin: &Pin| pin.path == *path && pin.may_move();
    let on_line = inventory.pins.iter().any(|pin| movable(pin) && pin.site.line == line);
    let mine = |pin: &Pin| movable(pin) && (!on_line || pin.site.line == line);
    stay(inventory, mine, Reason::Uneditable)
}

/// Marks the pins in a file of which a chart gives nothing, whatever marks of it are there, with the reason why they stay;
/// tells whether any was to move.
pub fn set_aside_own(inventory: &mut Inventory, path: &RepoPath, chart: &str, why: Reason) -> bool {
    let mine = |pin: &Pin| {
        pin.kind == PinKind::RenderedManifest
            && pin.chart.as_deref() == Some(chart)
            && pin.stays.is_none()
            && pin.path == *path
    };
    stay(inventory, mine, why)
}

/// Lets pins stay; tells whether there are any.
fn stay(inventory: &mut Inventory, which: impl Fn(&Pin) -> bool, why: Reason) -> bool {
    let which = inventory.pins.iter_mut().filter(|pin| which(pin));
    which.map(|pin| Arc::make_mut(pin).stays = Some(why)).count() > 0
}

/// Says of each pin of a target what becomes of it if the target goes to `to`, ordered as in the inventory.
///
/// `knowledge` has the required stops: the catalog's, or the built-in ones where there is no catalog.
pub fn judge(
    inventory: &Inventory,
    target: &Target,
    to: EdgeVersion,
    knowledge: &Knowledge,
    options: &Options,
) -> Vec<Judged> {
    let judge = Judge { to, knowledge, options };
    let mut moves = judge.all(inventory, target);
    let planes = ControlPlanes::now(inventory, target).with_configured(options.control_plane);
    keep_behind(&mut moves, &planes, to);
    moves
}

/// Says the same of the pins of all targets, as their pull requests will have it: where one pin of a target keeps the others
/// back, they stay too, and proxies go where their control planes will be.
pub fn forecast(
    inventory: &Inventory,
    targets: &[Target],
    to: EdgeVersion,
    knowledge: &Knowledge,
    options: &Options,
) -> Vec<Judged> {
    let judge = Judge { to, knowledge, options };
    let mut of: Vec<Vec<Judged>> = targets.iter().map(|target| judge.platform(inventory, target)).collect();
    let outside = inventory.pins().filter(|pin| !targets.iter().any(|target| target.has(pin)));
    let outside: Vec<_> = outside.map(|pin| (pin, edge_of(pin))).collect();
    let planes_of = |target: &Target| {
        let runs = of.iter().flatten().map(|m| judge.runs(m)).chain(outside.iter().copied());
        ControlPlanes::new(runs, target, &inventory.facts.suspended).with_configured(options.control_plane)
    };
    let planes: Vec<ControlPlanes> = targets.iter().map(planes_of).collect();
    for (moves, planes) in of.iter_mut().zip(&planes) {
        judge.proxies(moves, planes);
    }
    of.into_iter().flatten().collect()
}

/// Tells whether the range of a pin takes a release; `None` where it cannot be read as one.
fn takes(pin: &Pin, to: EdgeVersion) -> Option<bool> {
    Constraint::of(pin).ok().map(|range| range.allows(&to.chart()))
}

/// The ranges of charts that do not take a release.
pub struct Ranges<'i>(Vec<&'i Pin>);

/// Tells whether two pins serve an installation together, or none that is known.
fn is_beside(one: &Pin, other: &Pin) -> bool {
    one.installations.is_empty() && other.installations.is_empty()
        || one.installations.iter().any(|name| other.installations.contains(name))
}

/// Lets those proxies stay that something runs whose control plane is behind.
fn keep_behind(moves: &mut [Judged], planes: &ControlPlanes, to: EdgeVersion) {
    let behind = moves.iter_mut().filter(|m| planes.behind(&m.pin, to).is_some());
    behind.for_each(|m| m.keep(Reason::ControlPlaneBehind));
}

/// Returns the new text of a pin: the whole, or what of it stands between the texts that its readers put around it.
fn fixed(pin: &Pin, whole: String) -> Result<NewText, Reason> {
    match &pin.frame {
        None => Ok(NewText::Fixed(whole)),
        Some(frame) => {
            frame.inner(&whole).map(|text| NewText::Fixed(text.to_owned())).ok_or(Reason::Uneditable)
        }
    }
}

#[derive(Clone, Copy)]
struct Judge<'a> {
    to: EdgeVersion,
    knowledge: &'a Knowledge,
    options: &'a Options,
}

// === impl Ranges ===

impl<'i> Ranges<'i> {
    /// Finds them.
    pub fn refusing(inventory: &'i Inventory, to: EdgeVersion) -> Self {
        let refuses = |pin: &&Pin| pin.stays == Some(Reason::Range) && takes(pin, to) == Some(false);
        Self(inventory.pins().filter(refuses).collect())
    }

    /// Returns that of the chart of which a pin chooses images.
    pub fn of_values(&self, pin: &Pin) -> Option<&'i Pin> {
        let of_chart = |range: &&&Pin| is_beside(pin, range) && pin.charts().any(|chart| range.is_of(chart));
        let chooses_images = pin.form == Form::Edge && pin.stage == Stage::Platform;
        self.0.iter().filter(|_| chooses_images).find(of_chart).copied()
    }

    /// Tells whether one of them was locked to what a pin of helmfile's says, which has to stay in it.
    fn locked(&self, pin: &Pin) -> bool {
        self.0.iter().any(|range| is_locked_to(range, pin))
    }

    /// Lists the lines at which a version is locked that has to stay in one of them.
    fn locks(&self, inventory: &Inventory) -> BTreeSet<Line> {
        let locked = inventory.pins().filter(|pin| self.locked(pin));
        locked.map(|pin| (pin.path.clone(), pin.site.line)).collect()
    }

    /// Returns the line of a lock that has one version for a pin and for a range that does not take a release.
    pub fn lock_of(inventory: &Inventory, pin: &Pin, to: EdgeVersion) -> Option<Line> {
        // Most are named nowhere, and all pins are looked through for each that is.
        if pin.read_at.is_empty() {
            return None;
        }
        let lines: BTreeSet<&Line> = pin.read_at.iter().collect();
        let is_its = |lock: &&Pin| lines.contains(&(lock.path.clone(), lock.site.line));
        let locks: Vec<&Pin> = inventory.pins().filter(is_its).collect();
        let ranges = (!locks.is_empty()).then(|| Ranges::refusing(inventory, to))?;
        let lock = locks.into_iter().find(|lock| ranges.locked(lock))?;
        Some((lock.path.clone(), lock.site.line))
    }
}

// === impl Judge ===

impl Judge<'_> {
    /// Judges each pin of a target by itself, and locks by their dependencies.
    fn all(&self, inventory: &Inventory, target: &Target) -> Vec<Judged> {
        let mine = inventory.pins.iter().filter(|pin| target.has(pin));
        let mut moves: Vec<Judged> = mine.map(|pin| self.one(pin)).collect();
        self.follow_dependencies(&mut moves);
        self.follow_ranges(inventory, &mut moves);
        follow_locks(&mut moves, self.to);
        moves
    }

    /// Judges the platform of a target as a whole, and each proxy by itself.
    fn platform(&self, inventory: &Inventory, target: &Target) -> Vec<Judged> {
        let Self { to, knowledge, options } = *self;
        let mut moves = self.all(inventory, target);
        let wanted = needs(inventory, target, Stage::Platform, options);
        let far = |lowest: Option<EdgeVersion>| lowest.is_some_and(|from| knowledge.hop(from, to).is_some());
        let kept = if far(wanted.steps_from) || far(wanted.beside.map(|beside| beside.lowest)) {
            Some(Reason::RequiredHop)
        } else {
            wanted.highest.filter(|highest| *highest > to).map(|_| Reason::NewerBeside)
        };
        if let Some(reason) = kept {
            moves.iter_mut().filter(|m| m.pin.stage == Stage::Platform).for_each(|m| m.keep(reason));
        }
        let stop = wanted.steps_from.and_then(|from| knowledge.hop(from, to)?.via.first().copied());
        // No target goes down to one.
        if let Some(stop) = stop.filter(|stop| wanted.highest.is_none_or(|highest| highest <= *stop)) {
            self.at_stop(&mut moves, stop);
        }
        moves
    }

    /// Says of values that no chart reads at the release what becomes of them at the stop before it, where a chart does.
    fn at_stop(&self, moves: &mut [Judged], stop: EdgeVersion) {
        let there = Self { to: stop, ..*self };
        let ended = |m: &&mut Judged| m.pin.ended.is_some() && m.reason() == Some(Reason::NoEffect);
        for entry in moves.iter_mut().filter(ended) {
            match there.one(&entry.pin).fate {
                Fate::Becomes(_) => entry.fate = Fate::Stays(Reason::RequiredHop),
                Fate::Stays(Reason::UpToDate) => {}
                stays => entry.fate = stays,
            }
        }
    }

    /// Judges the proxies of a target: they go as far as its control plane, and as any other that they are run beside.
    fn proxies(&self, moves: &mut [Judged], planes: &ControlPlanes) {
        let own = || moves.iter().filter(|m| says_what_runs(&m.pin) && planes.count(&m.pin));
        let proxies = || moves.iter().map(|m| &*m.pin).filter(|pin| pin.stage == Stage::DataPlane);
        let plane = own().filter_map(|m| self.runs(m).1).min();
        let plane = plane.or_else(|| planes.ceiling(proxies(), self.options.control_plane));
        let far = own().any(|m| m.reason() == Some(Reason::RequiredHop));
        let behind = if far { Reason::RequiredHop } else { Reason::ControlPlaneBehind };
        let there = Self { to: plane.map_or(self.to, |plane| plane.min(self.to)), ..*self };
        for entry in moves.iter_mut().filter(|m| m.pin.stage == Stage::DataPlane && m.becomes().is_some()) {
            let fate = there.one(&entry.pin).fate;
            entry.fate = if fate == Fate::Stays(Reason::UpToDate) { Fate::Stays(behind) } else { fate };
        }
        keep_behind(moves, planes, there.to);
    }

    /// Returns the release that a pin names once the moves are made.
    fn runs<'m>(&self, judged: &'m Judged) -> (&'m Pin, Option<EdgeVersion>) {
        let moves = judged.becomes().is_some();
        (&judged.pin, if moves { Some(self.to) } else { edge_of(&judged.pin) })
    }

    fn one(&self, pin: &Arc<Pin>) -> Judged {
        Judged { pin: pin.clone(), fate: self.verdict(pin).map_or_else(Fate::Stays, Fate::Becomes) }
    }

    fn verdict(&self, pin: &Pin) -> Result<NewText, Reason> {
        let names_it = edge_of(pin).is_some_and(|version| version >= self.to);
        match pin.stays_at(self.to) {
            // Nothing is wrong with a pin that cannot be edited and need not be.
            Some(reason) if obstructs(reason) && names_it => return Err(Reason::UpToDate),
            Some(reason) => return Err(reason),
            None => {}
        }
        if pin.kind == PinKind::Other {
            return Err(Reason::NotDeployed);
        }
        if self.options.ignores(pin) {
            return Err(Reason::Ignored);
        }
        if names_it {
            return Err(Reason::UpToDate);
        }
        if self.is_too_far(pin) {
            return Err(Reason::RequiredHop);
        }
        // Nobody would have the tag.
        if pin.filter.as_ref().is_some_and(|filter| !filter.takes(&self.to.chart())) {
            return Err(Reason::Uneditable);
        }
        match pin.form {
            Form::Edge | Form::Absent => fixed(pin, self.to.to_string()),
            Form::Chart if Some(self.to) > LAST_OF_OLD_CHARTS.parse().ok() => fixed(pin, self.to.chart()),
            // The charts of such a release have versions of their own, one for each chart.
            Form::Chart => Err(Reason::Uneditable),
            Form::LockDigest => Ok(NewText::LockDigest),
            Form::Rendered => Ok(NewText::Rendered(renamed(pin, self.to))),
            Form::Opaque => Err(Reason::Uneditable),
        }
    }

    /// A proxy has no hop: what a hop protects (CRDs and their owners) is the platform's.
    fn is_too_far(&self, pin: &Pin) -> bool {
        steps_from(pin).is_some_and(|from| self.knowledge.hop(from, self.to).is_some())
    }

    /// A locked version stays inside what `Chart.yaml` asks for: where the dependency is held, or its range does not
    /// take the release, Helm would call the lock out of date.
    fn follow_dependencies(&self, moves: &mut [Judged]) {
        let kept = self.kept_by_dependencies(moves);
        for (entry, reason) in moves.iter_mut().zip(kept) {
            reason.into_iter().for_each(|reason| entry.keep(reason));
        }
    }

    /// Returns for each why a dependency keeps it, where it is a locked version of one.
    fn kept_by_dependencies<'m>(&self, moves: &'m [Judged]) -> Vec<Option<Reason>> {
        let reasons = self.dependency_reasons(moves);
        let mut seen: BTreeMap<(&RepoPath, &str), usize> = BTreeMap::new();
        let mut kept = |pin: &'m Pin| {
            let mut kept = None;
            for chart in pin.charts() {
                let nth = seen.entry((&pin.path, chart)).or_default();
                kept = kept.or_else(|| reasons.get(&(pin.path.folder(), chart, *nth)).copied());
                *nth += 1;
            }
            kept
        };
        moves.iter().map(|entry| kept(entry.of_kind(PinKind::ChartLock)?)).collect()
    }

    /// Values stay with their chart where its range does not take the release: images would run ahead of it. What helmfile has
    /// locked stays too: outside of its range helmfile applies nothing, nor where an exact version is locked to something else.
    fn follow_ranges(&self, inventory: &Inventory, moves: &mut [Judged]) {
        let ranges = Ranges::refusing(inventory, self.to);
        let values = moves.iter_mut().filter(|m| ranges.of_values(&m.pin).is_some());
        values.for_each(|m| m.keep(Reason::ChartStays));
        let locks = ranges.locks(inventory);
        let beside = moves.iter_mut().filter(|m| m.pin.read_at.iter().any(|line| locks.contains(line)));
        beside.for_each(|m| m.keep(Reason::Uneditable));
        let locked = moves.iter_mut().filter(|m| ranges.locked(&m.pin));
        locked.for_each(|m| m.keep(Reason::Range));
    }

    /// Returns the dependencies that their locks must not outrun, by folder, chart and count, with why.
    fn dependency_reasons<'m>(&self, moves: &'m [Judged]) -> BTreeMap<(&'m str, &'m str, usize), Reason> {
        let mut seen: BTreeMap<(&RepoPath, &str), usize> = BTreeMap::new();
        let mut reasons = BTreeMap::new();
        for entry in moves {
            let Some(pin) = entry.of_kind(PinKind::ChartDependency) else { continue };
            let reason = match entry.reason() {
                None | Some(Reason::UpToDate) => None,
                Some(Reason::Range) => (takes(pin, self.to) != Some(true)).then_some(Reason::Range),
                Some(reason) => Some(reason),
            };
            for chart in pin.charts() {
                let nth = seen.entry((&pin.path, chart)).or_default();
                reasons.extend(reason.map(|reason| ((pin.path.folder(), chart, *nth), reason)));
                *nth += 1;
            }
        }
        reasons
    }
}

/// The digest of a lock moves if, and only if, one of its versions does; it stays for what keeps them behind.
fn follow_locks(moves: &mut [Judged], to: EdgeVersion) {
    let mut kept: BTreeMap<RepoPath, Option<Reason>> = BTreeMap::new();
    for entry in moves.iter().filter(|m| m.pin.form != Form::LockDigest) {
        let Some(pin) = entry.of_kind(PinKind::ChartLock) else { continue };
        let of_all = kept.entry(pin.path.clone()).or_insert(Some(Reason::UpToDate));
        match entry.reason() {
            None => *of_all = None,
            Some(reason) if *of_all == Some(Reason::UpToDate) && edge_of(pin).is_some_and(|at| at < to) => {
                *of_all = Some(reason);
            }
            Some(_) => {}
        }
    }
    for entry in moves.iter_mut().filter(|m| m.becomes() == Some(&NewText::LockDigest)) {
        let reason = kept.get(&entry.pin.path).copied().unwrap_or(Some(Reason::UpToDate));
        reason.into_iter().for_each(|reason| entry.keep(reason));
    }
}

/// Writes what stands where a rendered manifest names its version first: behind a space (`linkerd/helm edge-26.8.2`), or
/// behind the chart (`linkerd-crds-2026.8.2`). A text that names something else, such as an image's version, says nothing of
/// the release.
fn renamed(pin: &Pin, to: EdgeVersion) -> String {
    let ends = |at: char| pin.value.rsplit_once(at).map_or("", |(_, version)| version);
    if ends(' ').parse::<EdgeVersion>().is_err() && EdgeVersion::from_chart(ends('-')).is_none() {
        return to.to_string();
    }
    match (pin.value.rsplit_once(' '), pin.value.rsplit_once('-')) {
        (Some((by, _)), _) => format!("{by} {to}"),
        (None, Some((chart, _))) => format!("{chart}-{}", to.chart()),
        (None, None) => to.to_string(),
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;

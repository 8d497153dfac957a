//! Which lots are of one cluster.
//!
//! A cluster has one control plane: two lots that each have one are two clusters, and the folder in which they meet is
//! where clusters lie side by side. Below it, what lies together is together. What meets clusters without being one of
//! them serves all of those that it lies beside.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    Mark, Role,
    reach::Lot,
    top::{Away, Seated},
};
use crate::{deploy::object::Labels, repo::common_folder};

/// Of more clusters side by side, what nobody reads is said to serve none.
const BESIDE: usize = 200;

/// An installation.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// What it consists of.
    pub lots: Vec<Lot>,
    /// The places that it reads, and those that serve it.
    pub marks: BTreeSet<usize>,
}

/// What is known of a folder while its parent is worked out.
#[derive(Default)]
struct Folder {
    /// Clusters that are set apart, by position.
    closed: Vec<usize>,
    /// Lots with a control plane that have met no other one.
    planes: Vec<Lot>,
    /// Lots without one.
    others: Vec<Lot>,
}

/// Puts lots together.
pub(super) fn groups(lots: &[Lot], marks: &[Mark]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    // The deepest first: a folder is worked out after all that lies below it.
    let mut folders: BTreeMap<(Reverse<usize>, String), Folder> = BTreeMap::new();
    if !lots.iter().any(|lot| has_plane(lot, marks)) {
        return groups;
    }
    let mut away: BTreeMap<&Away, Vec<&Lot>> = BTreeMap::new();
    for lot in lots {
        match &lot.away {
            Some(destination) => away.entry(destination).or_default().push(lot),
            None => {
                let folder = folders.entry(place(home(lot.files.iter().map(|f| f.folder())))).or_default();
                if has_plane(lot, marks) { &mut folder.planes } else { &mut folder.others }.push(lot.clone());
            }
        }
    }
    for (away, lots) in away {
        let folder = home(lots.iter().flat_map(|lot| &lot.files).map(|f| f.folder()));
        if !lots.iter().any(|lot| has_plane(lot, marks)) {
            // Whose control plane comes in another way suits that which it lies beside.
            let is_chosen = lots.iter().all(|lot| lot.seated == Seated::Chosen);
            if is_chosen || matches!(away, Away::Run { .. } | Away::Any(_)) {
                folders.entry(place(folder)).or_default().others.extend(lots.into_iter().cloned());
            }
            continue;
        }
        folders.entry(place(folder)).or_default().closed.push(groups.len());
        groups.push(Group::of(lots.into_iter().cloned().collect()));
    }
    while let Some(((_, at), found)) = folders.pop_first() {
        let left = found.settle(&mut groups, marks);
        match at.rsplit_once('/') {
            _ if at.is_empty() => left.finish(&mut groups),
            Some((parent, _)) => folders.entry(place(parent.to_owned())).or_default().join(left),
            None => folders.entry(place(String::new())).or_default().join(left),
        }
    }
    groups
}

/// A folder with its depth.
fn place(folder: String) -> (Reverse<usize>, String) {
    let depth = if folder.is_empty() { 0 } else { 1 + folder.matches('/').count() };
    (Reverse(depth), folder)
}

/// Tells whether a control plane is among what goes to a cluster.
pub(super) fn has_plane(lot: &Lot, marks: &[Mark]) -> bool {
    lot.plane || lot.marks.iter().any(|mark| marks.get(*mark).is_some_and(|m| m.role == Role::ControlPlane))
}

/// Returns the folder that all folders lie in.
pub(super) fn home<'f>(folders: impl IntoIterator<Item = &'f str>) -> String {
    folders.into_iter().reduce(|one, other| common_folder(one, other)).unwrap_or_default().to_owned()
}

// === impl Group ===

impl Group {
    fn of(lots: Vec<Lot>) -> Self {
        let marks = lots.iter().flat_map(|lot| &lot.marks).copied().collect();
        Self { lots, marks }
    }

    /// Tells whether it is known by the cluster that it goes to.
    fn is_elsewhere(&self) -> bool {
        self.lots.iter().all(|lot| lot.away.is_some())
    }

    /// Tells whether a change of its control plane's release reaches it no more.
    pub fn is_suspended(&self, marks: &[Mark]) -> bool {
        let is_plane = |mark: &usize| marks.get(*mark).is_some_and(|m| m.role == Role::ControlPlane);
        self.lots.iter().flat_map(|lot| &lot.idle).any(is_plane)
    }

    /// Returns the labels of what leads to its control plane.
    pub fn labels(&self) -> Labels {
        self.lots.iter().flat_map(|lot| &lot.labels).cloned().collect()
    }
}

// === impl Folder ===

impl Folder {
    fn join(&mut self, other: Self) {
        self.closed.extend(other.closed);
        self.planes.extend(other.planes);
        self.others.extend(other.others);
    }

    /// Puts together what lies in one folder; what is left may still meet others in a folder above.
    fn settle(mut self, groups: &mut Vec<Group>, marks: &[Mark]) -> Self {
        if self.closed.is_empty() && self.planes.len() < 2 {
            if let Some(plane) = self.planes.pop() {
                return Self { planes: vec![merged(plane, self.others)], ..Self::default() };
            }
            return self;
        }
        // Beside clusters elsewhere there is the one in which all of this is kept: what names no other is that one's.
        let elsewhere = |closed: &usize| groups.get(*closed).is_some_and(Group::is_elsewhere);
        let is_own = self.planes.len() == 1 && self.closed.iter().all(elsewhere);
        let is_hubs = |lot: &Lot| is_own && lot.seated == Seated::ThatOfItself && lot.away.is_none();
        let (own, others): (Vec<Lot>, Vec<Lot>) = self.others.into_iter().partition(is_hubs);
        let mut own: Vec<Lot> = self.planes.into_iter().map(|plane| merged(plane, own.clone())).collect();
        let shared = shared(&others, marks);
        if self.closed.len() + own.len() <= BESIDE {
            own.iter_mut().for_each(|plane| plane.marks.extend(&shared));
            for closed in &self.closed {
                groups.get_mut(*closed).into_iter().for_each(|group| group.marks.extend(&shared));
            }
        }
        if !is_own {
            self.closed.extend(groups.len()..groups.len() + own.len());
            groups.extend(own.drain(..).map(|plane| Group::of(vec![plane])));
        }
        Self { closed: self.closed, planes: own, others: Vec::new() }
    }

    fn finish(self, groups: &mut Vec<Group>) {
        groups.extend(self.planes.into_iter().map(|plane| Group::of(vec![plane])));
    }
}

/// Returns what suits all clusters that it lies beside, as far as the tree tells: what has to suit a control plane, and what
/// goes to any cluster.
fn shared(others: &[Lot], marks: &[Mark]) -> Vec<usize> {
    let suits = |lot: &Lot, mark: usize| {
        let is_for_all = lot.seated == Seated::All || matches!(lot.away, Some(Away::Any(_)));
        is_for_all || marks.get(mark).is_some_and(|m| m.role != Role::Other)
    };
    others.iter().flat_map(|lot| lot.marks.iter().copied().filter(move |mark| suits(lot, *mark))).collect()
}

/// Puts what hangs on a control plane to it; it keeps its own place, by which it is called.
fn merged(mut plane: Lot, others: Vec<Lot>) -> Lot {
    others.into_iter().for_each(|lot| plane.marks.extend(lot.marks));
    plane
}

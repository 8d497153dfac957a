//! What lies in a folder that is called as an installation.
//!
//! A cluster may have its control plane from one deployer, and all else from another whose roots lie elsewhere. Where each
//! has a folder for the cluster, or a name, these are alike.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Mark,
    clusters::Servers,
    group::{Group, groups, has_plane},
    name::named,
    reach::Lot,
    top::{Away, Seated},
};

/// Folders, one in the other, that an installation may be called after together.
const RUN: usize = 4;

/// Puts what a root brings without a control plane to the one that the installation has after which its folder is called. Only
/// control planes give names here.
pub(super) fn join(lots: &mut Vec<Lot>, marks: &[Mark], servers: &Servers) {
    // An Argo CD that knows other clusters may have the objects of each of them in a folder that is called as that one.
    let is_hub = lots.iter().any(|lot| matches!(lot.away, Some(Away::Named(_) | Away::Any(_))));
    let is_its = |lot: &Lot| match lot.seated {
        Seated::ThatOfItself => true,
        Seated::ThatOfArgo => !is_hub,
        Seated::Unsaid => lot.folder.is_some(),
        Seated::Chosen | Seated::All => false,
    };
    let may_join = |lot: &Lot| lot.away.is_none() && is_its(lot) && !has_plane(lot, marks);
    if !lots.iter().any(may_join) {
        return;
    }
    let groups = groups(&with_planes(lots, marks), marks);
    let by_name: BTreeMap<String, &Group> = named(&groups, servers).into_iter().zip(&groups).collect();
    let (names, groups): (Vec<String>, Vec<&Group>) = by_name.into_iter().unzip();
    let mut called: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (n, lot) in lots.iter().enumerate().filter(|(_, lot)| may_join(lot)) {
        let file = lot.files.first();
        if let Some(name) = file.and_then(|file| installation(file.folder(), &names)) {
            called.entry(name).or_default().push(n);
        }
    }
    let mut joined: BTreeSet<usize> = BTreeSet::new();
    for (name, found) in called {
        let Some(group) = groups.get(name) else { continue };
        let all: Vec<Lot> = found.iter().filter_map(|n| lots.get(*n)).cloned().collect();
        if !are_of_one(all.iter().chain(&group.lots)) {
            continue;
        }
        let is_plane = |lot: &&mut Lot| group.lots.first().is_some_and(|plane| is_same(plane, lot));
        if let Some(plane) = lots.iter_mut().find(is_plane) {
            for lot in all {
                plane.marks.extend(lot.marks);
                plane.roots.extend(lot.roots);
                plane.waits.extend(lot.waits);
            }
            joined.extend(found);
        }
    }
    let mut positions = 0..;
    lots.retain(|_| positions.next().is_none_or(|n| !joined.contains(&n)));
}

/// Returns what goes to clusters with a control plane.
fn with_planes(lots: &[Lot], marks: &[Mark]) -> Vec<Lot> {
    let planes = lots.iter().filter(|lot| has_plane(lot, marks));
    let own: BTreeSet<&Away> = planes.filter_map(|lot| lot.away.as_ref()).collect();
    let is_own = |lot: &Lot| lot.away.as_ref().is_some_and(|away| own.contains(away));
    lots.iter().filter(|lot| is_own(lot) || has_plane(lot, marks)).cloned().collect()
}

/// Returns the installation after which folders on the way to a file are called, where it is one, of names that are ordered.
pub(super) fn installation(folder: &str, names: &[String]) -> Option<usize> {
    let folders: Vec<&str> = folder.split('/').collect();
    let runs = (1..=RUN).flat_map(|long| folders.windows(long));
    let found: BTreeSet<usize> = runs.filter_map(|run| names.binary_search(&run.join("-")).ok()).collect();
    found.first().copied().filter(|_| found.len() == 1)
}

/// Tells whether all may be of one cluster: that has one Kustomization of a name, for one folder.
fn are_of_one<'l>(lots: impl Iterator<Item = &'l Lot>) -> bool {
    let mut known: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut roots = lots.flat_map(|lot| &lot.roots);
    roots.all(|(namespace, name, folder)| {
        let key = (namespace.as_str(), name.as_str());
        *known.entry(key).or_insert(folder.as_str()) == folder.as_str()
    })
}

fn is_same(one: &Lot, other: &Lot) -> bool {
    (&one.away, &one.files, &one.folder) == (&other.away, &other.files, &other.folder)
}

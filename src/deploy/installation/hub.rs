//! The own cluster of an Argo CD, or of a Flux, and those that it knows beside it.
//!
//! In: what goes to each cluster, and the installations. Out: the clusters to which nothing brings a control plane, where the
//! Argo CD's own has one, or the own one, where others have: what runs there is none of theirs. Another address is that of
//! another cluster. A name is where the own cluster is called by the one that it has of itself, or where a Secret says what the
//! address of that name is.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Mark, Role,
    clusters::Servers,
    group::{Group, has_named_proxies, has_plane, is_address, is_alike},
    name::of_destination,
    reach::Lot,
    reached::Waiting,
    top::{Away, Seated},
};
use crate::deploy::argo;

/// Sets apart those that are none of the installations, which are called so, and the own one where it is none of them.
pub(super) fn beside(
    lots: &[Lot],
    groups: &[Group],
    (names, servers): (&[String], &Servers),
    marks: &[Mark],
) -> Vec<Group> {
    let told: BTreeSet<&str> = servers.values().map(String::as_str).collect();
    let mut found = apart(lots, groups, (names, &told), marks);
    found.extend(own(lots, groups, &told, marks));
    found
}

/// Sets apart those beside the own one. What is called as an installation goes there.
fn apart(
    lots: &[Lot],
    groups: &[Group],
    (names, told): (&[String], &BTreeSet<&str>),
    marks: &[Mark],
) -> Vec<Group> {
    if groups.iter().filter(|group| !group.is_elsewhere()).count() != 1 {
        return Vec::new();
    }
    let planes: Vec<&Lot> = lots.iter().filter(|lot| has_plane(lot, marks)).collect();
    let is_apart = |away: &Away| {
        planes.iter().all(|plane| match is_hubs(plane) {
            true => is_other(away, told) || plane.is_named,
            false => is_alike(away, plane),
        })
    };
    let is_called = |away: &Away| of_destination(away.name()).is_some_and(|name| names.contains(&name));
    let known: BTreeSet<&Away> =
        groups.iter().flat_map(|group| &group.lots).filter_map(|lot| lot.away.as_ref()).collect();
    let mut found: BTreeMap<&Away, Vec<&Lot>> = BTreeMap::new();
    for lot in lots {
        let other = lot.away.as_ref().filter(|away| !known.contains(away));
        other.into_iter().for_each(|other| found.entry(other).or_default().push(lot));
    }
    found.retain(|away, lots| has_named_proxies(away, lots, marks) && is_apart(away) && !is_called(away));
    found.into_values().map(|lots| Group::of(lots.into_iter().cloned().collect())).collect()
}

/// Sets the own one apart, with its proxies.
fn own(lots: &[Lot], groups: &[Group], told: &BTreeSet<&str>, marks: &[Mark]) -> Option<Group> {
    let [_, name] = argo::OWN_CLUSTER;
    let is_named = lots.iter().any(|lot| is_hubs(lot) && lot.is_named);
    let is_apart = |lot: &Lot| {
        let away = lot.away.as_ref().filter(|away| matches!(away, Away::Named(_)));
        away.is_some_and(|away| is_other(away, told) || is_named && lot.is_named)
    };
    let is_remote = |lot: &Lot| lot.away.is_some() && lot.seated == Seated::ThatOfItself;
    // Flux runs in none of the clusters whose addresses it is given.
    let is_fluxs = |lot: &Lot| {
        let is_beside = |other: &Lot| is_remote(other) && other.files == lot.files;
        lot.away.is_none() && lot.seated == Seated::ThatOfItself && lots.iter().any(is_beside)
    };
    let all = |is_apart: &dyn Fn(&Lot) -> bool| groups.iter().flat_map(|group| &group.lots).all(is_apart);
    let (is_own, called): (&dyn Fn(&Lot) -> bool, _) = if groups.is_empty() {
        return None;
    } else if all(&is_apart) {
        (&is_hubs, Some(Away::Named(name.to_owned())))
    } else if all(&is_remote) {
        (&is_fluxs, None)
    } else {
        return None;
    };
    let is_proxy = |mark: &usize| marks.get(*mark).is_some_and(|mark| mark.role == Role::Proxy);
    let own = lots.iter().filter(|lot| is_own(lot)).map(|lot| Lot {
        away: called.clone(),
        marks: lot.marks.iter().copied().filter(is_proxy).collect(),
        waits: Waiting::default(),
        ..lot.clone()
    });
    let own: Vec<Lot> = own.filter(|lot| !lot.marks.is_empty()).collect();
    (!own.is_empty()).then(|| Group::of(own))
}

fn is_hubs(lot: &Lot) -> bool {
    lot.away.is_none() && lot.seated == Seated::ThatOfArgo
}

/// Tells whether what a cluster is called is known to be none of the names of the own one.
fn is_other(away: &Away, told: &BTreeSet<&str>) -> bool {
    is_address(away) || told.contains(away.name())
}

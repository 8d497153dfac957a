//! Clusters that an Argo CD knows beside its own.
//!
//! In: what goes to each cluster, and the installations. Out: the clusters to which nothing brings a control plane, where the
//! Argo CD's own has one: what runs there is none of that one's. Another address is that of another cluster. A name is where
//! the own cluster is called by the one that it has of itself, or where a Secret says what the address of that name is.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Mark,
    clusters::Servers,
    group::{Group, has_named_proxies, has_plane, is_address, is_alike},
    name::of_destination,
    reach::Lot,
    top::{Away, Seated},
};

/// Sets them apart. What is called as an installation goes there.
pub(super) fn apart(
    lots: &[Lot],
    groups: &[Group],
    (names, servers): (&[String], &Servers),
    marks: &[Mark],
) -> Vec<Group> {
    if groups.iter().filter(|group| !group.is_elsewhere()).count() != 1 {
        return Vec::new();
    }
    let planes: Vec<&Lot> = lots.iter().filter(|lot| has_plane(lot, marks)).collect();
    let told: BTreeSet<&str> = servers.values().map(String::as_str).collect();
    let is_hubs = |lot: &Lot| lot.away.is_none() && lot.seated == Seated::ThatOfArgo;
    let is_apart = |away: &Away| {
        let is_other = is_address(away) || told.contains(away.name());
        planes.iter().all(|plane| match is_hubs(plane) {
            true => is_other || plane.is_named,
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

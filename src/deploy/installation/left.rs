//! What tools that are run leave as the clusters have it.

use std::collections::BTreeSet;

use super::{
    places::Places,
    top::{self, Away},
};
use crate::deploy::{apply::Apply, kinds::is_root};

/// Says where that goes which a tool leaves as it is: to the cluster that it is run for, but what a root among its objects
/// says goes where that root leads.
pub(super) fn of(
    apply: &Apply,
    away: Option<&Away>,
    places: &Places<'_>,
) -> Vec<(Option<Away>, BTreeSet<usize>)> {
    let mut own: BTreeSet<usize> = apply.left.iter().flat_map(|part| places.all(part)).collect();
    let mut found = Vec::new();
    if own.is_empty() {
        return found;
    }
    let all = own.clone();
    for root in apply.objects.iter().filter(|object| is_root(object)) {
        let read = places.all(&root.value);
        own.retain(|mark| !read.contains(mark));
        let seat = top::away(root).or_else(|| away.cloned());
        found.push((seat, all.intersection(&read).copied().collect()));
    }
    found.push((away.cloned(), own));
    found
}

//! Step 7, render: objects that the marks of one set claim and the chart of another gives.
//!
//! In: the sets with their renderings. Out: the same, each such object with the set whose chart gives it. A set of which
//! nothing is left was none.

use std::collections::BTreeSet;

use super::{
    Committed,
    recognise::{marks, own},
    work::{Failure, Work},
};
use crate::{render::ObjectKey, repo::RepoPath};

/// The sets, each with what was made of it.
pub(super) type Works<'a> = Vec<(&'a Committed, Result<Work<'a>, Failure>)>;

/// An object of the tree.
type Place = (RepoPath, ObjectKey);

/// Gives each object to the set whose chart gives it, and returns the sets of which nothing is left.
pub(super) fn settle<'a>(works: &mut Works<'a>) -> Vec<&'a Committed> {
    let given: Vec<BTreeSet<Place>> = works.iter().map(|(_, work)| given(work)).collect();
    let mut none = Vec::new();
    let mut at = 0..;
    works.retain_mut(|(set, work)| {
        let Some(n) = at.next() else { return true };
        let (claims, all) = claims(set);
        let of_others = |place: &Place| {
            given.iter().enumerate().any(|(m, given)| m != n && given.len() > all && given.contains(place))
        };
        let others: BTreeSet<Place> = claims.into_iter().filter(of_others).collect();
        if all > 0 && others.len() == all {
            none.push(*set);
            return false;
        }
        if let Some(best) = work.as_mut().ok().and_then(|work| work.best.as_mut()) {
            let own = given.get(n);
            let is_anothers = |path: &RepoPath, key: &ObjectKey| {
                let place = (path.clone(), key.clone());
                others.contains(&place) && own.is_none_or(|own| !own.contains(&place))
            };
            best.drifts.retain(|drift| !(drift.is_own() && is_anothers(&drift.path, &drift.object)));
            best.placed.without_others(is_anothers);
        }
        true
    });
    none
}

fn given(work: &Result<Work<'_>, Failure>) -> BTreeSet<Place> {
    let best = work.as_ref().ok().and_then(|work| work.best.as_ref());
    let placed = best.into_iter().flat_map(|best| best.placed.all());
    placed.map(|(file, object)| (file.path.clone(), object.key.clone())).collect()
}

/// Returns the objects that a set has by a label alone, and how many it has in all.
fn claims(set: &Committed) -> (Vec<Place>, usize) {
    let mut claims = Vec::new();
    let mut all = 0;
    for file in &set.files {
        for (manifest, object) in own(file) {
            all += 1;
            if marks(manifest, object).is_none_or(|marks| !marks.named) {
                claims.push((file.path.clone(), object.key.clone()));
            }
        }
    }
    (claims, all)
}

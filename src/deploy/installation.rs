//! Installations: the control planes that the roots of a tree lead to, each with what hangs on it.
//!
//! In: the files of a tree, the files that may hold roots, and the places that are asked about. Out: for each place the
//! installations that it serves. A root is what no other root takes in: a Flux Kustomization, an Application, an
//! ApplicationSet, a kustomization; a cluster is known by where they lie, or by the destination that they name. Where the
//! tree does not tell two clusters apart, they are one: what is taken for one moves together.

mod called;
mod clusters;
mod group;
mod hub;
mod left;
mod looked_up;
mod name;
mod places;
mod reach;
mod reached;
mod together;
mod top;

use std::{collections::BTreeSet, ops::Range};

use super::{
    apply::Applied,
    files::Files,
    json_patch::Guard,
    note::{About, Bound, Note},
    object::{Labels, Object},
    tree_chart::Evaluations,
    value::Scalar,
};
use crate::repo::RepoPath;
use group::Group;
use reach::Lot;
use top::Away;

pub(super) use top::{Made, Top, candidates, made as built};

/// Roots that are looked at.
pub(super) const ROOTS: usize = 2_000;
/// Builds that are made of them, all together.
const BUILDS: usize = 10_000;

/// A place in the tree whose installations are asked for.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The file.
    pub path: RepoPath,
    /// The bytes of it.
    pub span: Range<usize>,
    /// What it is a part of where no root is known to read it: its file, or a folder.
    pub unit: String,
    /// What it sets.
    pub role: Role,
}

/// A file with roots, and what they rest on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Root {
    /// The file.
    pub path: RepoPath,
    /// The files that they read.
    pub reads: BTreeSet<RepoPath>,
}

// === impl Applied ===

impl Applied {
    /// Tells whether a root is an object that the tool has read in its file.
    fn brings(&self, top: &Top) -> bool {
        let Top::Object(root) = top else { return false };
        let is_it = |object: &Object| {
            object.kind() == root.kind() && object.name().map(Scalar::text) == root.name().map(Scalar::text)
        };
        self.reads.contains(&root.file) && self.applies.iter().flat_map(|apply| &apply.objects).any(is_it)
    }
}

// === impl Root ===

impl Root {
    /// Returns its file and those that it reads.
    pub fn files(&self) -> impl Iterator<Item = &RepoPath> {
        std::iter::once(&self.path).chain(&self.reads)
    }
}

/// What a place sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Which release the control plane runs: a cluster has one.
    ControlPlane,
    /// Something that has to suit the control plane: its CRDs, its values, its extensions.
    Platform,
    /// Which release proxies run.
    Proxy,
    /// Anything else.
    Other,
}

/// What is known of texts beyond how they are deployed.
#[derive(Clone, Copy)]
pub struct Knows<'k> {
    /// Tells of a chart's name whether it is a control plane's.
    pub is_plane: &'k dyn Fn(&str) -> bool,
    /// Tells whether a text agrees with what it is compared with, as far as both are releases.
    pub agrees: &'k dyn Fn(&Guard) -> bool,
}

/// The installations of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Installations {
    /// Their names, ordered.
    pub names: Vec<String>,
    /// For each of them the labels of the objects that lead to its control plane, and those by which its cluster was chosen.
    pub labels: Vec<Labels>,
    /// For each of them whether a deployer is told to leave its control plane as it is.
    pub suspended: Vec<bool>,
    /// For each of them whether nothing here brings it a control plane.
    pub bare: Vec<bool>,
    /// For each place those that it serves, by position in `names`, ordered; none where the tree does not tell.
    pub of: Vec<Vec<usize>>,
    /// For each place those of them in which a change of it reaches nobody, since a deployer is told to leave things as they are.
    pub waiting: Vec<Vec<usize>>,
    /// The files with roots that read a place, those too that another root takes in.
    pub roots: Vec<Root>,
    /// What was not followed.
    pub notes: Vec<Note>,
}

/// Finds the installations, and which of them each place serves. `entries` are the files that may hold roots, or releases that
/// no root need apply, `applied` is what tools bring that are run, `made` what charts of the tree came to.
pub fn installations(
    files: &dyn Files,
    entries: &[RepoPath],
    applied: Vec<Applied>,
    made: &Evaluations,
    marks: &[Mark],
    knows: Knows<'_>,
) -> Installations {
    let of = vec![Vec::new(); marks.len()];
    let paths: BTreeSet<&RepoPath> = marks.iter().map(|mark| &mark.path).collect();
    let Some(mut all) = candidates(files, entries, &paths) else { return too_many(entries, of) };
    // What a tool makes of a file reaches clusters by that tool alone.
    all.retain(|top| !applied.iter().any(|applied| applied.brings(top)));
    let marked: BTreeSet<&str> = paths.iter().map(|path| path.as_str()).collect();
    let kustomizations = all.iter().filter_map(Top::kustomization).cloned().collect();
    let (mut tops, mut roots) = top::tops(files, all, &marked);
    for Applied { applies, reads } in applied {
        // All that one tool brings is evaluated at once.
        let root = applies.first().map(|apply| Root { path: apply.file.clone(), reads });
        roots.extend(root.filter(|root| root.files().any(|path| marked.contains(path.as_str()))));
        tops.extend(applies.into_iter().map(|apply| Top::Apply(Box::new(apply))));
    }
    tops.extend(top::by_hand(made));
    let lots = reach::lots((files, made), (&tops, entries), kustomizations, marks, knows);
    let Some(mut lots) = lots else { return too_many(entries, of) };
    clusters::tell_apart(&mut lots, marks);
    let servers = clusters::servers(&clusters::known(files, entries));
    clusters::join(&mut lots, &servers, marks);
    called::join(&mut lots, marks, &servers);
    let mut groups = group::groups(&lots, marks);
    let mut named = name::named(&groups, &servers);
    take_destinations(&mut groups, &named, &lots);
    let beside = hub::beside(&lots, &groups, (&named, &servers), marks);
    if !beside.is_empty() {
        groups.extend(beside);
        named = name::named(&groups, &servers);
    }
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by(|a, b| named[*a].cmp(&named[*b]));
    let mut of: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); marks.len()];
    for (rank, group) in order.iter().enumerate() {
        groups[*group].marks.iter().for_each(|mark| of[*mark].extend([rank]));
    }
    let waits: Vec<_> = order.iter().map(|group| groups[*group].waits()).collect();
    let waits_in = |(mark, all): (usize, &BTreeSet<usize>)| {
        all.iter().copied().filter(|rank| waits[*rank].has(mark)).collect::<Vec<_>>()
    };
    let waiting = of.iter().enumerate().map(waits_in).collect();
    let names: Vec<String> = order.iter().map(|group| named[*group].clone()).collect();
    for (mark, of) in marks.iter().zip(&mut of).filter(|(_, of)| of.is_empty()) {
        of.extend(called::installation(mark.path.folder(), &names));
    }
    Installations {
        names,
        labels: order.iter().map(|group| groups[*group].labels()).collect(),
        bare: order.iter().map(|group| groups[*group].is_bare(marks)).collect(),
        suspended: order.iter().map(|group| groups[*group].is_suspended(marks)).collect(),
        of: of.into_iter().map(|all| all.into_iter().collect()).collect(),
        waiting,
        roots,
        notes: Vec::new(),
    }
}

/// Puts what goes to a destination without a control plane of its own to the installation that is called as that is: another
/// deployer brings it.
fn take_destinations(groups: &mut [Group], named: &[String], lots: &[Lot]) {
    let own: BTreeSet<Option<&Away>> =
        groups.iter().flat_map(|group| &group.lots).map(|lot| lot.away.as_ref()).collect();
    let left: Vec<&Lot> = lots.iter().filter(|lot| !own.contains(&lot.away.as_ref())).collect();
    for lot in left {
        let Some(Away::Named(destination)) = &lot.away else { continue };
        let called = name::of_destination(destination);
        let same = groups.iter_mut().zip(named).filter(|(_, name)| Some(*name) == called.as_ref());
        same.for_each(|(group, _)| group.marks.extend(&lot.marks));
    }
}

/// Over the bound nobody knows who reads what, and all is one.
fn too_many(entries: &[RepoPath], of: Vec<Vec<usize>>) -> Installations {
    let note = |path| Note::new(path, About::Bound(Bound::Roots(ROOTS)));
    Installations { of, notes: entries.first().map(note).into_iter().collect(), ..Installations::default() }
}

#[cfg(test)]
mod tests;

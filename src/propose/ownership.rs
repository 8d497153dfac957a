//! Step 10, propose: whose the head of our branch is.
//!
//! In: the commits and trees that were read of the branch. Out: an [`Ownership`]. A head is ours by its content,
//! never by its author's name, which anybody can write. Pure: [`Evidence`] says what has to be read.

pub(super) mod evidence;

use std::collections::{BTreeMap, BTreeSet};

use crate::repo::{BlobId, CommitId, CommitInfo, Entry, Mode, RepoPath};

/// The trailer that names a commit's own tree.
pub const TREE_TRAILER: &str = "Uplinker-Tree";
/// The trailer that names the plan's fingerprint.
pub const PLAN_TRAILER: &str = "Uplinker-Plan";

/// Whose a head is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// Its tree is the one that its trailer names: nobody changed what we wrote.
    Ours {
        /// The fingerprint of the plan that it carries, where its trailer is still there.
        plan: Option<String>,
    },
    /// A merge of the base branch into ours that changes nothing of ours: what *Update branch* makes.
    OursMergedWithBase {
        /// The fingerprint of the plan that our commit below carries.
        plan: Option<String>,
        /// Our commit below the merges.
        root: CommitId,
        /// The commit of the base branch that was merged last.
        base: CommitId,
    },
    /// Anything else.
    Person,
}

/// What has to be read of a branch to tell.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// The tip, then its first parent and so on, as long as they are merges without our trailer, then one more.
    pub chain: Vec<CommitInfo>,
    /// The second parents of the chain that are reachable from the base branch.
    pub on_base: BTreeSet<CommitId>,
    /// The trees to compare, where the tip is a merge.
    pub merged: Option<Merged>,
}

/// The trees around a merge.
#[derive(Clone, Debug, Default)]
pub struct Merged {
    /// Of the merge itself.
    pub tip: Vec<Entry>,
    /// Of our commit below.
    pub ours: Vec<Entry>,
    /// Of the commit of the base branch that was merged last.
    pub base: Vec<Entry>,
    /// The files that both sides changed, and that the merge has as Git merges them by itself.
    pub by_git: BTreeSet<RepoPath>,
}

// === impl Merged ===

impl Merged {
    /// Returns the files of the merge that are of neither side, where both have them.
    pub fn apart(&self) -> Vec<RepoPath> {
        let (tip, ours, base) = (index(&self.tip), index(&self.ours), index(&self.base));
        let is_apart = |(path, now): &(&RepoPath, (BlobId, Mode))| {
            let sides = ours.get(path).zip(base.get(path));
            sides.is_some_and(|(ours, base)| ours != now && base != now && ours.1 == now.1 && base.1 == now.1)
        };
        tip.into_iter().filter(is_apart).map(|(path, _)| path.clone()).collect()
    }
}

/// The files that a plan writes, and what it makes of each; nothing of one that it removes.
pub type Planned = BTreeMap<RepoPath, Option<(BlobId, Mode)>>;

/// The plan that is wanted now: where the head carries the same, its files are known.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Its fingerprint.
    pub fingerprint: &'a str,
    /// The files of its change set.
    pub files: &'a Planned,
}

/// Tells whose a head is.
pub fn classify(evidence: &Evidence, known: Option<Known<'_>>) -> Ownership {
    let Some(tip) = evidence.chain.first() else { return Ownership::Person };
    if is_written_by_us(tip) {
        return Ownership::Ours { plan: plan_of(tip) };
    }
    let (Some((root, merges)), Some(merged)) = (evidence.chain.split_last(), &evidence.merged) else {
        return Ownership::Person;
    };
    let update = |c: &CommitInfo| {
        c.parents.len() == 2 && c.parents.get(1).is_some_and(|p| evidence.on_base.contains(p))
    };
    let Some(base) = tip.parents.get(1).copied() else { return Ownership::Person };
    let plan = plan_of(root);
    let carried = known.is_some_and(|k| plan.as_deref() == Some(k.fingerprint));
    let files = known.map(|k| k.files);
    if !merges.iter().all(update) || !is_written_by_us(root) || !adds_nothing(merged, files, carried) {
        return Ownership::Person;
    }
    Ownership::OursMergedWithBase { plan, root: root.id, base }
}

/// Tells whether a commit's tree is the one that its trailer names.
pub fn is_written_by_us(commit: &CommitInfo) -> bool {
    let tree = commit.tree.to_string();
    // Any of them may name it: a squash of two of ours carries two trailers.
    trailers(&commit.message, TREE_TRAILER).any(|named| named == tree)
}

/// Returns the fingerprint that a commit of ours carries.
pub fn plan_of(commit: &CommitInfo) -> Option<String> {
    trailers(&commit.message, PLAN_TRAILER).last().map(str::to_owned)
}

fn trailers<'a>(message: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    message.lines().filter_map(move |line| Some(line.strip_prefix(key)?.strip_prefix(": ")?.trim()))
}

/// A merge adds nothing when each of its files is what the wanted plan makes of it, or comes from one of its sides:
/// from ours in the change set, from the base branch elsewhere. Where ours carries another plan, whose change set is
/// not known, either side will do, or what Git makes of both. A file of the change set that changed on the base branch is
/// of neither side, but merged it is what the plan makes of the new base.
fn adds_nothing(merged: &Merged, files: Option<&Planned>, carried: bool) -> bool {
    let (tip, ours, base) = (index(&merged.tip), index(&merged.ours), index(&merged.base));
    let paths: BTreeSet<&RepoPath> = tip.keys().chain(ours.keys()).chain(base.keys()).copied().collect();
    paths.into_iter().all(|path| {
        let (now, from_ours, from_base) = (tip.get(path), ours.get(path), base.get(path));
        match files.and_then(|files| files.get(path)) {
            Some(planned) if now.copied() == *planned => true,
            Some(_) if carried => now == from_ours,
            None if carried => now == from_base,
            _ => now == from_ours || now == from_base || merged.by_git.contains(path),
        }
    })
}

fn index(entries: &[Entry]) -> BTreeMap<&RepoPath, (BlobId, Mode)> {
    entries.iter().map(|e| (&e.path, (e.id, e.mode))).collect()
}

#[cfg(test)]
mod tests;

//! Step 10, propose: reads what [`super::reconcile`] has to know, and no more than it asks for.
//!
//! In: a forge and a remote. Out: [`Observed`]. It writes nothing, and decides nothing.

use std::collections::BTreeSet;

use super::{
    context::{ProposalContext, ProposeError},
    ownership::{self, Evidence, Known, Merged, Ownership},
};
use crate::{
    explain::{Marker, Ticks, marker},
    pins::Stage,
    propose::forge::{Closer, PullRequest},
    repo::{CommitId, GitError, Refs, RepoPath, Tree, TreeError, git},
};

/// How many merges of the base branch on top of ours are looked through.
const MERGES: usize = 30;
/// How many files are merged again to tell whether a merge adds anything.
const MERGED_FILES: usize = 1000;
/// How large one of them may be.
const MERGED_BYTES: u64 = 16 << 20;

/// What was seen of the branch and its pull requests.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The base branch.
    pub base: String,
    /// Its tip.
    pub base_tip: CommitId,
    /// Our branch's tip.
    pub tip: Option<CommitId>,
    /// Whose it is, once that was asked for.
    pub head: Option<Head>,
    /// Whether the branch is under another prefix than ours, and so not ours to write.
    pub is_elsewhere: bool,
    /// The pull requests whose head is our branch, newest first.
    pub pulls: Vec<Seen>,
}

/// What the commits of the branch told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Whose it is.
    pub ownership: Ownership,
    /// The tip's parents.
    pub parents: Vec<CommitId>,
    /// The tip and its first parents that were read, down to our commit.
    pub chain: Vec<CommitId>,
}

/// A pull request as it was seen.
#[derive(Clone, Debug)]
pub struct Seen {
    /// As the forge reports it.
    pub pull: PullRequest,
    /// Our marker, where it is one for this target and stage.
    pub marker: Option<Marker>,
    /// The boxes that are ticked.
    pub ticks: Ticks,
    /// Whether it is in the forge's merge queue.
    pub queued: bool,
    /// Who closed it, once that was asked for.
    pub closer: Option<Closer>,
}

/// What must be read before this can be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Whose the tip of the branch is.
    Head,
    /// Who closed this pull request.
    Closer(u64),
}

// === impl Observed ===

impl Observed {
    /// Returns one of the pull requests by its number.
    pub(super) fn pull(&self, number: Option<u64>) -> Option<PullRequest> {
        self.pulls.iter().map(|seen| &seen.pull).find(|pull| Some(pull.number) == number).cloned()
    }
}

// === impl Seen ===

impl Seen {
    /// Returns our marker, where it is of this very head and nobody has answered since.
    pub(super) fn standing(&self, tip: Option<CommitId>) -> Option<&Marker> {
        let is_of_head = |m: &&Marker| tip.is_some_and(|tip| m.head == Some(tip.to_string()));
        let marker = self.marker.as_ref().filter(is_of_head)?;
        (!marker.closing && !marker.declined && self.ticks.ask_nothing()).then_some(marker)
    }
}

/// Reads the pull requests of the branch; no request where they are known, or where nothing is wanted and there is no
/// branch.
pub(super) fn observe(
    context: &ProposalContext<'_>,
    refs: &Refs,
    wanted: bool,
    known: Option<Vec<PullRequest>>,
) -> Result<Observed, ProposeError> {
    let moved = || GitError::Moved { branch: context.base.clone() };
    let base_tip = refs.branches.get(&context.base).copied().ok_or_else(moved)?;
    let tip = refs.branches.get(&context.branch).copied();
    // A forge closes a pull request when its branch goes, so without a branch none can be open.
    let pulls = match wanted || tip.is_some() {
        true => pulls(context, refs, known)?,
        false => Vec::new(),
    };
    let is_elsewhere = context.is_elsewhere;
    Ok(Observed { base: context.base.clone(), base_tip, tip, head: None, is_elsewhere, pulls })
}

fn pulls(
    context: &ProposalContext<'_>,
    refs: &Refs,
    known: Option<Vec<PullRequest>>,
) -> Result<Vec<Seen>, ProposeError> {
    let pulls = match known {
        Some(pulls) => pulls,
        None => context.forge.pulls(&context.branch)?,
    };
    let mut seen = seen(pulls, &context.target, context.stage);
    seen.iter_mut().for_each(|seen| seen.queued = context.forge.is_queued(&seen.pull, refs));
    Ok(seen)
}

/// Reads what the bodies of pull requests say, newest first.
pub(super) fn seen(mut pulls: Vec<PullRequest>, target: &str, stage: Stage) -> Vec<Seen> {
    pulls.sort_by_key(|p| std::cmp::Reverse(p.number));
    let see = |pull: PullRequest| {
        let of_here = |m: &Marker| m.target == target && m.stage == stage.name();
        let marker = marker::read(&pull.body).filter(of_here);
        Seen { ticks: Ticks::read(&pull.body), marker, queued: false, closer: None, pull }
    };
    pulls.into_iter().map(see).collect()
}

/// Reads whose the tip of the branch is.
pub(super) fn head(
    context: &ProposalContext<'_>,
    seen: &Observed,
    tip: CommitId,
    wanted: Option<Known<'_>>,
) -> Result<Head, GitError> {
    let remote = context.remote;
    remote.fetch(&[(&context.branch, tip)])?;
    let mut evidence = Evidence { chain: vec![remote.commit(tip)?], ..Evidence::default() };
    while let Some(last) = evidence.chain.last().filter(|_| evidence.chain.len() <= MERGES) {
        let &[ours, base] = last.parents.as_slice() else { break };
        let written_by_us = ownership::is_written_by_us(last);
        if written_by_us || !remote.is_ancestor(base, &context.base, seen.base_tip)? {
            break;
        }
        evidence.on_base.insert(base);
        // Deepens the branch to its first parent.
        remote.is_ancestor(ours, &context.branch, tip)?;
        evidence.chain.push(remote.commit(ours)?);
    }
    evidence.merged = merged(context, seen, &evidence)?;
    let chain: Vec<CommitId> = evidence.chain.iter().map(|c| c.id).collect();
    let parents = evidence.chain.first().map(|c| c.parents.clone()).unwrap_or_default();
    Ok(Head { ownership: ownership::classify(&evidence, wanted), parents, chain })
}

fn merged(
    context: &ProposalContext<'_>,
    seen: &Observed,
    evidence: &Evidence,
) -> Result<Option<Merged>, GitError> {
    let [tip, .., root] = evidence.chain.as_slice() else { return Ok(None) };
    let Some(base) = tip.parents.get(1).filter(|_| ownership::is_written_by_us(root)) else {
        return Ok(None);
    };
    let trees = [tip.id, root.id, *base].map(|id| context.remote.tree(id));
    let [tip, ours, base] = trees;
    let (tip, ours, base) = (tip?, ours?, base?);
    let entries = |tree: &dyn Tree| tree.entries().to_vec();
    let (of_tip, of_ours, of_base) = (entries(&*tip), entries(&*ours), entries(&*base));
    let mut merged = Merged { tip: of_tip, ours: of_ours, base: of_base, by_git: BTreeSet::new() };
    let apart = merged.apart();
    let before = root.parents.last().filter(|_| (1..=MERGED_FILES).contains(&apart.len()));
    let Some(before) = before else { return Ok(Some(merged)) };
    // What our commit was made on, where it is a commit of the base branch.
    if context.remote.is_ancestor(*before, &context.base, seen.base_tip)? {
        let sides = [&*context.remote.tree(*before)?, &*ours, &*base, &*tip];
        for path in apart {
            if is_merged_by_git(&path, sides)? {
                merged.by_git.insert(path);
            }
        }
    }
    Ok(Some(merged))
}

/// Tells whether a file is what Git makes by itself of what it was and of both sides.
fn is_merged_by_git(path: &RepoPath, sides: [&dyn Tree; 4]) -> Result<bool, GitError> {
    let mut texts = Vec::new();
    for tree in sides {
        let Some(entry) = tree.entry(path.as_str()) else { return Ok(false) };
        let unread = |error: TreeError| GitError::Other(error.to_string());
        if tree.size(entry.id).map_err(unread)? > MERGED_BYTES {
            return Ok(false);
        }
        texts.push(tree.read(entry.id).map_err(unread)?);
    }
    let [before, ours, base, tip] = texts.as_slice() else { return Ok(false) };
    Ok(git::merge(before, ours, base)?.as_ref() == Some(tip))
}

//! Step 10, propose: reads what it takes to tell whose the head of our branch is.
//!
//! In: a remote and the tip of the branch. Out: a [`Head`]. It reads no more than [`super::classify`] asks for, and
//! writes nothing.

use std::collections::BTreeSet;

use super::{Evidence, Known, Merged, Ownership, classify, is_written_by_us};
use crate::{
    propose::context::ProposalContext,
    repo::{CommitId, GitError, RepoPath, Tree, TreeError, git},
};

/// How many merges of the base branch on top of ours are looked through.
const MERGES: usize = 30;
/// How many files are merged again to tell whether a merge adds anything.
const MERGED_FILES: usize = 1000;
/// How large one of them may be.
const MERGED_BYTES: u64 = 16 << 20;

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

/// Reads whose the tip of the branch is.
pub(in crate::propose) fn read(
    context: &ProposalContext<'_>,
    base_tip: CommitId,
    tip: CommitId,
    wanted: Option<Known<'_>>,
) -> Result<Head, GitError> {
    let remote = context.remote;
    remote.fetch(&[(&context.branch, tip)])?;
    let mut evidence = Evidence { chain: vec![remote.commit(tip)?], ..Evidence::default() };
    while let Some(last) = evidence.chain.last().filter(|_| evidence.chain.len() <= MERGES) {
        let &[ours, base] = last.parents.as_slice() else { break };
        let written_by_us = is_written_by_us(last);
        if written_by_us || !remote.is_ancestor(base, &context.base, base_tip)? {
            break;
        }
        evidence.on_base.insert(base);
        // Deepens the branch to its first parent.
        remote.is_ancestor(ours, &context.branch, tip)?;
        evidence.chain.push(remote.commit(ours)?);
    }
    evidence.merged = merged(context, base_tip, &evidence)?;
    let chain: Vec<CommitId> = evidence.chain.iter().map(|c| c.id).collect();
    let parents = evidence.chain.first().map(|c| c.parents.clone()).unwrap_or_default();
    Ok(Head { ownership: classify(&evidence, wanted), parents, chain })
}

fn merged(
    context: &ProposalContext<'_>,
    base_tip: CommitId,
    evidence: &Evidence,
) -> Result<Option<Merged>, GitError> {
    let [tip, .., root] = evidence.chain.as_slice() else { return Ok(None) };
    let Some(base) = tip.parents.get(1).filter(|_| is_written_by_us(root)) else {
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
    if context.remote.is_ancestor(*before, &context.base, base_tip)? {
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

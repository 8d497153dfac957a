//! Step 10, propose: reads what [`super::reconcile`] has to know, and no more than it asks for.
//!
//! In: a forge and a remote. Out: [`Observed`]. It writes nothing, and decides nothing.

use super::{
    context::{ProposalContext, ProposeError},
    ownership::evidence::Head,
};
use crate::{
    explain::{Marker, Ticks, marker},
    pins::Stage,
    propose::forge::{Closer, PullRequest},
    repo::{CommitId, GitError, Refs},
};

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

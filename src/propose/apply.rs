//! Step 10, propose: carries out what [`super::reconcile`] decides, one action at a time.
//!
//! In: an [`Intent`] and the refs that were observed. Out: what became of it. Every write is safe to be killed after,
//! a body is read again just before it is written, and a write that failed is never repeated blindly: everything is
//! observed again, since the failure may hide a success.

mod text;

use std::collections::BTreeSet;

use super::{
    context::{ProposalContext, ProposeError},
    observe::{self, Observed, Question},
    ownership::{Known, Planned, evidence},
    reconcile::{self, Action, Held, Reconciled},
    wanted::Wanted,
};
use crate::{
    explain::{Message, Ticks, body, commit_message},
    propose::forge::{ForgeError, NewPull, PullPatch, PullRequest, PullState, Unsigned},
    repo::{ChangeSet, CommitId, FileChange, GitError, NewCommit, RefUpdate, Refs, Signature, blob_id},
};

/// How often everything is observed again after a write whose answer was lost.
const ROUNDS: usize = 3;
/// Who commits where neither configuration nor forge names anybody.
const NOBODY: (&str, &str) = ("uplinker", "uplinker@localhost");

/// What should become of one target's stage. On a hold, carry out nothing: an open pull request stays as it is.
#[allow(clippy::large_enum_variant)] // One exists at a time.
pub enum Intent<'a> {
    /// This should be proposed.
    Propose(Proposal<'a>),
    /// There is nothing to propose any more: the pins are at the target already.
    Withdraw,
}

/// A pull request and the commit that it carries.
pub struct Proposal<'a> {
    /// What the pull request should say.
    pub wanted: Wanted,
    /// What the commit is made of.
    pub commit: CommitParts<'a>,
}

/// What a commit is made of.
pub struct CommitParts<'a> {
    /// The commit of the base branch that the plan was made on.
    pub onto: CommitId,
    /// The changes.
    pub changes: &'a ChangeSet,
    /// What it says.
    pub message: Message,
    /// As configured; the token's user when `None`.
    pub author: Option<Signature>,
    /// When the release was published.
    pub published: Option<jiff::Timestamp>,
}

/// What became of an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// In one word.
    pub done: Done,
    /// The pull request that it is about.
    pub pull: Option<PullRequest>,
    /// One line for each thing that was refused while the rest went on.
    pub notes: Vec<String>,
}

/// The result in one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// All is as wanted; nothing was written.
    Unchanged,
    /// A pull request was opened.
    Opened,
    /// The open one was changed.
    Updated,
    /// The open one was closed, or what was left of it removed.
    Closed,
    /// Nothing is proposed.
    Held(Held),
    /// The base branch or our branch moved meanwhile: read everything again.
    StartOver,
}

/// Carries out an intent; `refs` is what the run observed when it read the base branch.
pub fn apply(
    context: &ProposalContext<'_>,
    intent: &Intent<'_>,
    refs: &Refs,
) -> Result<Applied, ProposeError> {
    let mut refs = refs.clone();
    let mut run = Run::new(context, intent);
    for round in 1.. {
        if refs.branches.get(&context.base).copied() != intent.base_tip(&refs, &context.base) {
            return Ok(run.end(Done::StartOver, None));
        }
        match run.once(&refs) {
            Err(error) if round < ROUNDS && is_temporary(&error) && run.wrote => {
                tracing::debug!(%error, "a write failed; observing again");
                refs = context.remote.refs()?;
            }
            Err(ProposeError::Git(GitError::Moved { .. })) => return Ok(run.end(Done::StartOver, None)),
            result => return result,
        }
    }
    Ok(run.end(Done::StartOver, None))
}

/// Says what carrying out an intent would do; nothing is written.
pub fn dry_run(
    context: &ProposalContext<'_>,
    intent: &Intent<'_>,
    refs: &Refs,
) -> Result<Applied, ProposeError> {
    let (seen, outcome) = Run::new(context, intent).decide(refs)?;
    let done = match outcome.held {
        Some(held) => Done::Held(held),
        None if outcome.actions.is_empty() => Done::Unchanged,
        None if intent.proposal().is_none() => Done::Closed,
        None if outcome.actions.contains(&Action::Open) => Done::Opened,
        None => Done::Updated,
    };
    Ok(Applied { done, pull: seen.pull(outcome.pull), notes: Vec::new() })
}

fn is_temporary(error: &ProposeError) -> bool {
    matches!(
        error,
        ProposeError::Git(GitError::Temporary { .. }) | ProposeError::Forge(ForgeError::Temporary { .. })
    )
}

struct Run<'a> {
    context: &'a ProposalContext<'a>,
    intent: &'a Intent<'a>,
    files: Planned,
    notes: Vec<String>,
    /// What was listed before this began; good for one look.
    known: Option<Vec<PullRequest>>,
    opened: bool,
    /// A write was tried: its failure may hide a success.
    wrote: bool,
}

/// What the actions of one round know of each other.
struct Context {
    seen: Observed,
    /// The head of the branch, once pushed.
    head: Option<CommitId>,
    pushed: bool,
    decorated: bool,
    /// The status was asked for.
    judged: bool,
    pull: Option<PullRequest>,
}

// === impl Intent ===

impl<'a> Intent<'a> {
    fn proposal(&self) -> Option<&Proposal<'a>> {
        match self {
            Self::Propose(proposal) => Some(proposal),
            Self::Withdraw => None,
        }
    }

    fn files(&self) -> Planned {
        let files = self.proposal().map(|p| p.commit.changes.files.as_slice()).unwrap_or_default();
        let after = |f: &FileChange| f.after.as_ref().map(|content| (blob_id(content), f.mode));
        files.iter().map(|f| (f.path.clone(), after(f))).collect()
    }

    /// The base commit that this intent is about.
    fn base_tip(&self, refs: &Refs, base: &str) -> Option<CommitId> {
        self.proposal().map(|p| p.commit.onto).or_else(|| refs.branches.get(base).copied())
    }
}

// === impl Run ===

impl<'a> Run<'a> {
    fn new(context: &'a ProposalContext<'a>, intent: &'a Intent<'a>) -> Self {
        Self {
            context,
            intent,
            files: intent.files(),
            notes: Vec::new(),
            known: context.known.clone(),
            opened: false,
            wrote: false,
        }
    }

    fn end(&mut self, done: Done, pull: Option<PullRequest>) -> Applied {
        let mut notes = std::mem::take(&mut self.notes);
        let mut known = BTreeSet::new();
        notes.retain(|n| known.insert(n.clone()));
        Applied { done, pull, notes }
    }

    fn once(&mut self, refs: &Refs) -> Result<Applied, ProposeError> {
        let (seen, outcome) = self.decide(refs)?;
        let pull = seen.pull(outcome.pull);
        let mut context =
            Context { head: seen.tip, seen, pushed: false, decorated: false, judged: false, pull };
        for action in &outcome.actions {
            self.wrote = true;
            if !self.perform(action, &mut context)? {
                return Ok(self.end(Done::StartOver, context.pull));
            }
        }
        let withdrawn = self.intent.proposal().is_none();
        let done = match outcome.held {
            Some(held) => Done::Held(held),
            None if self.opened => Done::Opened,
            None if !self.wrote => Done::Unchanged,
            None if withdrawn => Done::Closed,
            None => Done::Updated,
        };
        Ok(self.end(done, context.pull))
    }

    /// Observes, and reads more as long as the decision asks for it.
    fn decide(&mut self, refs: &Refs) -> Result<(Observed, Reconciled), ProposeError> {
        let wanted = self.intent.proposal().map(|p| &p.wanted);
        let mut seen = observe::observe(self.context, refs, wanted.is_some(), self.known.take())?;
        loop {
            match reconcile::reconcile(wanted, &seen, self.context.options) {
                Ok(outcome) => return Ok((seen, outcome)),
                Err(Question::Head) => {
                    let moved = || GitError::Moved { branch: self.context.branch.clone() };
                    let tip = seen.tip.ok_or_else(moved)?;
                    let known = wanted.map(|w| Known { fingerprint: &w.fingerprint, files: &self.files });
                    seen.head = Some(evidence::read(self.context, seen.base_tip, tip, known)?);
                }
                Err(Question::Closer(number)) => {
                    let closer = self.context.forge.closer(number)?;
                    let asked = seen.pulls.iter_mut().filter(|p| p.pull.number == number);
                    asked.for_each(|p| p.closer = Some(closer.clone()));
                }
            }
        }
    }

    /// Performs one action; `false` where the world is not the one that was observed.
    fn perform(&mut self, action: &Action, context: &mut Context) -> Result<bool, ProposeError> {
        let forge = self.context.forge;
        match action {
            Action::Push { old, parents, even_if_same } => {
                return self.push(*old, parents, *even_if_same, context);
            }
            Action::SetStatus => self.set_status(context)?,
            Action::Open => return self.open(context),
            Action::AddLabelsAndReviewers => self.add_labels_and_reviewers(context)?,
            Action::Unlabel(label) => self.unlabel(label, context)?,
            Action::Write => return self.write(context),
            Action::Note(newer) => return self.note(*newer, context),
            Action::MarkClosing(number, declined) => return self.mark_closing(*number, *declined),
            Action::Close(number) => {
                let closed = PullPatch { state: Some(PullState::Closed), ..PullPatch::default() };
                forge.update(*number, &closed)?;
                if let Some(pull) = context.pull.as_mut().filter(|p| p.number == *number) {
                    pull.state = PullState::Closed;
                }
            }
            Action::DeleteBranch(tip) => return self.delete_branch(*tip),
        }
        Ok(true)
    }

    fn push(
        &mut self,
        old: Option<CommitId>,
        parents: &[CommitId],
        even_if_same: bool,
        context: &mut Context,
    ) -> Result<bool, ProposeError> {
        let (Some(proposal), remote) = (self.intent.proposal(), self.context.remote) else {
            return Ok(false);
        };
        let parts = &proposal.commit;
        let author = self.author(parts)?;
        let base = remote.commit(parts.onto)?;
        let new = remote.write(&NewCommit {
            onto: parts.onto,
            parents: parents.to_vec(),
            changes: parts.changes,
            message: commit_message(&parts.message, &author),
            author,
            date: parts.published.map_or(base.time, |published| published.max(base.time)),
        })?;
        if let Some(tip) = old.filter(|_| !even_if_same)
            && remote.commit(tip)?.tree == remote.commit(new)?.tree
        {
            return Ok(true);
        }
        // The last look before the first write: a commit onto a base that has moved would be out of date at once.
        let now = remote.refs()?;
        let unmoved = now.branches.get(&self.context.base) == Some(&parts.onto);
        if !unmoved || now.branches.get(&self.context.branch).copied() != old {
            return Ok(false);
        }
        let new = if Some(new) == old {
            new
        } else {
            let new = self.signed(parts, new)?;
            remote.push(&RefUpdate { branch: self.context.branch.clone(), old, new: Some(new) })?;
            new
        };
        context.head = Some(new);
        context.pushed = true;
        Ok(true)
    }

    /// Has the forge make a commit of ours anew and sign it, where it does; else ours stays. What it makes has the time of
    /// its making: two runs make two commits, of which the lease lets one through.
    fn signed(&mut self, parts: &CommitParts<'_>, ours: CommitId) -> Result<CommitId, ProposeError> {
        let (forge, remote) = (self.context.forge, self.context.remote);
        // It signs for nobody but the token's own user.
        if parts.author.is_some() || forge.signs().is_err() {
            return Ok(ours);
        }
        let (commit, base) = (remote.commit(ours)?, remote.commit(parts.onto)?.tree);
        let unsigned = Unsigned { base, changes: parts.changes, commit: &commit };
        let why = match forge.sign(&unsigned) {
            Ok(Some(signed)) => match remote.adopt(&signed, ours)? {
                Some(signed) => return Ok(signed),
                None => "it made another one of it".to_owned(),
            },
            Ok(None) => "it gave no signature".to_owned(),
            Err(error) if error.is_refusal() => error.to_string(),
            Err(error) => return Err(error.into()),
        };
        self.notes.push(format!("the commit was not signed by {}: {why}", forge.dialect().forge));
        Ok(ours)
    }

    fn author(&self, parts: &CommitParts<'_>) -> Result<Signature, ProposeError> {
        if let Some(author) = &parts.author {
            return Ok(author.clone());
        }
        let nobody = || Signature { name: NOBODY.0.to_owned(), email: NOBODY.1.to_owned() };
        Ok(self.context.forge.identity()?.unwrap_or_else(nobody))
    }

    /// A label that stays by the forge's word harms nobody: the rest goes on.
    fn unlabel(&mut self, label: &str, context: &Context) -> Result<(), ProposeError> {
        let Some(pull) = &context.pull else { return Ok(()) };
        match self.context.forge.unlabel(pull.number, label) {
            Err(e) if e.is_refusal() => {
                self.notes.push(format!("the label `{label}` was not taken off: {e}"));
                Ok(())
            }
            result => Ok(result?),
        }
    }

    fn set_status(&mut self, context: &mut Context) -> Result<(), ProposeError> {
        let (Some(proposal), Some(head)) = (self.intent.proposal(), context.head) else { return Ok(()) };
        let page = context.pull.as_ref().map(|p| p.url.as_str());
        context.judged = true;
        match self.context.forge.status(head, &proposal.wanted.status, page) {
            Err(e) if e.is_refusal() => {
                self.notes.push(format!("the status `uplinker/verify` was not set: {e}"));
                Ok(())
            }
            result => Ok(result?),
        }
    }

    fn open(&mut self, context: &mut Context) -> Result<bool, ProposeError> {
        let Some(Proposal { wanted, .. }) = self.intent.proposal() else { return Ok(true) };
        let sign = self.marker(wanted, context);
        let new = NewPull {
            title: wanted.title.clone(),
            body: body::compose(
                &wanted.text,
                &wanted.frame(self.context.options.history),
                &Ticks::default(),
                &sign,
            )?,
            head: self.context.branch.clone(),
            base: self.context.base.clone(),
            draft: wanted.draft,
        };
        let pull = self.context.forge.open(&new)?;
        if wanted.draft && !pull.draft {
            let request = self.context.forge.dialect().request;
            self.notes.push(format!("the {request} is not a draft: the repository does not support drafts"));
        }
        self.notes.extend(self.context.forge.remarks(&pull));
        self.opened = true;
        // Somebody opened one from our branch in this very moment: it becomes ours.
        let is_ours = body::same(&pull.body, &new.body);
        context.pull = Some(pull);
        if is_ours { Ok(true) } else { self.write(context) }
    }

    fn add_labels_and_reviewers(&mut self, context: &mut Context) -> Result<(), ProposeError> {
        if let (Some(proposal), Some(pull)) = (self.intent.proposal(), &context.pull) {
            let refused = self.context.forge.add_labels_and_reviewers(pull, &proposal.wanted.extras)?;
            self.notes.extend(refused);
            context.decorated = true;
        }
        Ok(())
    }

    /// A branch that the remote keeps harms nobody: the rest is done. One with new commits is not ours to delete.
    fn delete_branch(&mut self, tip: CommitId) -> Result<bool, ProposeError> {
        let update = RefUpdate { branch: self.context.branch.clone(), old: Some(tip), new: None };
        match self.context.remote.push(&update) {
            Err(GitError::Refused { branch, .. }) => {
                self.notes
                    .push(format!("the branch `{branch}` stays: the remote does not let it be deleted"));
                Ok(true)
            }
            Err(GitError::Moved { .. }) => Ok(false),
            result => Ok(result.map(|()| true)?),
        }
    }
}

#[cfg(test)]
mod tests;

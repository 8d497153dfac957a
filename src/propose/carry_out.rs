//! Step 8, propose: carries out what [`super::reconcile`] decides, one action at a time.
//!
//! In: a [`Wish`] and the refs that were observed. Out: what became of it. Every write is safe to be killed after,
//! a body is read again just before it is written, and a write that failed is never repeated blindly: everything is
//! observed again, since the failure may hide a success.

use std::collections::BTreeSet;

use super::{
    Forge, ForgeError, Marker, Message, NewPull, PullPatch, PullRequest, PullState, Ticks,
    body::{self, BodyError, Frame},
    commit_message, marker,
    observe::{self, Observed, Question},
    ownership::Ownership,
    reconcile::{self, Action, Held, Options, Outcome},
    wanted::{BLOCKED, Wanted, note_hash},
};
use crate::{
    commit::{CommitId, GitError, NewCommit, RefUpdate, Refs, Remote, Signature},
    edit::ChangeSet,
    release::EdgeVersion,
    scan::{RepoPath, Stage},
};

/// How often everything is observed again after a write whose answer was lost.
const ROUNDS: usize = 3;
/// Who commits where neither configuration nor forge names anybody.
const NOBODY: (&str, &str) = ("uplinker", "uplinker@localhost");

/// Where one target's stage is proposed.
pub struct Desk<'a> {
    /// The forge.
    pub forge: &'a dyn Forge,
    /// The remote.
    pub remote: &'a dyn Remote,
    /// Our branch.
    pub branch: String,
    /// The branch to be merged into.
    pub base: String,
    /// The target.
    pub target: String,
    /// The stage.
    pub stage: Stage,
    /// What the configuration says of branches.
    pub options: Options,
    /// The branch's pull requests, where they were listed a moment ago: the first look needs no request.
    pub known: Option<Vec<PullRequest>>,
}

/// What should become of one target's stage. On a hold, carry out nothing: an open pull request stays as it is.
#[allow(clippy::large_enum_variant)] // One exists at a time.
pub enum Wish<'a> {
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

/// What became of a wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
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

/// Why a wish could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum ProposeError {
    /// The Git side.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The forge's side.
    #[error(transparent)]
    Forge(#[from] ForgeError),
    /// Our own texts: a defect.
    #[error(transparent)]
    Body(#[from] BodyError),
}

/// Carries out a wish; `refs` is what the run observed when it read the base branch.
pub fn carry_out(desk: &Desk<'_>, wish: &Wish<'_>, refs: &Refs) -> Result<Carried, ProposeError> {
    let mut refs = refs.clone();
    let mut run = Run {
        desk,
        wish,
        paths: wish.paths(),
        notes: Vec::new(),
        known: desk.known.clone(),
        opened: false,
        wrote: false,
    };
    for round in 1.. {
        if refs.branches.get(&desk.base).copied() != wish.base_tip(&refs, &desk.base) {
            return Ok(run.end(Done::StartOver, None));
        }
        match run.once(&refs) {
            Err(error) if round < ROUNDS && is_temporary(&error) && run.wrote => {
                tracing::debug!(%error, "a write failed; observing again");
                refs = desk.remote.refs()?;
            }
            Err(ProposeError::Git(GitError::Moved { .. })) => return Ok(run.end(Done::StartOver, None)),
            result => return result,
        }
    }
    Ok(run.end(Done::StartOver, None))
}

fn is_temporary(error: &ProposeError) -> bool {
    matches!(
        error,
        ProposeError::Git(GitError::Temporary { .. }) | ProposeError::Forge(ForgeError::Temporary { .. })
    )
}

struct Run<'a> {
    desk: &'a Desk<'a>,
    wish: &'a Wish<'a>,
    paths: BTreeSet<RepoPath>,
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
    pull: Option<PullRequest>,
}

// === impl Wish ===

impl<'a> Wish<'a> {
    fn proposal(&self) -> Option<&Proposal<'a>> {
        match self {
            Self::Propose(proposal) => Some(proposal),
            Self::Withdraw => None,
        }
    }

    fn paths(&self) -> BTreeSet<RepoPath> {
        let files = self.proposal().map(|p| p.commit.changes.files.as_slice()).unwrap_or_default();
        files.iter().map(|f| f.path.clone()).collect()
    }

    /// The base commit that this wish is about.
    fn base_tip(&self, refs: &Refs, base: &str) -> Option<CommitId> {
        self.proposal().map(|p| p.commit.onto).or_else(|| refs.branches.get(base).copied())
    }
}

// === impl Run ===

impl Run<'_> {
    fn end(&mut self, done: Done, pull: Option<PullRequest>) -> Carried {
        let mut notes = std::mem::take(&mut self.notes);
        let mut known = BTreeSet::new();
        notes.retain(|n| known.insert(n.clone()));
        Carried { done, pull, notes }
    }

    fn once(&mut self, refs: &Refs) -> Result<Carried, ProposeError> {
        let (seen, outcome) = self.decide(refs)?;
        let pull =
            outcome.pull.and_then(|n| seen.pulls.iter().find(|p| p.pull.number == n)).map(|p| p.pull.clone());
        let mut context = Context { head: seen.tip, seen, pushed: false, decorated: false, pull };
        for action in &outcome.actions {
            self.wrote = true;
            if !self.perform(action, &mut context)? {
                return Ok(self.end(Done::StartOver, context.pull));
            }
        }
        let withdrawn = self.wish.proposal().is_none();
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
    fn decide(&mut self, refs: &Refs) -> Result<(Observed, Outcome), ProposeError> {
        let wanted = self.wish.proposal().map(|p| &p.wanted);
        let mut seen = observe::observe(self.desk, refs, wanted.is_some(), self.known.take())?;
        loop {
            match reconcile::reconcile(wanted, &seen, self.desk.options) {
                Ok(outcome) => return Ok((seen, outcome)),
                Err(Question::Head) => {
                    let moved = || GitError::Moved { branch: self.desk.branch.clone() };
                    let tip = seen.tip.ok_or_else(moved)?;
                    let known = wanted.map(|w| (w.fingerprint.as_str(), &self.paths));
                    seen.head = Some(observe::head(self.desk, &seen, tip, known)?);
                }
                Err(Question::Closer(number)) => {
                    let closer = self.desk.forge.closer(number)?;
                    let asked = seen.pulls.iter_mut().filter(|p| p.pull.number == number);
                    asked.for_each(|p| p.closer = Some(closer.clone()));
                }
            }
        }
    }

    /// Performs one action; `false` where the world is not the one that was observed.
    fn perform(&mut self, action: &Action, context: &mut Context) -> Result<bool, ProposeError> {
        let forge = self.desk.forge;
        match action {
            Action::Push { old, parents, even_if_same } => {
                return self.push(*old, parents, *even_if_same, context);
            }
            Action::SetStatus => self.set_status(context)?,
            Action::Open => return self.open(context),
            Action::Decorate => self.decorate(context)?,
            Action::Unlabel => {
                if let Some(pull) = &context.pull {
                    forge.unlabel(pull.number, BLOCKED)?;
                }
            }
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
            Action::DeleteBranch(tip) => self.delete_branch(*tip)?,
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
        let (Some(proposal), remote) = (self.wish.proposal(), self.desk.remote) else { return Ok(false) };
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
        let unmoved = now.branches.get(&self.desk.base) == Some(&parts.onto);
        if !unmoved || now.branches.get(&self.desk.branch).copied() != old {
            return Ok(false);
        }
        if Some(new) != old {
            remote.push(&RefUpdate { branch: self.desk.branch.clone(), old, new: Some(new) })?;
        }
        context.head = Some(new);
        context.pushed = true;
        Ok(true)
    }

    fn author(&self, parts: &CommitParts<'_>) -> Result<Signature, ProposeError> {
        if let Some(author) = &parts.author {
            return Ok(author.clone());
        }
        let nobody = || Signature { name: NOBODY.0.to_owned(), email: NOBODY.1.to_owned() };
        Ok(self.desk.forge.identity()?.unwrap_or_else(nobody))
    }

    fn set_status(&mut self, context: &Context) -> Result<(), ProposeError> {
        let (Some(proposal), Some(head)) = (self.wish.proposal(), context.head) else { return Ok(()) };
        if !self.desk.forge.status(head, &proposal.wanted.status)? {
            self.notes.push(
                "the status `uplinker/verify` was not set: the token may not write statuses".to_owned(),
            );
        }
        Ok(())
    }

    fn open(&mut self, context: &mut Context) -> Result<bool, ProposeError> {
        let Some(Proposal { wanted, .. }) = self.wish.proposal() else { return Ok(true) };
        let sign = self.marker(wanted, context);
        let new = NewPull {
            title: wanted.title.clone(),
            body: body::compose(
                &wanted.text,
                &wanted.frame(self.desk.options.history),
                &Ticks::default(),
                &sign,
            )?,
            head: self.desk.branch.clone(),
            base: self.desk.base.clone(),
            draft: wanted.draft,
        };
        let pull = self.desk.forge.open(&new)?;
        if wanted.draft && !pull.draft {
            self.notes
                .push("the pull request is not a draft: the repository does not support drafts".to_owned());
        }
        self.notes.extend(self.desk.forge.remarks(&pull));
        self.opened = true;
        // Somebody opened one from our branch in this very moment: it becomes ours.
        let is_ours = body::same(&pull.body, &new.body);
        context.pull = Some(pull);
        if is_ours { Ok(true) } else { self.write(context) }
    }

    fn decorate(&mut self, context: &mut Context) -> Result<(), ProposeError> {
        if let (Some(proposal), Some(pull)) = (self.wish.proposal(), &context.pull) {
            let refused = self.desk.forge.decorate(pull, &proposal.wanted.extras)?;
            self.notes.extend(refused);
            context.decorated = true;
        }
        Ok(())
    }

    /// The marker of the text that is about to be written.
    fn marker(&self, wanted: &Wanted, context: &Context) -> Marker {
        let known =
            context.pull.as_ref().and_then(|p| context.seen.pulls.iter().find(|s| s.pull.number == p.number));
        let before = known.and_then(|s| s.marker.as_ref());
        let base_tip = context.seen.base_tip;
        let head = context.seen.head.as_ref();
        let base = match head.map(|h| &h.ownership) {
            _ if context.pushed => Some(base_tip),
            _ if head.is_some_and(|h| h.parents.contains(&base_tip)) => Some(base_tip),
            Some(Ownership::OursMergedWithBase { base, .. }) => Some(*base),
            _ => None,
        };
        let extras = wanted.extras_hash();
        let asked = context.decorated || extras.is_none() || before.and_then(|m| m.extras.clone()) == extras;
        Marker {
            head: context.head.map(|h| h.to_string()),
            base: base.map(|b| b.to_string()).or_else(|| before.and_then(|m| m.base.clone())),
            text: Some(wanted.text_hash()),
            status: Some(wanted.status_hash()),
            extras: extras.filter(|_| asked),
            ..wanted.marker()
        }
    }

    fn write(&mut self, context: &mut Context) -> Result<bool, ProposeError> {
        let (Some(Proposal { wanted, .. }), Some(pull)) = (self.wish.proposal(), &context.pull) else {
            return Ok(true);
        };
        let fresh = self.desk.forge.pull(pull.number)?;
        if fresh.state != PullState::Open {
            return Ok(false);
        }
        let ticks = new_ticks(&fresh, context);
        let frame = wanted.frame(self.desk.options.history);
        let body = body::compose(&wanted.text, &frame, &ticks, &self.marker(wanted, context))?;
        self.patch(&fresh, Some(&wanted.title), &body)?;
        context.pull = Some(PullRequest { title: wanted.title.clone(), body, ..fresh });
        Ok(true)
    }

    fn note(&mut self, newer: Option<EdgeVersion>, context: &Context) -> Result<bool, ProposeError> {
        let (Some(Proposal { wanted, .. }), Some(pull)) = (self.wish.proposal(), &context.pull) else {
            return Ok(true);
        };
        let fresh = self.desk.forge.pull(pull.number)?;
        if fresh.state != PullState::Open {
            return Ok(false);
        }
        let frame = Frame { person: true, newer, ..wanted.frame(self.desk.options.history) };
        let before = marker::read(&fresh.body).unwrap_or_else(|| self.marker(wanted, context));
        let sign = Marker {
            head: context.head.map(|h| h.to_string()),
            text: Some(note_hash(newer)),
            person: true,
            closing: false,
            declined: false,
            ..before
        };
        let ticks = new_ticks(&fresh, context);
        self.patch(&fresh, None, &body::annotate(&fresh.body, &frame, &ticks, &sign)?)?;
        Ok(true)
    }

    fn mark_closing(&mut self, number: u64, declined: Option<EdgeVersion>) -> Result<bool, ProposeError> {
        let fresh = self.desk.forge.pull(number)?;
        let Some(before) = marker::read(&fresh.body)
            .or_else(|| self.wish.proposal().map(|p| p.wanted.marker()))
            .filter(|_| fresh.state == PullState::Open)
        else {
            return Ok(false);
        };
        let release = declined.unwrap_or(before.release);
        let sign = Marker { closing: true, declined: declined.is_some(), release, ..before };
        self.patch(&fresh, None, &body::with_marker(&fresh.body, &sign))?;
        Ok(true)
    }

    fn patch(&self, fresh: &PullRequest, title: Option<&str>, body: &str) -> Result<(), ForgeError> {
        let patch = PullPatch {
            title: title.filter(|t| *t != fresh.title).map(str::to_owned),
            body: Some(body).filter(|b| !body::same(b, &fresh.body)).map(str::to_owned),
            state: None,
        };
        match patch == PullPatch::default() {
            true => Ok(()),
            false => self.desk.forge.update(fresh.number, &patch),
        }
    }

    /// A branch that cannot be deleted harms nobody: the rest is done.
    fn delete_branch(&mut self, tip: CommitId) -> Result<(), ProposeError> {
        let update = RefUpdate { branch: self.desk.branch.clone(), old: Some(tip), new: None };
        match self.desk.remote.push(&update) {
            Err(GitError::Refused { branch, .. }) => {
                self.notes
                    .push(format!("the branch `{branch}` stays: the remote does not let it be deleted"));
            }
            // Gone, or with new commits: not ours to delete.
            Err(GitError::Moved { .. }) => {}
            result => result?,
        }
        Ok(())
    }
}

/// The ticks that appeared since the decision was made; those before it were answered by it.
fn new_ticks(fresh: &PullRequest, context: &Context) -> Ticks {
    let before = context.seen.pulls.iter().find(|p| p.pull.number == fresh.number);
    Ticks::read(&fresh.body).since(&before.map(|p| p.ticks.clone()).unwrap_or_default())
}

#[cfg(test)]
mod tests;

//! Step 10, propose: what to do about one pull request.
//!
//! In: what is wanted, what was observed. Out: actions, in an order in which the program may be killed after each.
//! Pure: it reads nothing, and says by a [`Question`] what it has not been told.
//!
//! # The decisions
//!
//! *Ours* is as [`super::ownership`] tells it; *current* means that the head carries the wanted plan.
//!
//! | open pull request | head | more | actions |
//! |---|---|---|---|
//! | yes | current, ours | text, status and extras as wanted | none |
//! | yes | current, ours | one of them is not | set the status, add_labels_and_reviewers, write the body |
//! | yes | ours, older plan | | commit (append: on the head and the base; replace: on the base), then as above |
//! | yes | ours | base moved, no file of the change set touched | none; with `update: behind`, or *rebase* ticked, as above |
//! | yes | a person's | | write the note and the box *retake*, once; held |
//! | yes | a person's | *retake* ticked | commit as for an older plan |
//! | yes | any | *skip* ticked for the wanted release | mark as closing and declined; delete the branch if it is ours; close |
//! | yes | not settled | in the forge's merge queue | none; held, since a push would take it out of the queue |
//! | yes, several | | | close those that lead to another base branch, or are younger, as ours |
//! | no | | a person closed one for this release or a newer one | none: a no; held |
//! | no | | we closed it as declined | none: a no; held |
//! | no | none | | commit on the base, open, set the status, add_labels_and_reviewers, write the marker |
//! | no | that of a merged one | | the same, in place of what is there |
//! | no | that of a closed one, ours | closed by us, a bot, or since the base was gone | the same; no commit where it is current |
//! | no | ours, of no pull request | killed between push and opening | commit where it is not current; open |
//! | no | a person's | | none; held as `branch-occupied` |
//!
//! With nothing wanted any more:
//!
//! | open pull request | head | actions |
//! |---|---|---|
//! | yes | ours | mark as closing, delete the branch, close |
//! | yes | a person's | none; held |
//! | yes | in the forge's merge queue | the same as out of it, which takes it out: it must not be merged any more |
//! | yes | on a branch under another prefix, which may not be written | the same, and the branch stays; held in the queue |
//! | yes | without our marker | none |
//! | no | any | none |
//!
//! The branch goes before the pull request is closed: a commit that somebody pushes meanwhile stops its deletion, and
//! then all is read again. So no branch is left behind by us, and what is open tells all when nothing is wanted.

use super::{
    context::{History, Options, Update},
    declined::{No, declined},
    observe::{Observed, Question, Seen},
    ownership::{Ownership, evidence::Head},
    wanted::{Wanted, is_ours, is_same_label, note_hash},
};
use crate::{
    explain::{CheckBox, Dialect, Marker},
    linkerd::EdgeVersion,
    propose::forge::PullState,
    repo::CommitId,
};

/// One step; each leaves the branch and the pull request in a state that this table knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Commit the plan and move the branch there from `old`.
    Push {
        /// Where the branch is.
        old: Option<CommitId>,
        /// The parents.
        parents: Vec<CommitId>,
        /// Push also where the new tree is the tree that is there.
        even_if_same: bool,
    },
    /// Set `uplinker/verify` on the head.
    SetStatus,
    /// Open the pull request.
    Open,
    /// Add labels and people to the pull request.
    AddLabelsAndReviewers,
    /// Take a label of ours off it that fits no more.
    Unlabel(String),
    /// Write its title and body as wanted.
    Write,
    /// Write the note that the branch is a person's; the release names what the branch does not go to by itself.
    Note(Option<EdgeVersion>),
    /// Write into the marker that we are about to close it; with the release that is declined.
    MarkClosing(u64, Option<EdgeVersion>),
    /// Close it.
    Close(u64),
    /// Delete the branch from this tip.
    DeleteBranch(CommitId),
}

/// Why nothing is proposed although something is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// A person declined the release.
    Declined {
        /// The release that was declined.
        release: EdgeVersion,
        /// The pull request that says so.
        pull: u64,
    },
    /// The branch has commits that are not ours, and no open pull request.
    BranchOccupied {
        /// Its tip.
        tip: CommitId,
    },
    /// The open pull request has commits of a person.
    PersonsBranch {
        /// The pull request.
        pull: u64,
    },
    /// The open pull request is in the forge's merge queue.
    Queued {
        /// The pull request.
        pull: u64,
    },
    /// The open pull request has commits of a person, and is not wanted any more.
    NothingLeft {
        /// The pull request.
        pull: u64,
    },
    /// The open pull request takes a release back, and its branch is not where it would be now.
    TakesBack {
        /// The release.
        release: EdgeVersion,
        /// The pull request.
        pull: u64,
    },
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// The actions, in order.
    pub actions: Vec<Action>,
    /// Why nothing is proposed.
    pub held: Option<Held>,
    /// The pull request that this is about, which was open when it was observed.
    pub pull: Option<u64>,
}

/// Decides; `wanted` is `None` where the plan has nothing to do any more. On a hold, do not ask: all stays as it is.
pub fn reconcile(wanted: Option<&Wanted>, seen: &Observed, options: Options) -> Result<Reconciled, Question> {
    let (keep, strays) = open_pulls(seen);
    let mut outcome = match (wanted, keep) {
        (Some(wanted), Some(open)) => Case { wanted, seen, options }.open(open)?,
        (Some(wanted), None) => Case { wanted, seen, options }.none_open()?,
        (None, Some(open)) => withdraw(open, seen)?,
        (None, None) => Reconciled::default(),
    };
    let close =
        |stray: &Seen| [Action::MarkClosing(stray.pull.number, None), Action::Close(stray.pull.number)];
    outcome.actions.splice(0..0, strays.into_iter().flat_map(close));
    Ok(outcome)
}

/// Tells whether the head is to follow the base branch, and does not.
pub(super) fn is_behind(marker: &Marker, seen: &Observed, options: Options) -> bool {
    options.update == Update::Behind && marker.base != Some(seen.base_tip.to_string())
}

/// The release that a person's branch does not go to by itself.
pub(super) fn newer(release: EdgeVersion, marker: &Marker) -> Option<EdgeVersion> {
    (release > marker.release).then_some(release)
}

/// Of the open pull requests, the one to go on with, and those of ours that are too many: a changed base branch
/// leaves one behind.
pub(super) fn open_pulls(seen: &Observed) -> (Option<&Seen>, Vec<&Seen>) {
    let open = || seen.pulls.iter().filter(|p| p.pull.state == PullState::Open);
    let keep = open().filter(|p| p.pull.base == seen.base).min_by_key(|p| p.pull.number);
    let stray = |p: &&Seen| p.marker.is_some() && keep.is_none_or(|k| k.pull.number != p.pull.number);
    (keep, open().filter(stray).collect())
}

fn withdraw(open: &Seen, seen: &Observed) -> Result<Reconciled, Question> {
    if open.marker.is_none() {
        return Ok(Reconciled::default());
    }
    let pull = Some(open.pull.number);
    // Under another prefix it is as good as it was.
    if open.queued && seen.is_elsewhere {
        let held = Some(Held::Queued { pull: open.pull.number });
        return Ok(Reconciled { held, pull, ..Reconciled::default() });
    }
    match seen.tip {
        Some(_) if whose(seen)?.ownership == Ownership::Person => Ok(Reconciled {
            held: Some(Held::NothingLeft { pull: open.pull.number }),
            pull,
            ..Reconciled::default()
        }),
        _ => Ok(Reconciled {
            actions: close(open, seen, open.ticks.skipped())?,
            pull,
            ..Reconciled::default()
        }),
    }
}

/// The branch goes only where it is ours.
fn close(open: &Seen, seen: &Observed, declined: Option<EdgeVersion>) -> Result<Vec<Action>, Question> {
    let number = open.pull.number;
    let said =
        |m: &Marker| m.closing && m.declined == declined.is_some() && declined.is_none_or(|r| r == m.release);
    let mut actions = Vec::new();
    if !open.marker.as_ref().is_some_and(said) {
        actions.push(Action::MarkClosing(number, declined));
    }
    if let Some(tip) = seen.tip.filter(|_| !seen.is_elsewhere)
        && whose(seen)?.ownership != Ownership::Person
    {
        actions.push(Action::DeleteBranch(tip));
    }
    actions.push(Action::Close(number));
    Ok(actions)
}

fn whose(seen: &Observed) -> Result<&Head, Question> {
    seen.head.as_ref().ok_or(Question::Head)
}

struct Case<'a> {
    wanted: &'a Wanted,
    seen: &'a Observed,
    options: Options,
}

// === impl Held ===

impl Held {
    /// Says why, in the words of a forge.
    pub fn words(&self, dialect: &Dialect) -> String {
        let named = |pull: &u64| dialect.reference(*pull);
        match self {
            Self::Declined { release, pull } => {
                format!("{release} was declined in {}; the next release will be offered", named(pull))
            }
            Self::BranchOccupied { tip } => format!(
                "branch-occupied: the branch is at {tip}, which is not a commit of uplinker, and no {} is open; delete \
                 or rename the branch",
                dialect.request
            ),
            Self::PersonsBranch { pull } => {
                format!("{} has commits of a person; tick its box to hand the branch back", named(pull))
            }
            Self::Queued { pull } => {
                format!(
                    "{} is in the merge queue and stays as it is until it is merged or taken out",
                    named(pull)
                )
            }
            Self::NothingLeft { pull } => format!(
                "{} is not wanted any more but has commits of a person; take them over, and close it",
                named(pull)
            ),
            Self::TakesBack { release, pull } => {
                format!("{} takes {release} back; merge or close it first", named(pull))
            }
        }
    }
}

// === impl Case ===

impl Case<'_> {
    /// There is an open pull request.
    fn open(&self, open: &Seen) -> Result<Reconciled, Question> {
        let pull = Some(open.pull.number);
        let skipped = open.ticks.skipped().filter(|r| *r >= self.wanted.release);
        if let Some(release) = skipped.filter(|_| self.wanted.undoes.is_none()) {
            let held = Some(Held::Declined { release, pull: open.pull.number });
            return Ok(Reconciled { actions: close(open, self.seen, Some(release))?, held, pull: None });
        }
        if self.settled(open) {
            let person = open.marker.as_ref().is_some_and(|m| m.person);
            let held = person.then_some(Held::PersonsBranch { pull: open.pull.number });
            return Ok(Reconciled { actions: Vec::new(), held, pull });
        }
        if open.queued {
            let held = Some(Held::Queued { pull: open.pull.number });
            return Ok(Reconciled { held, pull, ..Reconciled::default() });
        }
        // An open pull request without its branch: the forge has not noticed yet that the branch is gone.
        let Some(tip) = self.seen.tip else {
            return Ok(Reconciled { actions: self.update(open, Some(self.fresh(None))), held: None, pull });
        };
        let head = whose(self.seen)?;
        let retake = open.ticks.has(CheckBox::Retake);
        if head.ownership == Ownership::Person && !retake {
            let held = Some(Held::PersonsBranch { pull: open.pull.number });
            return Ok(Reconciled { actions: self.note(open), held, pull });
        }
        // One that would go down, since its release goes no further, stops at what somebody said no to.
        if self.goes_down(open)
            && let Some(held) = self.declined()?
        {
            return Ok(Reconciled { actions: close(open, self.seen, None)?, held: Some(held), pull: None });
        }
        let retake = retake && head.ownership == Ownership::Person;
        let push = if retake { Some(self.grow(tip, None, true)) } else { self.push(tip, open, head) };
        Ok(Reconciled { actions: self.update(open, push), held: None, pull })
    }

    /// Tells whether an open upgrade is to become one to an older release.
    fn goes_down(&self, open: &Seen) -> bool {
        let was = open.marker.as_ref().filter(|marker| marker.undoes.is_none());
        self.wanted.undoes.is_none() && was.is_some_and(|marker| marker.release > self.wanted.release)
    }

    /// Nothing is to be done, as far as the marker tells.
    fn settled(&self, open: &Seen) -> bool {
        let wanted = self.wanted;
        let Some(marker) = open.standing(self.seen.tip) else { return false };
        if self.wanted.basis.is_some() && marker.basis != wanted.basis {
            return false;
        }
        if marker.person {
            return marker.text == Some(note_hash(newer(wanted.release, marker)));
        }
        !is_behind(marker, self.seen, self.options)
            && (&marker.fingerprint, &marker.inputs) == (&wanted.fingerprint, &wanted.inputs)
            && (marker.release, marker.undoes) == (wanted.release, wanted.undoes)
            && marker.text == Some(wanted.text_hash())
            && marker.status == Some(wanted.status_hash())
            && marker.extras == wanted.extras_hash()
    }

    /// What has to be pushed onto a head of ours, if anything.
    fn push(&self, tip: CommitId, open: &Seen, head: &Head) -> Option<Action> {
        let marker = open.marker.as_ref();
        let follows = self.options.update == Update::Behind || open.ticks.has(CheckBox::Rebase);
        let behind = follows && !self.contains_base(head, marker);
        let touched =
            marker.is_none_or(|m| m.inputs != self.wanted.inputs || m.release != self.wanted.release);
        let current = self.is_current(head, marker);
        (behind || !current).then(|| self.grow(tip, marker, behind || touched))
    }

    /// The head carries the wanted plan: its trailer says so, or the marker that we wrote for it does.
    fn is_current(&self, head: &Head, marker: Option<&Marker>) -> bool {
        let plan = match &head.ownership {
            Ownership::Ours { plan } | Ownership::OursMergedWithBase { plan, .. } => plan,
            Ownership::Person => return false,
        };
        let of_this_head = |m: &Marker| head.chain.iter().any(|c| m.head == Some(c.to_string()));
        plan.as_ref() == Some(&self.wanted.fingerprint)
            || marker
                .is_some_and(|m| m.fingerprint == self.wanted.fingerprint && !m.person && of_this_head(m))
    }

    fn contains_base(&self, head: &Head, marker: Option<&Marker>) -> bool {
        head.parents.contains(&self.seen.base_tip) || self.is_noted(head, marker)
    }

    /// The marker says that the head contains the base. What a parent contains, the tip contains: the marker may be
    /// of the head before a push.
    fn is_noted(&self, head: &Head, marker: Option<&Marker>) -> bool {
        let base = Some(self.seen.base_tip.to_string());
        let mut below = head.chain.iter().chain(&head.parents);
        marker.is_some_and(|m| m.base == base && below.any(|c| m.head == Some(c.to_string())))
    }

    /// A commit on a branch with a tip, as `branch.history` says.
    fn grow(&self, tip: CommitId, marker: Option<&Marker>, even_if_same: bool) -> Action {
        let base = self.seen.base_tip;
        // Only what is noted outside of the commits: if we are killed after the push, the new commit must still show
        // that it contains the base, by the marker or by its parents.
        let contained = self.seen.head.as_ref().is_some_and(|h| self.is_noted(h, marker));
        let parents = match self.options.history {
            History::Replace => vec![base],
            History::Append if contained => vec![tip],
            History::Append => vec![tip, base],
        };
        Action::Push { old: Some(tip), parents, even_if_same }
    }

    /// One commit on the base branch, in place of what is there.
    fn fresh(&self, old: Option<CommitId>) -> Action {
        Action::Push { old, parents: vec![self.seen.base_tip], even_if_same: true }
    }

    /// Push, status, extras and body of an open pull request.
    fn update(&self, open: &Seen, push: Option<Action>) -> Vec<Action> {
        let wanted = self.wanted;
        let marker = open.marker.as_ref();
        let retry = open.ticks.has(CheckBox::Retry);
        let new_head =
            push.is_some() || marker.and_then(|m| m.head.clone()) != self.seen.tip.map(|t| t.to_string());
        let mut actions = Vec::from_iter(push);
        if new_head || retry || marker.and_then(|m| m.status.clone()) != Some(wanted.status_hash()) {
            actions.push(Action::SetStatus);
        }
        let extras = wanted.extras_hash();
        if extras.is_some() && (retry || marker.and_then(|m| m.extras.clone()) != extras) {
            actions.push(Action::AddLabelsAndReviewers);
        }
        if marker.and_then(|m| m.extras.clone()) != extras {
            let unfit = |l: &&String| is_ours(l) && !wanted.extras.labels.iter().any(|w| is_same_label(w, l));
            actions.extend(open.pull.labels.iter().filter(unfit).cloned().map(Action::Unlabel));
        }
        // Whatever brought us here, the marker must say it before it is done.
        actions.push(Action::Write);
        actions
    }

    fn note(&self, open: &Seen) -> Vec<Action> {
        let newer = open.marker.as_ref().and_then(|m| newer(self.wanted.release, m));
        let noted = |m: &Marker| {
            let of_this_head = m.head == self.seen.tip.map(|t| t.to_string());
            let of_this_basis = self.wanted.basis.is_none() || m.basis == self.wanted.basis;
            let says_so = m.person && m.text == Some(note_hash(newer)) && !m.closing && !m.declined;
            says_so && of_this_head && of_this_basis
        };
        // Ticks that this state has no box for are left: they do nothing, and go with the next text.
        match open.marker.as_ref().is_some_and(noted) {
            true => Vec::new(),
            false => vec![Action::Note(newer)],
        }
    }

    /// There is no open pull request.
    fn none_open(&self) -> Result<Reconciled, Question> {
        // Who wants a change taken back says so each time.
        if self.wanted.undoes.is_none()
            && let Some(held) = self.declined()?
        {
            return Ok(Reconciled { held: Some(held), ..Reconciled::default() });
        }
        let push = match self.seen.tip {
            None => Some(self.fresh(None)),
            Some(tip) => match self.left_behind(tip) {
                Some(PullState::Merged) => Some(self.fresh(Some(tip))),
                left => {
                    let head = whose(self.seen)?;
                    if head.ownership == Ownership::Person {
                        let held = Some(Held::BranchOccupied { tip });
                        return Ok(Reconciled { held, ..Reconciled::default() });
                    }
                    let behind = self.options.update == Update::Behind && !self.contains_base(head, None);
                    match (self.is_current(head, None) && !behind, left) {
                        (true, _) => None,
                        (false, Some(_)) => Some(self.fresh(Some(tip))),
                        (false, None) => Some(self.grow(tip, None, true)),
                    }
                }
            },
        };
        let mut actions = Vec::from_iter(push);
        // The status names the page of the pull request, so it comes after it.
        actions.extend([Action::Open, Action::SetStatus]);
        if self.wanted.extras_hash().is_some() {
            actions.push(Action::AddLabelsAndReviewers);
        }
        // The marker that opens it does not say yet that the status was set and who was asked; this one does.
        actions.push(Action::Write);
        Ok(Reconciled { actions, held: None, pull: None })
    }

    /// The pull request that left the branch at this tip.
    fn left_behind(&self, tip: CommitId) -> Option<PullState> {
        let left = |p: &&Seen| p.pull.head == tip.to_string() && p.pull.state != PullState::Open;
        self.seen.pulls.iter().filter(left).max_by_key(|p| p.pull.number).map(|p| p.pull.state)
    }

    /// A person's no to the wanted release or a newer one.
    fn declined(&self) -> Result<Option<Held>, Question> {
        let no = declined(self.wanted.release, &self.seen.pulls)?;
        Ok(no.map(|No { release, pull }| Held::Declined { release, pull }))
    }
}

#[cfg(test)]
mod tests;

//! Hands one draft to the forge, and says what became of it.

use std::collections::BTreeSet;

use crate::{
    config::Config,
    explain::{Message, marker},
    pins::Stage,
    pipeline::{
        Base, Error,
        draft::{Draft, Elsewhere, fill},
        lists::Lists,
    },
    plan::Plan,
    propose::{
        self, Applied, CommitParts, Done, Held, Intent, ProposalContext, ProposeError, Wanted,
        forge::{Forge, ForgeError, PullRequest},
    },
    release::Catalog,
    repo::{ChangeSet, Upstream},
    report::{Note, Outcome, StageDecision},
};

/// How many branches under another prefix are asked about one by one.
const ASKED: usize = 20;

/// Where drafts are handed to.
pub(super) struct Proposing<'a> {
    pub base: &'a Base,
    pub config: &'a Config,
    pub catalog: &'a Catalog,
    pub remote: &'a dyn Upstream,
    pub forge: &'a dyn Forge,
}

// === impl Proposing ===

impl Proposing<'_> {
    /// Carries out a draft and notes the outcome in it; what was listed before is not listed again. Returns one line
    /// for each thing that was refused, and for each pull request that went from a branch under another prefix.
    pub fn apply(&self, draft: &mut Draft, lists: &mut Lists) -> Result<Vec<String>, Error> {
        let carry = |context: &ProposalContext<'_>, intent: &Intent<'_>| {
            let carried = propose::apply(context, intent, &self.base.refs).map_err(error)?;
            if carried.done == Done::StartOver { Err(Error::Moved) } else { Ok(carried) }
        };
        let mut notes = self.take_over(draft, lists, &carry, "was")?;
        if let Some(Outcome::LeftAlone { .. }) = draft.report.outcome {
            return Ok(notes);
        }
        let Some((branch, intent)) = self.intent(draft) else { return Ok(notes) };
        let context = self.context(draft, branch, &intent, lists);
        let carried = carry(&context, &intent)?;
        self.attach(&carried, &draft.report.changes)?;
        draft.became(outcome(carried.done, carried.pull, &context));
        notes.extend(carried.notes);
        Ok(notes)
    }

    /// Notes in a draft what carrying it out would come to; nothing is written.
    pub fn dry_run(&self, draft: &mut Draft, lists: &mut Lists) -> Result<Vec<String>, Error> {
        let carry = |context: &ProposalContext<'_>, intent: &Intent<'_>| {
            propose::dry_run(context, intent, &self.base.refs).map_err(error)
        };
        let notes = self.take_over(draft, lists, &carry, "would be")?;
        if let Some(Outcome::LeftAlone { .. }) = draft.report.outcome {
            return Ok(notes);
        }
        let Some((branch, intent)) = self.intent(draft) else { return Ok(notes) };
        let context = self.context(draft, branch, &intent, lists);
        let carried = carry(&context, &intent)?;
        draft.became(outcome(carried.done, carried.pull, &context));
        Ok(notes)
    }

    /// Closes what is open for a draft under another prefix, so that one at most is open for it. What has commits of a person,
    /// is in a merge queue or takes a release back stays, and nothing is opened beside it.
    fn take_over(
        &self,
        draft: &mut Draft,
        lists: &mut Lists,
        carry: &dyn Fn(&ProposalContext<'_>, &Intent<'_>) -> Result<Applied, Error>,
        was: &str,
    ) -> Result<Vec<String>, Error> {
        let is_due = match &draft.report.decision {
            StageDecision::Propose(_) => true,
            StageDecision::Hold { hold, .. } => hold.reason.leaves_nothing(),
            StageDecision::Blocked(_) | StageDecision::Unplannable { .. } => false,
        };
        let (mut notes, dialect, prefix) = (Vec::new(), self.forge.dialect(), &self.config.branch.prefix);
        for Elsewhere { branch, number, undoes } in
            std::mem::take(&mut draft.elsewhere).into_iter().filter(|_| is_due)
        {
            let why = propose::why_elsewhere(&branch, prefix);
            let context = self.context(draft, branch, &Intent::Withdraw, lists);
            let context = ProposalContext { is_elsewhere: true, ..context };
            let stays = match undoes {
                Some(release) => {
                    let pull = context.known.iter().flatten().find(|pull| pull.number == number).cloned();
                    Some((Held::TakesBack { release, pull: number }.words(dialect), pull))
                }
                None => match carry(&context, &Intent::Withdraw)? {
                    Applied { done: Done::Held(held), pull, .. } => Some((held.words(dialect), pull)),
                    Applied { done: Done::Closed, .. } => {
                        let named = dialect.reference(number);
                        notes.push(Note::ClosedElsewhere(&named, was, &why).to_string());
                        None
                    }
                    _ => None,
                },
            };
            if let Some((reason, pull)) = stays {
                draft.became(Some(Outcome::LeftAlone { reason: format!("{reason}: {why}"), pull }));
            }
        }
        Ok(notes)
    }

    /// Lists what is open of all branches at once, where more than one would be asked about. Returns a draft for each pull
    /// request of ours whose target is no more: there is nothing left to propose in it. What is open for a draft under
    /// another prefix is noted in it.
    pub fn left(&self, drafts: &mut [Draft], lists: &mut Lists) -> Result<Vec<Draft>, Error> {
        let own: BTreeSet<String> = drafts.iter().map(|draft| self.branch(draft)).collect();
        let wanted = drafts.iter().filter_map(|draft| self.intent(draft)).map(|(branch, _)| branch);
        let there = |branch: &String| self.base.refs.branches.contains_key(branch) && !lists.has(branch);
        let mut others: Vec<String> = self
            .base
            .branches_like_ours()
            .map(str::to_owned)
            .filter(|branch| !own.contains(branch))
            .collect();
        let asked: Vec<String> = wanted.chain(others.iter().cloned()).filter(there).collect();
        if asked.len() > 1 {
            lists.list_open(self.forge, asked)?;
        }
        if lists.too_many() {
            let prefix = &self.config.branch.prefix;
            let is_of = |branch: &String, draft: &Draft| {
                propose::is_branch_of(branch, &draft.report.target, draft.report.stage)
            };
            let (ours, mut theirs): (Vec<_>, Vec<_>) =
                others.into_iter().partition(|b| b.starts_with(prefix));
            theirs.retain(|branch| drafts.iter().any(|draft| is_of(branch, draft)));
            theirs.truncate(ASKED);
            others = [ours, theirs].concat();
        }
        let mut gone = Vec::new();
        for branch in others {
            for pull in lists.open(self.forge, &branch, &[])? {
                let stages = [Stage::Platform, Stage::DataPlane];
                let ours = marker::read(&pull.body).filter(|_| pull.base == self.base.branch);
                let Some(marker) = ours else { continue };
                let Some(stage) = stages.into_iter().find(|stage| stage.name() == marker.stage) else {
                    continue;
                };
                if !propose::is_branch_of(&branch, &marker.target, stage) {
                    continue;
                }
                let elsewhere =
                    Elsewhere { branch: branch.clone(), number: pull.number, undoes: marker.undoes };
                let of = |draft: &&mut Draft| {
                    (draft.report.target.as_str(), draft.report.stage) == (&marker.target, stage)
                };
                match drafts.iter_mut().chain(&mut gone).find(of) {
                    Some(draft) => draft.elsewhere.push(elsewhere),
                    None => {
                        let mut draft = Draft::gone(&marker.target, stage);
                        let is_elsewhere = self.branch(&draft) != branch;
                        draft.elsewhere.extend(is_elsewhere.then_some(elsewhere));
                        gone.push(draft);
                    }
                }
            }
        }
        Ok(gone)
    }

    fn branch(&self, draft: &Draft) -> String {
        propose::branch(&self.config.branch.prefix, &draft.report.target, draft.report.stage)
    }

    fn context(
        &self,
        draft: &Draft,
        branch: String,
        intent: &Intent<'_>,
        lists: &mut Lists,
    ) -> ProposalContext<'_> {
        let wanted = match intent {
            Intent::Propose(proposal) => Some(proposal.wanted.undoes.unwrap_or(proposal.wanted.release)),
            Intent::Withdraw => None,
        };
        ProposalContext {
            forge: self.forge,
            remote: self.remote,
            known: lists.take(&branch, &self.base.branch, wanted),
            branch,
            is_elsewhere: false,
            base: self.base.branch.clone(),
            target: draft.report.target.clone(),
            stage: draft.report.stage,
            options: self.config.branch.options,
        }
    }

    /// What is wished for, and on which branch; nothing on a hold, which leaves an open pull request as it is.
    fn intent<'d>(&self, draft: &'d Draft) -> Option<(String, Intent<'d>)> {
        let base = self.base;
        let branch = self.branch(draft);
        match (&draft.report.decision, &draft.wanted) {
            (StageDecision::Propose(plan), Some(wanted)) => {
                let commit = CommitParts {
                    onto: base.tip.id,
                    changes: &draft.report.changes,
                    message: self.message(plan, wanted, &draft.charts),
                    author: self.config.commit.author.clone(),
                    published: plan.published,
                };
                Some((branch, Intent::Propose(propose::Proposal { wanted: wanted.clone(), commit })))
            }
            // Without a branch of ours there is no open pull request to close, and nothing to ask for.
            (StageDecision::Hold { hold, .. }, _) if hold.reason.leaves_nothing() => {
                base.refs.branches.contains_key(&branch).then_some((branch, Intent::Withdraw))
            }
            _ => None,
        }
    }

    fn message(&self, plan: &Plan, wanted: &Wanted, charts: &[String]) -> Message {
        let commit = &self.config.commit;
        let worded = commit.message.as_ref().map(|wording| fill(wording, plan));
        let (subject, body) = match worded.as_deref().map(|text| text.split_once('\n').unwrap_or((text, "")))
        {
            Some((subject, body)) => (subject.to_owned(), body.trim().to_owned()),
            None => (wanted.title.clone(), String::new()),
        };
        Message {
            subject,
            body,
            release: plan.to,
            fingerprint: plan.fingerprint.clone(),
            charts: Message::charts_of(self.catalog, plan.to, charts),
            sign_off: commit.sign_off,
        }
    }

    /// The patch is of the changes to the base branch as it is now: the branch may stand on an older one, and a
    /// comparison with that would take back what others did since.
    fn attach(&self, carried: &Applied, changes: &ChangeSet) -> Result<(), Error> {
        let Some(pull) = &carried.pull else { return Ok(()) };
        if !matches!(carried.done, Done::Opened | Done::Updated | Done::Unchanged) {
            return Ok(());
        }
        let patch = || {
            self.remote.patch(self.base.tip.id, changes).map_err(|error| ForgeError::Rejected {
                what: "writing the patch".to_owned(),
                reason: error.to_string(),
            })
        };
        Ok(self.forge.attach(pull.number, &patch)?)
    }
}

fn outcome(done: Done, pull: Option<PullRequest>, context: &ProposalContext<'_>) -> Option<Outcome> {
    match (done, pull) {
        (Done::Held(held), pull) => {
            let words = held.words(context.forge.dialect());
            let reason = match held {
                // Its last word is `branch`, and without a pull request nothing else in the report names it.
                Held::BranchOccupied { .. } => format!("{words} `{}`", context.branch),
                _ => words,
            };
            Some(Outcome::LeftAlone { reason, pull })
        }
        (Done::Opened, Some(pull)) => Some(Outcome::Opened(pull)),
        (Done::Updated, Some(pull)) => Some(Outcome::Updated(pull)),
        (Done::Unchanged, Some(pull)) => Some(Outcome::Unchanged(pull)),
        (Done::Closed, Some(pull)) => Some(Outcome::Closed(pull)),
        (_, None) | (Done::StartOver, _) => None,
    }
}

fn error(error: ProposeError) -> Error {
    match error {
        ProposeError::Git(error) => error.into(),
        ProposeError::Forge(error) => error.into(),
        ProposeError::Body(error) => Error::Defect(error.to_string()),
    }
}

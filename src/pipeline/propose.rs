//! Hands one draft to the forge, and says what became of it.

use std::collections::BTreeSet;

use crate::{
    config::Config,
    explain::{Marker, Message, marker},
    pins::Stage,
    pipeline::{
        Base, Error,
        draft::{Draft, fill},
        lists::Lists,
    },
    plan::Plan,
    propose::{
        self, Applied, CommitParts, Done, Held, Intent, ProposalContext, ProposeError, Wanted,
        forge::{Forge, ForgeError, PullRequest},
    },
    release::Catalog,
    repo::{ChangeSet, Upstream},
    report::{Outcome, StageDecision},
};

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
    /// for each thing that was refused.
    pub fn apply(&self, draft: &mut Draft, lists: &mut Lists) -> Result<Vec<String>, Error> {
        let Some((branch, intent)) = self.intent(draft) else { return Ok(Vec::new()) };
        let context = self.context(draft, branch, &intent, lists);
        let carried = propose::apply(&context, &intent, &self.base.refs).map_err(error)?;
        if carried.done == Done::StartOver {
            return Err(Error::Moved);
        }
        self.attach(&carried, &draft.report.changes)?;
        draft.became(outcome(carried.done, carried.pull, &context));
        Ok(carried.notes)
    }

    /// Notes in a draft what carrying it out would come to; nothing is written.
    pub fn dry_run(&self, draft: &mut Draft, lists: &mut Lists) -> Result<(), Error> {
        let Some((branch, intent)) = self.intent(draft) else { return Ok(()) };
        let context = self.context(draft, branch, &intent, lists);
        let carried = propose::dry_run(&context, &intent, &self.base.refs).map_err(error)?;
        draft.became(outcome(carried.done, carried.pull, &context));
        Ok(())
    }

    /// Lists what is open of all branches at once, where more than one would be asked about. Returns a draft for each pull
    /// request of ours whose target is no more: there is nothing left to propose in it.
    pub fn gone(&self, drafts: &[Draft], lists: &mut Lists) -> Result<Vec<Draft>, Error> {
        let wanted = drafts.iter().filter_map(|draft| self.intent(draft)).map(|(branch, _)| branch);
        let there = |branch: &String| self.base.refs.branches.contains_key(branch) && !lists.has(branch);
        let gone: Vec<(Draft, String)> = self.without_target(drafts).collect();
        let asked: Vec<String> =
            wanted.chain(gone.iter().map(|(_, branch)| branch.clone())).filter(there).collect();
        if asked.len() > 1 {
            lists.list_open(self.forge, asked)?;
        }
        let mut left = Vec::new();
        for (draft, branch) in gone {
            let open = lists.open(self.forge, &branch, &[])?;
            let is_ours = |pull: &&&PullRequest| {
                let of_here =
                    |m: Marker| m.target == draft.report.target && m.stage == draft.report.stage.name();
                pull.base == self.base.branch && marker::read(&pull.body).is_some_and(of_here)
            };
            if open.iter().find(is_ours).is_some() {
                left.push(draft);
            }
        }
        Ok(left)
    }

    /// Finds the branches that are named as ours are and that no draft is for.
    fn without_target(&self, drafts: &[Draft]) -> impl Iterator<Item = (Draft, String)> {
        let own: BTreeSet<String> = drafts.iter().map(|draft| self.branch(draft)).collect();
        self.base.refs.branches.keys().filter(move |branch| !own.contains(*branch)).filter_map(|branch| {
            let (target, stage) = branch.strip_prefix(&self.config.branch.prefix)?.rsplit_once('/')?;
            let stage = [Stage::Platform, Stage::DataPlane].into_iter().find(|s| s.name() == stage)?;
            Some((Draft::gone(target, stage), branch.clone()))
        })
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

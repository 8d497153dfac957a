//! Merges what needs nobody, once it may be.
//!
//! In: a draft whose pull request is as it should be. Out: what became of it. What was opened or changed in this run is not
//! merged in it, so that those who watch the forge have seen it.

use jiff::Timestamp;

use crate::{
    config::{Config, TargetConfig},
    explain::marker,
    pipeline::{Base, Error, draft::Draft},
    policy::MergeWait,
    propose::{
        self,
        forge::{Forge, ForgeError, PullRequest},
    },
    repo::CommitId,
    report::{Note, Outcome},
};

/// Where pull requests are merged.
pub(super) struct Merging<'a> {
    pub base: &'a Base,
    pub config: &'a Config,
    pub targets: &'a [TargetConfig],
    pub forge: &'a dyn Forge,
    pub now: Timestamp,
}

// === impl Merging ===

impl Merging<'_> {
    /// Merges the pull request of a draft where that is wanted and nothing is lacking; returns what is to be told.
    pub fn apply(&self, draft: &mut Draft) -> Result<Option<String>, Error> {
        let Some(Outcome::Unchanged(pull)) = &draft.report.outcome else { return Ok(None) };
        let target = self.targets.iter().find(|target| target.target.name == draft.report.target);
        let Some(target) = target.filter(|target| target.merge.is_some()) else { return Ok(None) };
        let named = self.forge.dialect().reference(pull.number);
        let told = |what: &str| Ok(Some(Note::NotMerged(&named, what).to_string()));
        let branch = propose::branch(&self.config.branch.prefix, &draft.report.target, draft.report.stage);
        match self.merge(target, pull, self.base.refs.branches.get(&branch)) {
            Ok(Done::Merged) => {
                let pull = pull.clone();
                draft.became(Some(Outcome::Merged(pull)));
                Ok(None)
            }
            Ok(Done::Waits(wait)) => told(&wait.to_string()),
            Ok(Done::ForPeople) => Ok(None),
            Err(error) if error.is_refusal() => told(&error.to_string()),
            Err(error) => Err(error.into()),
        }
    }

    fn merge(
        &self,
        target: &TargetConfig,
        pull: &PullRequest,
        tip: Option<&CommitId>,
    ) -> Result<Done, ForgeError> {
        let marker = marker::read(&pull.body).filter(|marker| propose::is_routine(pull, marker));
        let looked_at = marker.and_then(|marker| marker.head);
        let head = tip.filter(|tip| {
            let tip = tip.to_string();
            looked_at.as_ref() == Some(&tip) && pull.head == tip
        });
        let (Some(head), Some(merge), false) = (head.copied(), target.merge, pull.draft) else {
            return Ok(Done::ForPeople);
        };
        let Some(since) = self.forge.verified_at(head)? else {
            return Ok(Done::Waits(MergeWait::Unverified));
        };
        if let Some(wait) = merge.young(since, self.now) {
            return Ok(Done::Waits(wait));
        }
        if !target.gates.proposed.is_empty() {
            let Some(checks) = self.forge.status_checks(&[head])? else {
                return Ok(Done::Waits(MergeWait::NoStatusChecks));
            };
            if let Some(wait) = target.gates.unmerged(since, &checks, self.now) {
                return Ok(Done::Waits(wait));
            }
        }
        self.forge.merge(pull.number, head)?;
        Ok(Done::Merged)
    }
}

/// What became of a pull request.
enum Done {
    Merged,
    Waits(MergeWait),
    /// It is not routine.
    ForPeople,
}

//! What a pass finds done: an open pull request that would be made again as it is.
//!
//! Nothing is made for it: no edit, no rendering, no check. Its marker says what it was made from, and the forge says that
//! nobody has touched it since.

use std::path::Path;

use jiff::Timestamp;

use crate::{
    config::{Config, TargetConfig},
    linkerd::EdgeVersion,
    pins::Stage,
    pipeline::{Base, Error, basis::Origin, case::Case, landed::OnRemote, verdict::Verdicts},
    propose::{self, Sought, UpToDate},
};

/// Where open pull requests are found.
pub(super) struct Warm<'a> {
    pub base: &'a Base,
    pub config: &'a Config,
    pub remote: &'a OnRemote<'a>,
}

// === impl Warm ===

impl Warm<'_> {
    /// Finds the open pull request of a stage, where it is what would be made for a release. No request without a branch.
    pub fn up_to_date(
        &self,
        case: Case<'_>,
        release: EdgeVersion,
        origin: &Origin<'_>,
        now: Timestamp,
    ) -> Result<Option<UpToDate>, Error> {
        let Self { base, config, remote } = *self;
        let (target, stage) = (case.target.target.name.as_str(), case.stage);
        let branch = self.branch(target, stage);
        if !base.refs.branches.contains_key(&branch) {
            return Ok(None);
        }
        let pulls = remote.open(&branch, &self.others(&branch, &case.survey.targets))?;
        let sought = Sought {
            target,
            stage,
            release,
            branch: &branch,
            base: &base.branch,
            options: config.branch.options,
            now,
        };
        let Some(found) = propose::up_to_date(&sought, pulls, &base.refs, |basis| origin.is(basis)) else {
            return Ok(None);
        };
        Ok(remote.is_attached(found.pull.number)?.then_some(found))
    }

    /// Finds what the last run found out of a stage for which it proposed nothing.
    pub fn verdicts(&self, cache: &Path, case: Case<'_>) -> Verdicts {
        Verdicts::new(cache, &self.base.repository, case)
    }

    fn branch(&self, target: &str, stage: Stage) -> String {
        propose::branch(&self.config.branch.prefix, target, stage)
    }

    /// The other branches of ours that there are, so that one request tells of all.
    fn others(&self, branch: &str, targets: &[TargetConfig]) -> Vec<String> {
        let stages = [Stage::Platform, Stage::DataPlane];
        let targets = targets.iter().map(|target| target.target.name.as_str());
        let all = targets.flat_map(|target| stages.map(|stage| self.branch(target, stage)));
        all.filter(|other| other != branch && self.base.refs.branches.contains_key(other)).collect()
    }
}

//! What a pass finds done: an open pull request that would be made again as it is.
//!
//! Nothing is made for it: no edit, no rendering, no check. Its marker says what it was made from, and the forge says that
//! nobody has touched it since.

use std::path::Path;

use jiff::Timestamp;

use crate::{
    config::Config,
    linkerd::EdgeVersion,
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
        let pulls = remote.open_of(target, stage)?;
        if pulls.is_empty() {
            return Ok(None);
        }
        let branch = remote.branch(target, stage);
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
}

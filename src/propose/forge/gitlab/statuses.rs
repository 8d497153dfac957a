//! Step 10, propose: what is said of commits on GitLab: external statuses, jobs, and pipelines as a whole.
//!
//! In: commits. Out: [`StatusCheck`]s. An external status is a job of a pipeline there, so both come in one list.

use jiff::Timestamp;

use super::{GitLab, KIND, wire};
use crate::{
    policy::StatusCheck,
    propose::forge::{
        ForgeError, STATUS, Status,
        rest::{self, Method},
    },
    repo::CommitId,
};

/// The longest address behind a status.
const PAGE: usize = 255;
/// GitLab's word for a failure.
const FAILED: &str = "failed";
/// What all of a commit's own pipeline is called as a gate.
const PIPELINE: &str = "pipeline";

// === impl GitLab ===

impl GitLab<'_> {
    /// Sets our status.
    pub(super) fn set_status(
        &self,
        commit: CommitId,
        status: &Status,
        page: Option<&str>,
    ) -> Result<(), ForgeError> {
        let asked = self.asked("cannot set the status");
        let page = page.filter(|page| page.chars().count() <= PAGE);
        let body = rest::status(status, page, KIND.dialect, FAILED);
        let path = self.at(&format!("/statuses/{commit}"));
        let error = match self.put(Method::Post(&body), &path, &asked) {
            Ok(_) => return Ok(()),
            Err(refused) => refused.error,
        };
        // A state does not go over into itself; then it is what it was to be.
        let stays = matches!(&error, ForgeError::Rejected { reason, .. } if reason.contains("Cannot transition status"));
        let state = if status.success { "success" } else { FAILED };
        match stays && self.ours(commit)?.first().is_some_and(|said| said.status == state) {
            true => Ok(()),
            false => Err(error),
        }
    }

    /// Our statuses of a commit, newest first.
    fn ours(&self, commit: CommitId) -> Result<Vec<wire::Status>, ForgeError> {
        let asked = self.asked("cannot read the status of the commit");
        let query = format!("all=true&name={}", super::encoded(STATUS));
        let path = self.at(&format!("/repository/commits/{commit}/statuses?{query}"));
        let mut said: Vec<wire::Status> = self.list(&path, &asked)?;
        said.retain(|said| said.name == STATUS);
        said.sort_by_key(|said| std::cmp::Reverse(said.id));
        Ok(said)
    }

    /// Reads since when our status of a commit has been a success.
    pub(super) fn read_verified_at(&self, commit: CommitId) -> Result<Option<Timestamp>, ForgeError> {
        let said = self.ours(commit)?;
        Ok(rest::success_since(said.iter().map(|said| (said.status.as_str(), said.created_at))))
    }

    /// Reads the status checks of commits.
    pub(super) fn read_status_checks(&self, commits: &[CommitId]) -> Result<Vec<StatusCheck>, ForgeError> {
        let asked = self.asked("cannot read the statuses of commits");
        let mut checks = Vec::new();
        for commit in commits {
            let path = self.at(&format!("/repository/commits/{commit}/statuses"));
            let said: Vec<wire::Status> = self.list(&path, &asked)?;
            checks.extend(said.into_iter().filter(|said| said.name != STATUS).map(wire::Status::check));
            let path = self.at(&format!("/pipelines?sha={commit}&order_by=id&sort=desc"));
            let pipelines: Vec<wire::Pipeline> = self.get(&path, &asked)?.json(&asked)?;
            // A pipeline that only holds external statuses, as ours, says nothing of its own.
            let own = pipelines.into_iter().find(|pipeline| pipeline.source.as_deref() != Some("external"));
            checks.extend(own.map(|pipeline| pipeline.check(PIPELINE)));
        }
        Ok(checks)
    }
}

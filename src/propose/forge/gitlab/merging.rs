//! Step 10, propose: merging on GitLab.
//!
//! In: a merge request and the head that was looked at. Out: it is merged, or why not. GitLab refuses another head. Its
//! auto-merge is never asked for: it would stay on when the labels change.

use backon::BlockingRetryable;
use serde_json::json;

use super::{GitLab, wire};
use crate::{
    propose::forge::{
        ForgeError,
        rest::{Asked, Method, until_it_shows},
    },
    repo::CommitId,
};

/// Why GitLab does not merge it, by its `detailed_merge_status`; nothing where it would, or where that is not known yet.
fn obstacle(status: &str) -> Option<&str> {
    Some(match status {
        "" | "mergeable" | "can_be_merged" => return None,
        "approvals_syncing" | "checking" | "preparing" | "unchecked" => return None,
        "ci_must_pass" => "its pipeline has to succeed",
        "ci_still_running" => "its pipeline is running",
        "commits_status" => "its branch is gone, or has no commit of its own",
        "conflict" | "broken_status" | "cannot_be_merged" => "it is in conflict with the base branch",
        "discussions_not_resolved" => "its discussions have to be resolved",
        "draft_status" => "it is a draft",
        "jira_association_missing" => "its title or description has to name a Jira issue",
        "locked_lfs_files" | "locked_paths" => "it changes what somebody has locked",
        "merge_request_blocked" | "blocked_status" => "another merge request has to be merged first",
        "merge_time" => "it may not be merged before a set time",
        "need_rebase" => "it has to be rebased",
        "not_approved" => "it has to be approved",
        "not_open" => "it is not open",
        "policies_denied" | "security_policy_violations" | "security_policy_pipeline_check" => {
            "a policy of the project forbids it"
        }
        "requested_changes" => "somebody has asked for changes",
        "status_checks_must_pass" | "external_status_checks" => "its external checks have to pass",
        "title_regex" => "its title has to match the project's pattern",
        other => other,
    })
}

/// Whether GitLab is still finding out.
fn is_open(status: &str) -> bool {
    matches!(status, "approvals_syncing" | "checking" | "preparing" | "unchecked")
}

// === impl GitLab ===

impl GitLab<'_> {
    /// Merges a merge request. Sent once: whether a lost answer was a success, the next run sees.
    pub(super) fn merge_with(&self, number: u64, head: CommitId) -> Result<(), ForgeError> {
        let asked = self.asked("cannot merge the merge request");
        // Reading it is what makes GitLab find out.
        let read = || -> Result<wire::MergeRequest, Option<ForgeError>> {
            let seen = self.read(number).map_err(Some)?;
            if is_open(&seen.detailed_merge_status) { Err(None) } else { Ok(seen) }
        };
        let seen = read.retry(until_it_shows()).when(Option::is_none).call().map_err(|error| {
            let reason = format!("{}: GitLab has not found out yet whether it can be merged", asked.what);
            error.unwrap_or(ForgeError::Temporary { host: asked.host.to_owned(), reason })
        })?;
        let head = head.to_string();
        if seen.sha.as_ref().is_some_and(|sha| *sha != head) {
            return Err(asked.rejected("its head is another one by now"));
        }
        if let Some(obstacle) = obstacle(&seen.detailed_merge_status) {
            return Err(asked.rejected(obstacle));
        }
        let path = self.at(&format!("/merge_requests/{number}/merge"));
        match self.rest.once(Method::Put(&json!({"sha": head})), &path, &asked) {
            Ok(_) => Ok(()),
            Err(refused) => Err(told(refused.error, &asked)),
        }
    }
}

/// GitLab says that a request is not authorised where the token is good, and its user may not merge into the branch.
fn told(error: ForgeError, asked: &Asked<'_>) -> ForgeError {
    match error {
        ForgeError::Auth { .. } | ForgeError::Permission { .. } => asked.rejected(
            "the token's user may not merge into the base branch; let it, under Settings > Repository > Protected \
             branches",
        ),
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_yet_is_no_obstacle_and_what_is_new_is_told_as_it_is() {
        for open in ["checking", "preparing", "unchecked", "approvals_syncing"] {
            assert!(is_open(open) && obstacle(open).is_none(), "{open}");
        }
        assert_eq!(obstacle("mergeable"), None);
        assert_eq!(obstacle("not_approved"), Some("it has to be approved"));
        assert_eq!(obstacle("a_status_of_tomorrow"), Some("a_status_of_tomorrow"));
    }
}

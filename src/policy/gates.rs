//! Gates: what deployers and others say of the commits that an environment runs.
//!
//! In: the globs of a target, and what was said. Out: nothing, or what still shuts a gate. Pure. Flux and Argo CD speak of
//! a commit only where it changed something for them, and on the commit that they applied, which may be a later one; so
//! what was said last in a name counts, on whichever commit, and a name that says nothing has said nothing wrong.

use globset::GlobMatcher;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::Lack;

/// What a target asks of the commits that it runs.
#[derive(Clone, Debug)]
pub struct Gates {
    /// Each must have said yes, in every name that it covers.
    pub active: Vec<GlobMatcher>,
    /// The same of the head of a pull request, before it is merged by itself.
    pub proposed: Vec<GlobMatcher>,
    /// How long nothing may be said before that is called missing.
    pub timeout: SignedDuration,
    /// What becomes of a release that does not work.
    pub on_failure: OnFailure,
}

/// What becomes of a release of which a gate says failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// It goes no further.
    #[default]
    Hold,
    /// It is proposed to take it back.
    Rollback,
}

/// What was said in one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckState {
    /// It works.
    Success,
    /// It is not known yet.
    Pending,
    /// It does not work.
    Failure,
}

/// A status check of a commit: a commit status, a check run, or the deployment to an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusCheck {
    /// The context, the check's name, or the environment.
    pub name: String,
    /// What it says.
    pub state: CheckState,
    /// When.
    pub at: Timestamp,
}

/// What shuts a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shut {
    /// A status check that is no success.
    Check(StatusCheck),
    /// Nothing was said.
    Silent {
        /// Who should have.
        glob: String,
        /// When that is overdue; none where it is.
        until: Option<Timestamp>,
    },
}

// === impl Gates ===

impl Default for Gates {
    fn default() -> Self {
        Self {
            active: Vec::new(),
            proposed: Vec::new(),
            timeout: SignedDuration::from_hours(24),
            on_failure: OnFailure::Hold,
        }
    }
}

impl Gates {
    /// Says what shuts a gate for what has run since a time, and until when; none where all are open.
    pub(super) fn shut(
        &self,
        since: Timestamp,
        checks: &[StatusCheck],
        now: Timestamp,
    ) -> Option<(Lack, Option<Timestamp>)> {
        Some(match shut(&self.active, self.timeout, since, checks, now)? {
            Shut::Check(StatusCheck { name, state, at }) => (Lack::Gate { name, state, since: at }, None),
            Shut::Silent { glob, until } => (Lack::Silent { glob, since }, until),
        })
    }

    /// Returns what says of a release that it does not work, whatever becomes of it.
    pub fn fails(&self, since: Timestamp, checks: &[StatusCheck], now: Timestamp) -> Option<StatusCheck> {
        match shut(&self.active, self.timeout, since, checks, now)? {
            Shut::Check(check) if check.state == CheckState::Failure => Some(check),
            _ => None,
        }
    }

    /// Says what shuts a gate for the head of a pull request that is there since a time.
    pub(super) fn shut_proposed(
        &self,
        since: Timestamp,
        checks: &[StatusCheck],
        now: Timestamp,
    ) -> Option<Shut> {
        shut(&self.proposed, self.timeout, since, checks, now)
    }
}

fn shut(
    globs: &[GlobMatcher],
    timeout: SignedDuration,
    since: Timestamp,
    checks: &[StatusCheck],
    now: Timestamp,
) -> Option<Shut> {
    let bad = globs.iter().flat_map(|glob| last_of_each(glob, checks));
    let bad = bad.filter(|last| last.state != CheckState::Success).max_by_key(|last| (last.state, last.at));
    if let Some(check) = bad {
        return Some(Shut::Check(check.clone()));
    }
    let silent = globs.iter().find(|glob| last_of_each(glob, checks).is_empty())?;
    let until = since.checked_add(timeout).ok().filter(|until| *until > now);
    Some(Shut::Silent { glob: silent.glob().to_string(), until })
}

/// Returns what was said last in each name that a glob covers.
fn last_of_each<'s>(glob: &GlobMatcher, checks: &'s [StatusCheck]) -> Vec<&'s StatusCheck> {
    let mut last: Vec<&StatusCheck> = Vec::new();
    for one in checks.iter().filter(|one| glob.is_match(&one.name)) {
        match last.iter_mut().find(|other| other.name == one.name) {
            // Of two at one time the worse counts.
            Some(other) if (other.at, other.state) < (one.at, one.state) => *other = one,
            Some(_) => {}
            None => last.push(one),
        }
    }
    last
}

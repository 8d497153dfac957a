//! The text of the issue that shows where every target stands.

use super::{OpenPull, Outcome, StageDecision, StageReport, StatusReport};
use crate::{
    explain::{Dialect, marker},
    propose::forge::PullState,
};

/// Where every target stands, for an issue.
#[derive(Clone, Debug)]
pub struct Overview {
    /// The rows.
    pub status: StatusReport,
    /// A hash over what they were made from.
    pub seen: String,
}

const OPEN: &str = "<!-- uplinker:overview ";
const CLOSE: &str = " -->";

// === impl Overview ===

impl Overview {
    /// The title of the issue.
    pub const TITLE: &'static str = "Linkerd: where every target stands";

    /// Returns what the rows of an issue were made from; `None` where the text is none of ours.
    pub fn seen(body: &str) -> Option<&str> {
        body.trim_end().lines().next_back()?.strip_prefix(OPEN)?.strip_suffix(CLOSE)
    }

    /// Tells whether there is nothing to do: nothing goes anywhere, and no pull request is open.
    pub fn is_current(&self) -> bool {
        self.status.targets.iter().all(|row| row.pull_request.is_none() && row.next.is_none())
    }

    /// Returns the text.
    pub fn body(&self) -> String {
        let newest = self
            .status
            .newest
            .map_or_else(String::new, |newest| format!("The newest release is `{newest}`. "));
        format!(
            "{newest}uplinker keeps this table at each run, and closes the issue while every target is current; `uplinker \
             status` shows the same.\n\n{}\n{OPEN}{}{CLOSE}\n",
            self.status.markdown(),
            self.seen
        )
    }
}

// === impl StageReport ===

impl StageReport {
    /// Says why nothing is proposed for the stage.
    pub fn waits(&self) -> Option<String> {
        match (&self.decision, &self.outcome) {
            (_, Some(Outcome::LeftAlone { reason, .. })) => Some(reason.clone()),
            (StageDecision::Hold { text, .. }, _) => Some(text.clone()),
            (StageDecision::Unplannable { release, reason }, _) => {
                Some(format!("{release} is not proposed: {reason}"))
            }
            (StageDecision::Blocked(plan), _) => {
                Some(format!("{} is not proposed: a check blocks it", plan.to))
            }
            (StageDecision::Propose(_), _) => None,
        }
    }

    /// Returns what is open for the stage, as the run has left it.
    pub fn open_pull(&self, dialect: &Dialect) -> Option<OpenPull> {
        let pull = match self.outcome.as_ref()? {
            Outcome::Merged(_) | Outcome::Closed(_) => None,
            outcome => outcome.pull().filter(|pull| pull.state == PullState::Open),
        }?;
        let release = marker::read(&pull.body).map(|marker| marker.release);
        let reference = dialect.reference(pull.number);
        Some(OpenPull { number: pull.number, reference, url: pull.url.clone(), release })
    }
}

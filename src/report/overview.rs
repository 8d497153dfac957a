//! The text of the issue that shows where every target stands.

use super::StatusReport;

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

//! Step 6, verify: what a reviewer must know before merging.
//!
//! In: the tree before, the change set, the plan and the catalog. Out: [`Finding`]s. One file a check; a
//! check is pure, and says what it looked at.

use serde::Serialize;

use crate::scan::RepoPath;

/// A verifier's statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check's name, such as `version-agreement`.
    pub check: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// Where, where it has one place.
    pub place: Option<Place>,
    /// What is wrong, one sentence.
    pub reason: String,
    /// What to do, one sentence.
    pub mend: Option<String>,
}

/// The weight of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// To be read before merging.
    Warn,
    /// Must not be merged as it is.
    Block,
}

/// A place in the repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file.
    pub path: RepoPath,
    /// From 1, where known.
    pub line: Option<usize>,
}

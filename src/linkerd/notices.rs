//! What a release breaks, requires, or makes one-way.
//!
//! Types only; the notices themselves are data.

use serde::{Deserialize, Serialize};

use crate::release::EdgeVersion;

/// A fact that whoever upgrades to, or past, a release should know.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Notice {
    /// The first release with the change.
    pub release: EdgeVersion,
    /// What sort of change it is.
    pub kind: NoticeKind,
    /// The change, one sentence.
    pub text: String,
    /// Whom it touches; everybody when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Where this was said.
    pub source: String,
}

/// The sort of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoticeKind {
    /// Something that worked stops working.
    Breaking,
    /// Going back below the release is not safe.
    OneWay,
    /// Something must be there first.
    Requirement,
    /// Another default: a change for who has not set the value.
    Default,
}

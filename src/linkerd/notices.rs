//! What a release breaks, requires, or makes one-way.
//!
//! Types only; the notices themselves are data.

use serde::{Deserialize, Serialize};

use crate::linkerd::EdgeVersion;

/// A fact that whoever upgrades to, or past, a release should know.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
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
    /// What a repository has that the change is about; where it is not given, only a person can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touches: Option<Touches>,
    /// Where this was said.
    pub source: String,
}

/// What a repository has that a change is about: it touches where any of it is found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct Touches {
    /// Charts that are deployed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<String>,
    /// Kinds of objects in the repository, as `linkerd.io/ServiceProfile`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// Names of objects that the charts make before the change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<String>,
    /// Values that users set, as `linkerd-control-plane:proxy.nativeSidecar`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// Values that users leave to their defaults, in the same form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
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

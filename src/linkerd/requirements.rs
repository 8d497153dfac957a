//! What a release asks of the cluster: the version of Kubernetes and of the Gateway API.
//!
//! Types only; the ranges themselves are data. A chart's own `kubeVersion` in the index goes first.

use serde::Deserialize;

use crate::linkerd::EdgeVersion;

/// The range of Kubernetes versions that the charts accept since a release.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Kubernetes {
    /// The first release with this range.
    pub since: EdgeVersion,
    /// As in `kubeVersion`, such as `>=1.31.0-0`.
    pub range: String,
    /// Where this was said.
    pub source: String,
}

/// The range of Gateway API versions that a milestone supports.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GatewayApi {
    /// The first release with this range.
    pub since: EdgeVersion,
    /// The oldest version that is supported.
    pub from: String,
    /// The newest version that is supported.
    pub to: String,
    /// Where this was said.
    pub source: String,
}

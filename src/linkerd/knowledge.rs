//! The facts that change with releases, read from `data/linkerd.yaml` and from an operator's file.
//!
//! In: text. Out: [`Knowledge`]. The built-in data needs no request; a file of the operator adds to it, and
//! goes before it where both speak of the same thing. Nothing here does I/O.

use std::{collections::BTreeMap, sync::OnceLock};

use serde::Deserialize;

use super::{Advice, ClockField, GatewayApi, Hop, Kubernetes, Milestone, Notice};
use crate::linkerd::EdgeVersion;

const BUILT_IN: &str = include_str!("../../data/linkerd.yaml");

/// The version of the file's format.
const FORMAT: u32 = 1;

/// All facts that change with releases.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Knowledge {
    /// The milestones, oldest first.
    pub milestones: Vec<Milestone>,
    /// Advice by release.
    pub guidance: BTreeMap<EdgeVersion, Advice>,
    /// Required stops.
    pub hops: Vec<Hop>,
    /// What releases break or ask for, oldest first.
    pub notices: Vec<Notice>,
    /// Kubernetes ranges, oldest first.
    pub kubernetes: Vec<Kubernetes>,
    /// Gateway API ranges, oldest first.
    pub gateway_api: Vec<GatewayApi>,
    /// Fields that charts take from the clock.
    pub clock_fields: Vec<ClockField>,
}

/// A file of facts that cannot be read: the fault of whoever wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KnowledgeError {
    /// Not YAML or JSON, a key that the format does not have, or a wrong type.
    #[error("{0}")]
    Syntax(String),
    /// Another version of the format.
    #[error("its `version` is {0}, and this program reads version {FORMAT}")]
    Version(u32),
    /// A stop that lies outside the stretch that it belongs to.
    #[error("the stops of the hop to {0} must be at or above its `below` and below its `reaching`")]
    Hop(EdgeVersion),
}

/// The file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct File {
    version: u32,
    #[serde(default)]
    milestones: Vec<Milestone>,
    #[serde(default)]
    guidance: Vec<Advice>,
    #[serde(default)]
    hops: Vec<Hop>,
    #[serde(default)]
    notices: Vec<Notice>,
    #[serde(default)]
    kubernetes: Vec<Kubernetes>,
    #[serde(default)]
    gateway_api: Vec<GatewayApi>,
    #[serde(default)]
    clock_fields: Vec<ClockField>,
}

/// Returns the facts that the program carries.
pub fn built_in() -> &'static Knowledge {
    static KNOWLEDGE: OnceLock<Knowledge> = OnceLock::new();
    // The text is a part of the program: a test holds that it parses, and an empty table is the fallback only
    // because this must not panic.
    KNOWLEDGE.get_or_init(|| Knowledge::parse(BUILT_IN).unwrap_or_else(|_| Knowledge::empty()))
}

/// Returns the first required stop between two releases, by the built-in data alone.
///
/// ```
/// use uplinker::linkerd::required_hop;
/// let from = "edge-25.1.2".parse().unwrap();
/// let hop = required_hop(from, "edge-26.8.3".parse().unwrap()).unwrap();
/// assert!(hop.via.iter().all(|v| *v > from));
/// assert!(required_hop(hop.via[0], "edge-26.8.3".parse().unwrap()).is_none());
/// ```
pub fn required_hop(from: EdgeVersion, to: EdgeVersion) -> Option<&'static Hop> {
    built_in().hop(from, to)
}

// === impl Knowledge ===

impl Knowledge {
    /// Reads a file of facts, YAML or JSON.
    pub fn parse(text: &str) -> Result<Self, KnowledgeError> {
        let file: File = serde_yaml::from_str(text).map_err(|e| KnowledgeError::Syntax(e.to_string()))?;
        if file.version != FORMAT {
            return Err(KnowledgeError::Version(file.version));
        }
        if let Some(hop) = file.hops.iter().find(|hop| !hop.is_sound()) {
            return Err(KnowledgeError::Hop(hop.reaching));
        }
        let mut knowledge = Self {
            milestones: file.milestones,
            guidance: file.guidance.into_iter().map(|advice| (advice.release, advice)).collect(),
            hops: file.hops,
            notices: file.notices,
            kubernetes: file.kubernetes,
            gateway_api: file.gateway_api,
            clock_fields: file.clock_fields,
        };
        knowledge.sort();
        Ok(knowledge)
    }

    /// Returns these facts with those of an operator's file added; where both speak of the same thing, the
    /// operator's stand. A required stop is never taken away by it.
    pub fn extended_by(&self, more: Self) -> Self {
        let mut all = self.clone();
        all.milestones.retain(|m| more.milestones.iter().all(|n| n.name != m.name));
        all.milestones.extend(more.milestones);
        all.guidance.extend(more.guidance);
        all.hops.extend(more.hops);
        all.notices.extend(more.notices);
        all.kubernetes.retain(|k| more.kubernetes.iter().all(|n| n.since != k.since));
        all.kubernetes.extend(more.kubernetes);
        all.gateway_api.retain(|g| more.gateway_api.iter().all(|n| n.since != g.since));
        all.gateway_api.extend(more.gateway_api);
        all.clock_fields.extend(more.clock_fields);
        all.sort();
        all
    }

    /// Returns the milestone that a release belongs to: the newest that began at or below it.
    pub fn milestone_of(&self, version: EdgeVersion) -> Option<&Milestone> {
        self.milestones.iter().rev().find(|m| m.first <= version)
    }

    /// Returns the first required stop between two releases: of several rules, the one that is met first.
    pub fn hop(&self, from: EdgeVersion, to: EdgeVersion) -> Option<&Hop> {
        self.hops.iter().filter(|hop| hop.applies(from, to)).min_by_key(|hop| hop.reaching)
    }

    /// Returns what is to be known of the releases above `from`, up to and with `to`, oldest first.
    pub fn notices_between(&self, from: EdgeVersion, to: EdgeVersion) -> impl Iterator<Item = &Notice> {
        self.notices.iter().filter(move |n| n.release > from && n.release <= to)
    }

    /// Returns the Kubernetes range that the charts of a release accept.
    pub fn kubernetes_of(&self, version: EdgeVersion) -> Option<&Kubernetes> {
        self.kubernetes.iter().rev().find(|k| k.since <= version)
    }

    /// Returns the Gateway API range that a release supports.
    pub fn gateway_api_of(&self, version: EdgeVersion) -> Option<&GatewayApi> {
        self.gateway_api.iter().rev().find(|g| g.since <= version)
    }

    fn empty() -> Self {
        Self {
            milestones: Vec::new(),
            guidance: BTreeMap::new(),
            hops: Vec::new(),
            notices: Vec::new(),
            kubernetes: Vec::new(),
            gateway_api: Vec::new(),
            clock_fields: Vec::new(),
        }
    }

    fn sort(&mut self) {
        self.milestones.sort_by_key(|m| m.first);
        self.notices.sort_by_key(|n| n.release);
        self.kubernetes.sort_by_key(|k| k.since);
        self.gateway_api.sort_by_key(|g| g.since);
    }
}

impl Default for Knowledge {
    fn default() -> Self {
        built_in().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linkerd::Verdict;

    fn edge(text: &str) -> EdgeVersion {
        text.parse().unwrap()
    }

    #[test]
    fn the_built_in_data_parses_and_is_whole() {
        let known = Knowledge::parse(BUILT_IN).unwrap();
        assert_eq!(known, *built_in());
        assert_eq!(known.milestones.len(), 6);
        assert!(known.guidance.len() > 25 && !known.hops.is_empty() && known.notices.len() > 15);
        assert!(known.notices.iter().all(|n| !n.source.is_empty() && n.text.ends_with('.')));
        assert!(known.guidance.values().all(|a| a.instead.iter().all(|i| *i > a.release)));
    }

    #[test]
    fn a_stop_is_never_advised_against() {
        let against = |v: &EdgeVersion| {
            built_in().guidance.get(v).is_some_and(|a| a.verdict == Verdict::NotRecommended)
        };
        assert!(!built_in().hops.iter().flat_map(|h| &h.via).any(against));
    }

    #[test]
    fn milestones_begin_at_their_first_edge() {
        let name = |text: &str| built_in().milestone_of(edge(text)).map(|m| m.name.as_str());
        assert_eq!(name("edge-26.6.2"), Some("2.19"));
        assert_eq!(name("edge-26.6.3"), Some("2.20"));
        assert_eq!(name("edge-27.1.1"), Some("2.20"));
        assert_eq!(name("edge-24.2.3"), None);
    }

    #[test]
    fn the_gateway_api_stretch_needs_a_stop_from_below_only() {
        let hop = |from: &str, to: &str| built_in().hop(edge(from), edge(to)).is_some();
        assert!(hop("edge-25.2.3", "edge-25.9.4"));
        assert!(!hop("edge-25.2.3", "edge-25.9.3"));
        assert!(!hop("edge-25.3.1", "edge-26.8.3"));
    }

    #[test]
    fn an_operators_file_extends_and_overrides() {
        let text = "version: 1\nmilestones: [{name: '2.20', first: edge-26.6.2}, {name: '2.21', first: edge-26.12.1}]\n\
                    guidance: [{release: edge-26.8.2, verdict: not-recommended, source: us}]\n";
        let known = built_in().extended_by(Knowledge::parse(text).unwrap());
        assert_eq!(known.milestone_of(edge("edge-26.6.2")).unwrap().name, "2.20");
        assert_eq!(known.milestone_of(edge("edge-27.1.1")).unwrap().name, "2.21");
        assert_eq!(known.milestones.len(), 7);
        assert!(known.guidance.contains_key(&edge("edge-26.8.2")));
        assert_eq!(known.hops, built_in().hops);
    }

    #[test]
    fn a_bad_file_is_refused_with_its_reason() {
        let reason = |text| Knowledge::parse(text).unwrap_err().to_string();
        assert!(reason("version: 1\nmilestons: []\n").contains("milestons"));
        assert!(reason("version: 2\n").contains("version"));
        assert!(reason("version: 1\nmilestones: [{name: x, first: 26.1.1}]\n").contains("26.1.1"));
        let outside = "version: 1\nhops: [{below: edge-25.3.1, reaching: edge-25.9.4, via: [edge-25.9.4], \
                       why: operator, note: '', source: us}]\n";
        assert!(reason(outside).contains("edge-25.9.4"));
    }
}

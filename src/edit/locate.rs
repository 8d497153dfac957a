//! From the place that a scan found to the scalar that holds it, and the reasons not to touch it.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use super::{EditError, Refusal};
use crate::yaml::{Node, Route, Shape, Step, Stream, position};

/// Finds the scalars of one stream by their bytes.
pub(super) struct Places<'a> {
    text: &'a str,
    stream: &'a Stream,
    /// Every scalar and alias that is written, ordered by position.
    leaves: Vec<(usize, Node<'a>)>,
    /// The keys that are written twice in a mapping, by document and node, as far as they were asked for.
    twice: HashMap<(usize, usize), HashSet<&'a str>>,
}

// === impl Places ===

impl<'a> Places<'a> {
    /// Refuses text that is a template, and takes stock of the rest.
    pub(super) fn new(text: &'a str, stream: &'a Stream) -> Result<Self, EditError> {
        let nodes = || stream.documents.iter().flat_map(|d| d.nodes());
        // An unquoted template action reads as a mapping whose key is a mapping.
        let action = |node: &Node<'_>| {
            node.shape() == Shape::Mapping { flow: true }
                && text.get(node.span()).is_some_and(|t| t.starts_with("{{"))
        };
        if let Some(node) = nodes().find(action) {
            return Err(EditError::at(text, node.span().start, Refusal::Template));
        }
        let leaf = |node: &Node<'_>| {
            matches!(node.shape(), Shape::Scalar(..) | Shape::Alias(_)) && !node.is_absent()
        };
        let mut leaves: Vec<_> = nodes().filter(leaf).map(|n| (n.span().start, n)).collect();
        leaves.sort_by_key(|(start, _)| *start);
        Ok(Self { text, stream, leaves, twice: HashMap::new() })
    }

    /// Finds the scalar around a span.
    pub(super) fn around(&self, span: &Range<usize>) -> Option<Node<'a>> {
        let before = self.leaves.partition_point(|(start, _)| *start <= span.start);
        let (_, node) = self.leaves.get(before.checked_sub(1)?)?;
        (span.end <= node.span().end && !span.is_empty()).then_some(*node)
    }

    /// Finds the scalar around a span and makes sure that it is the one on the route, and may be edited.
    pub(super) fn on_route(&mut self, span: &Range<usize>, route: &Route) -> Result<Node<'a>, Refusal> {
        let nowhere = || Refusal::NoSuchPlace { route: route.display() };
        let node = self.around(span).ok_or_else(nowhere)?;
        if let Shape::Alias(_) = node.shape() {
            return Err(Refusal::Alias { anchor: position(self.text, node.resolved().span().start).0 });
        }
        let outer = route.steps.split(|s| matches!(s, Step::Text(_))).next().unwrap_or_default();
        let own = node.route();
        let straight = own.document == route.document && own.steps == outer && !node.is_key();
        if !straight && !self.leads_to(route, outer, node) {
            return Err(nowhere());
        }
        self.refuse_ambiguous(node)?;
        Ok(node)
    }

    /// Tells whether a route ends at the node by way of aliases, without a key that is written twice.
    fn leads_to(&mut self, route: &Route, outer: &[Step], node: Node<'a>) -> bool {
        let Some(document) = self.stream.documents.get(route.document) else { return false };
        let Some(mut at) = document.root() else { return false };
        for step in outer {
            let next = match step {
                Step::Key(key) if at.is_duplicated(key) => None,
                Step::Key(key) => at.entries().find(|(k, _)| k.as_str() == Some(key)).map(|(_, v)| v),
                Step::Index(index) => at.item(*index),
                Step::Text(_) => None,
            };
            match next {
                Some(next) => at = next.resolved(),
                None => return false,
            }
        }
        at.number() == node.number() && node.document().index == route.document
    }

    /// Refuses a node that no route names for certain: under a key that is written twice, here or further up,
    /// or in or under a key that is no scalar.
    fn refuse_ambiguous(&mut self, node: Node<'a>) -> Result<(), Refusal> {
        for child in std::iter::successors(Some(node), |n| n.parent()) {
            let Some(parent) = child.parent().filter(|p| p.is_mapping()) else { continue };
            let Some(key) = child.key().and_then(Node::as_str) else {
                return Err(Refusal::NoSuchPlace { route: node.route().display() });
            };
            let id = (parent.document().index, parent.number());
            let twice = self.twice.entry(id).or_insert_with(|| {
                let mut seen = HashSet::new();
                let keys = parent.entries().filter_map(|(k, _)| k.as_str());
                keys.filter(|k| !seen.insert(*k)).collect()
            });
            if twice.contains(key) {
                return Err(Refusal::DuplicateKey { key: key.to_owned() });
            }
        }
        Ok(())
    }
}

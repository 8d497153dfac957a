//! A cursor over a document's nodes, which follows aliases and merge keys.

use std::ops::Range;

use super::{Document, NodeId, RawKind, RawNode, Style, core};

/// A node of a document: a cheap cursor.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    pub(super) document: &'a Document,
    pub(super) id: NodeId,
}

/// Mappings that one look-up searches through merge keys.
const MERGED: usize = 64;

/// What a node is, without its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape<'a> {
    /// A scalar: its value and how it is written.
    Scalar(&'a str, Style),
    /// A sequence.
    Sequence {
        /// In `[]`.
        flow: bool,
    },
    /// A mapping.
    Mapping {
        /// In `{}`.
        flow: bool,
    },
    /// An alias of the anchor with this number.
    Alias(usize),
}

// === impl Node ===

impl<'a> Node<'a> {
    /// Returns the bytes of the node in the text: quotes and block indicators included, anchor and tag not.
    pub fn span(self) -> Range<usize> {
        self.raw().span.clone()
    }

    /// Returns the document that the node is in.
    pub fn document(self) -> &'a Document {
        self.document
    }

    /// Follows an alias to its anchored node; every other node is returned as it is.
    pub fn resolved(self) -> Self {
        match self.raw().kind {
            RawKind::Alias(to) => self.document.anchors.get(&to).map_or(self, |id| self.at(*id)),
            _ => self,
        }
    }

    /// Tells whether this is an alias, `*name`.
    pub fn is_alias(self) -> bool {
        matches!(self.raw().kind, RawKind::Alias(_))
    }

    /// Tells whether an anchor stands before this node.
    pub fn has_anchor(self) -> bool {
        self.raw().anchor.is_some()
    }

    /// Returns the explicit tag, such as `tag:yaml.org,2002:str`.
    pub fn tag(self) -> Option<&'a str> {
        self.raw().tag.as_deref()
    }

    /// Returns a scalar's value as text, aliases followed; `None` for a collection.
    pub fn as_str(self) -> Option<&'a str> {
        match &self.resolved().raw().kind {
            RawKind::Scalar { value, .. } => Some(self.document.value(value)),
            _ => None,
        }
    }

    /// Returns how a scalar is written, aliases followed.
    pub fn style(self) -> Option<Style> {
        match &self.resolved().raw().kind {
            RawKind::Scalar { style, .. } => Some(*style),
            _ => None,
        }
    }

    /// Tells whether this is a mapping, aliases followed.
    pub fn is_mapping(self) -> bool {
        matches!(self.resolved().raw().kind, RawKind::Mapping { .. })
    }

    /// Tells whether this is a sequence, aliases followed.
    pub fn is_sequence(self) -> bool {
        matches!(self.resolved().raw().kind, RawKind::Sequence { .. })
    }

    /// Tells whether a collection is in flow style (`{}`, `[]`).
    pub fn is_flow(self) -> bool {
        matches!(
            self.resolved().raw().kind,
            RawKind::Mapping { flow: true, .. } | RawKind::Sequence { flow: true, .. }
        )
    }

    /// Returns the value under a key: the last duplicate wins, then merge keys (`<<`), as Go's YAML reads it.
    pub fn get(self, key: &str) -> Option<Node<'a>> {
        let node = self.resolved();
        node.own_entry(key).or_else(|| node.merged_entry(key))
    }

    /// Walks down a path of keys, aliases and merge keys followed.
    pub fn path(self, keys: &[&str]) -> Option<Node<'a>> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Returns the scalar text under a path of keys.
    pub fn text(self, keys: &[&str]) -> Option<&'a str> {
        self.path(keys)?.as_str()
    }

    /// Tells whether the boolean under a path of keys is true. One in quotes, which its reader refuses, counts as it reads.
    pub fn is_true(self, keys: &[&str]) -> bool {
        let Some(node) = self.path(keys) else { return false };
        let is_plain = node.style() == Some(Style::Plain);
        let is = |text: &str| text == "true" || is_plain && core::boolean(text) == Some(true);
        node.as_str().is_some_and(is)
    }

    /// Returns keys and values in order as written, `<<` entries and duplicates included.
    pub fn entries(self) -> impl Iterator<Item = (Node<'a>, Node<'a>)> {
        let node = self.resolved();
        let entries: &[(NodeId, NodeId)] = match &node.raw().kind {
            RawKind::Mapping { entries, .. } => entries,
            _ => &[],
        };
        entries.iter().map(move |(k, v)| (node.at(*k), node.at(*v)))
    }

    /// Returns the items of a sequence in order.
    pub fn items(self) -> impl Iterator<Item = Node<'a>> {
        let node = self.resolved();
        let items: &[NodeId] = match &node.raw().kind {
            RawKind::Sequence { items, .. } => items,
            _ => &[],
        };
        items.iter().map(move |id| node.at(*id))
    }

    /// Tells whether a key is written more than once in this mapping.
    pub fn is_duplicated(self, key: &str) -> bool {
        self.entries().filter(|(k, _)| k.as_str() == Some(key)).count() > 1
    }

    /// Tells whether the key of this value is written more than once in its mapping. A document is searched once for
    /// all of its nodes.
    pub fn is_written_twice(self) -> bool {
        self.written_between().is_some()
    }

    /// Returns the bytes from the first to the last place where the key of this value is written in its mapping, where there are
    /// several.
    pub fn written_between(self) -> Option<Range<usize>> {
        self.document.keys_written_twice().get(&self.key()?.id).cloned()
    }

    /// Returns the mapping or sequence that contains this node.
    pub fn parent(self) -> Option<Node<'a>> {
        self.raw().parent.map(|id| self.at(id))
    }

    /// Returns an item of a sequence, from 0.
    pub fn item(self, index: usize) -> Option<Node<'a>> {
        match &self.resolved().raw().kind {
            RawKind::Sequence { items, .. } => items.get(index).map(|id| self.at(*id)),
            _ => None,
        }
    }

    /// Returns what the node is as it is written, an alias as an alias.
    pub fn shape(self) -> Shape<'a> {
        match &self.raw().kind {
            RawKind::Scalar { value, style } => Shape::Scalar(self.document.value(value), *style),
            RawKind::Sequence { flow, .. } => Shape::Sequence { flow: *flow },
            RawKind::Mapping { flow, .. } => Shape::Mapping { flow: *flow },
            RawKind::Alias(to) => Shape::Alias(*to),
        }
    }

    /// Returns the number of the anchor that stands before this node.
    pub fn anchor(self) -> Option<usize> {
        self.raw().anchor
    }

    /// Tells whether nothing is written here: the null of `key:`.
    pub fn is_absent(self) -> bool {
        self.raw().span.is_empty() && self.style() == Some(Style::Plain)
    }

    /// Returns the number of this node in its document, in document order.
    pub fn number(self) -> usize {
        self.id.0 as usize
    }

    /// Tells whether this is the key of an entry.
    pub fn is_key(self) -> bool {
        let Some(parent) = self.parent() else { return false };
        match &parent.raw().kind {
            RawKind::Mapping { entries, .. } => entries.get(self.place()).is_some_and(|(k, _)| *k == self.id),
            _ => false,
        }
    }

    /// Returns the key under which this value stands; `None` for an item, a root, or a key itself.
    pub fn key(self) -> Option<Node<'a>> {
        let parent = self.parent()?;
        match &parent.raw().kind {
            RawKind::Mapping { entries, .. } => {
                let (key, value) = entries.get(self.place())?;
                (*value == self.id).then(|| self.at(*key))
            }
            _ => None,
        }
    }

    /// Returns the place of this node among the items or entries of its parent.
    pub(super) fn place(self) -> usize {
        self.raw().place as usize
    }

    /// Looks in what is merged in, and in what that merges in, each once; more than [`MERGED`] are not asked.
    fn merged_entry(self, key: &str) -> Option<Node<'a>> {
        // A stack, so that the next to be asked is last.
        let mut todo: Vec<Node<'a>> = self.merged().collect();
        todo.reverse();
        let mut seen = if todo.is_empty() { Vec::new() } else { vec![self.id] };
        while let Some(node) = todo.pop() {
            if seen.contains(&node.id) || seen.len() > MERGED {
                continue;
            }
            if let Some(found) = node.own_entry(key) {
                return Some(found);
            }
            seen.push(node.id);
            let behind = todo.len();
            todo.extend(node.merged());
            todo.get_mut(behind..)?.reverse();
        }
        None
    }

    pub(super) fn own_entry(self, key: &str) -> Option<Node<'a>> {
        self.entries().filter(|(k, _)| k.as_str() == Some(key)).last().map(|(_, v)| v)
    }

    /// Returns the mappings that merge keys (`<<`) take in, in order: the first that has a key counts.
    pub fn merged(self) -> impl Iterator<Item = Node<'a>> {
        let sources =
            self.entries().filter(|(k, _)| k.as_str() == Some("<<") && k.style() == Some(Style::Plain));
        sources.flat_map(|(_, v)| {
            let v = v.resolved();
            let list: Vec<Node<'a>> = if v.is_sequence() { v.items().collect() } else { vec![v] };
            list.into_iter().map(Self::resolved).filter(|n| n.is_mapping())
        })
    }

    pub(super) fn at(self, id: NodeId) -> Self {
        Node { document: self.document, id }
    }

    pub(super) fn raw(self) -> &'a RawNode {
        self.document.raw(self.id)
    }
}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} at {:?}", self.raw().kind, self.raw().span)
    }
}

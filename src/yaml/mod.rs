//! Foundation: YAML and JSON text as a tree whose every node knows its bytes.
//!
//! In: text. Out: a [`Stream`] of [`Document`]s, read through [`Node`] cursors that follow aliases and merge
//! keys as Helm and Kubernetes do. Nothing here changes text (`edit/` does) and nothing knows Linkerd.
//! Values are the text that YAML gives (`2026.8.2` stays text); [`core`] says how YAML 1.1 would type them.

mod build;
pub mod core;
mod embedded;
mod encrypted;
mod position;
mod route;

use std::{collections::HashMap, ops::Range};

pub use build::{Ceilings, YamlError};
pub use embedded::Embedded;
pub use encrypted::{encrypted, sealed};
pub use position::position;
pub use route::{Route, Step};

/// All documents of one text.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The documents in order; an empty text has none.
    pub documents: Vec<Document>,
    /// Every comment, in order of position.
    pub comments: Vec<Comment>,
}

/// One document: a tree in an arena.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its number in the stream, from 0.
    pub index: usize,
    nodes: Vec<RawNode>,
    anchors: HashMap<usize, NodeId>,
    root: Option<NodeId>,
}

/// A real comment: not text inside a scalar that looks like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// The bytes from `#` to the end of the line, without the line break.
    pub span: Range<usize>,
    /// The text behind `#`.
    pub text: String,
}

/// A position in a document's arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(u32);

#[derive(Clone, Debug)]
struct RawNode {
    kind: RawKind,
    span: Range<usize>,
    anchor: Option<usize>,
    tag: Option<String>,
    parent: Option<NodeId>,
}

#[derive(Clone, Debug)]
enum RawKind {
    Scalar { value: String, style: Style },
    Sequence { items: Vec<NodeId>, flow: bool },
    Mapping { entries: Vec<(NodeId, NodeId)>, flow: bool },
    Alias(usize),
}

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// In `'`.
    SingleQuoted,
    /// In `"`.
    DoubleQuoted,
    /// A block scalar, `|`.
    Literal,
    /// A block scalar, `>`.
    Folded,
}

/// A node of a document: a cheap cursor.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    document: &'a Document,
    id: NodeId,
}

// === impl Stream ===

impl Stream {
    /// Parses text under the default [`Ceilings`].
    pub fn parse(text: &str) -> Result<Self, YamlError> {
        build::parse(text, &Ceilings::default())
    }

    /// Parses text under the given ceilings.
    pub fn parse_within(text: &str, ceilings: &Ceilings) -> Result<Self, YamlError> {
        build::parse(text, ceilings)
    }

    /// Returns the roots of the documents that have one.
    pub fn roots(&self) -> impl Iterator<Item = Node<'_>> {
        self.documents.iter().filter_map(Document::root)
    }

    /// Returns the comment that stands behind the byte position on its line in `text`.
    pub fn comment_behind(&self, text: &str, position: usize) -> Option<&Comment> {
        let end =
            memchr::memchr(b'\n', text.as_bytes().get(position..)?).map_or(text.len(), |n| position + n);
        let first = self.comments.partition_point(|c| c.span.start < position);
        self.comments.get(first).filter(|c| c.span.start < end)
    }

    /// Finds the node that a route names; a step into a scalar's text ends at that scalar.
    pub fn find(&self, route: &Route) -> Option<Node<'_>> {
        let mut node = self.documents.get(route.document)?.root()?;
        for step in &route.steps {
            node = match step {
                Step::Key(key) => node.own_entry(key)?,
                Step::Index(index) => node.items().nth(*index)?,
                Step::Text(_) => return Some(node),
            };
        }
        Some(node)
    }
}

// === impl Document ===

impl Document {
    /// Returns the root, `None` for a document without content.
    pub fn root(&self) -> Option<Node<'_>> {
        self.root.map(|id| Node { document: self, id })
    }

    /// Returns every node in document order, aliases not followed.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        (0..self.nodes.len()).map(|n| Node { document: self, id: NodeId(n as u32) })
    }

    /// Counts the aliases that stand for the anchor of `node`, directly or through a parent.
    pub fn aliases_of(&self, node: Node<'_>) -> Vec<Node<'_>> {
        let Some(anchor) = self.raw(node.id).anchor else { return Vec::new() };
        self.nodes().filter(|n| matches!(self.raw(n.id).kind, RawKind::Alias(to) if to == anchor)).collect()
    }

    fn raw(&self, id: NodeId) -> &RawNode {
        &self.nodes[id.0 as usize]
    }
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
            RawKind::Scalar { value, .. } => Some(value),
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
        self.own_entry(key).or_else(|| self.merged().find_map(|m| m.get(key)))
    }

    /// Walks down a path of keys, aliases and merge keys followed.
    pub fn path(self, keys: &[&str]) -> Option<Node<'a>> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Returns the scalar text under a path of keys.
    pub fn text(self, keys: &[&str]) -> Option<&'a str> {
        self.path(keys)?.as_str()
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

    /// Returns the mapping or sequence that contains this node.
    pub fn parent(self) -> Option<Node<'a>> {
        self.raw().parent.map(|id| self.at(id))
    }

    /// Returns the way from the document's root to this node.
    pub fn route(self) -> Route {
        route::of(self)
    }

    fn own_entry(self, key: &str) -> Option<Node<'a>> {
        self.entries().filter(|(k, _)| k.as_str() == Some(key)).last().map(|(_, v)| v)
    }

    fn merged(self) -> impl Iterator<Item = Node<'a>> {
        let sources =
            self.entries().filter(|(k, _)| k.as_str() == Some("<<") && k.style() == Some(Style::Plain));
        sources.flat_map(|(_, v)| {
            let v = v.resolved();
            let list: Vec<Node<'a>> = if v.is_sequence() { v.items().collect() } else { vec![v] };
            list.into_iter().filter(|n| n.is_mapping())
        })
    }

    fn at(self, id: NodeId) -> Self {
        Node { document: self.document, id }
    }

    fn raw(self) -> &'a RawNode {
        self.document.raw(self.id)
    }
}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} at {:?}", self.raw().kind, self.raw().span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_the_bytes_of_the_node() {
        let text =
            "# top\na: &x  'v 1' # c\nb: *x\nc: {d: [1, \"é\"], e: |\n  no}\n".replace("e: |\n  no", "e: f");
        let stream = Stream::parse(&text).unwrap();
        let root = stream.roots().next().unwrap();
        assert_eq!(&text[root.get("a").unwrap().span()], "'v 1'");
        assert_eq!(&text[root.get("b").unwrap().span()], "*x");
        assert_eq!(root.text(&["b"]), Some("v 1"));
        let e = root.path(&["c", "d"]).unwrap().items().nth(1).unwrap();
        assert_eq!(&text[e.span()], "\"é\"");
        assert_eq!(e.route().display(), "c.d[1]");
        assert_eq!(stream.find(&e.route()).unwrap().span(), e.span());
        assert_eq!(stream.comment_behind(&text, root.get("a").unwrap().span().end).unwrap().text, " c");
    }

    #[test]
    fn block_scalars_map_back_to_the_file() {
        let text = "a:\n  v: |\n    x: 1\n\n    y:\n      z: edge-26.8.2 # c\n  w: 2\n";
        let stream = Stream::parse(text).unwrap();
        let node = stream.roots().next().unwrap().path(&["a", "v"]).unwrap();
        println!("{:?} {:?}", node, &text[node.span()]);
        let inner = Embedded::parse(text, node).unwrap().unwrap();
        let z = inner.stream.roots().next().unwrap().path(&["y", "z"]).unwrap();
        assert_eq!(&text[inner.in_file(z.span()).unwrap()], "edge-26.8.2");
    }
}

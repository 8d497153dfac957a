//! Foundation: YAML and JSON text as a tree whose every node knows its bytes.
//!
//! In: text. Out: a [`Stream`] of [`Document`]s, read through [`Node`] cursors that follow aliases and merge
//! keys as Helm and Kubernetes do. Nothing here changes text (`edit/` does) and nothing knows Linkerd.
//! Values are the text that YAML gives (`2026.8.2` stays text); [`typed`] says how YAML 1.1 types them, and [`core`] which of
//! them need no quotes.

mod build;
pub mod core;
mod embedded;
mod encrypted;
mod node;
mod position;
mod route;
mod source_map;
pub mod typed;

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, OnceLock},
};

pub use build::{Ceilings, YamlError};
pub use embedded::{Embedded, parse_covered};
pub use encrypted::{encrypted, sealed};
pub use node::{Node, Shape};
pub use position::position;
pub use route::{Route, Step};
pub use source_map::SourceMap;

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
    /// The whole text of the stream, in which most scalars find their values.
    text: Arc<str>,
    /// The bytes of `---`, where the document begins with it.
    marker: Option<Range<usize>>,
    nodes: Vec<RawNode>,
    anchors: HashMap<usize, NodeId>,
    /// The aliases of each anchor.
    aliases: HashMap<usize, Vec<NodeId>>,
    /// The keys that are written more than once in their mapping, each with the bytes from where the first of them begins to
    /// where the last does, found when first asked for.
    twice: OnceLock<HashMap<NodeId, Range<usize>>>,
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
    tag: Option<Box<str>>,
    parent: Option<NodeId>,
    /// Its position among the items or entries of its parent.
    place: u32,
}

#[derive(Clone, Debug)]
enum RawKind {
    Scalar { value: Value, style: Style },
    Sequence { items: Vec<NodeId>, flow: bool },
    Mapping { entries: Vec<(NodeId, NodeId)>, flow: bool },
    Alias(usize),
}

/// A scalar's value.
#[derive(Clone, Debug)]
enum Value {
    /// It stands in the text as it is: no copy is kept.
    Source(Range<usize>),
    /// It differs from its source: folded, escaped, a block.
    Own(Box<str>),
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
        let end = memchr::memchr2(b'\n', b'\r', text.as_bytes().get(position..)?)
            .map_or(text.len(), |n| position + n);
        let first = self.comments.partition_point(|c| c.span.start < position);
        self.comments.get(first).filter(|c| c.span.start < end)
    }

    /// Finds the node that a route names; a step into a scalar's text ends at that scalar.
    pub fn find(&self, route: &Route) -> Option<Node<'_>> {
        let mut node = self.documents.get(route.document)?.root()?;
        for step in &route.steps {
            node = match step {
                Step::Key(key) => node.own_entry(key)?,
                Step::Index(index) => node.item(*index)?,
                Step::Text(_) => return Some(node),
            };
        }
        Some(node)
    }

    /// Lists the aliases that change when the node on the route changes: those of its own anchor, of an
    /// anchored collection around it, and of anchored collections that hold such an alias.
    pub fn aliases_through(&self, route: &Route) -> Vec<Route> {
        let Some(node) = self.find(route) else { return Vec::new() };
        let document = node.document();
        let mut anchors = Vec::new();
        let mut aliases = Vec::new();
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            let around = std::iter::successors(Some(node), |n| n.parent()).filter_map(Node::anchor);
            for anchor in around {
                if anchors.contains(&anchor) {
                    continue;
                }
                anchors.push(anchor);
                let found = document.aliases_of_anchor(anchor);
                aliases.extend(found.clone().map(Node::route));
                open.extend(found);
            }
        }
        aliases.sort();
        aliases
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

    /// Returns the bytes of the `---` that the document begins with.
    pub fn marker(&self) -> Option<Range<usize>> {
        self.marker.clone()
    }

    /// Returns the aliases that stand for the anchor of `node` itself.
    pub fn aliases_of(&self, node: Node<'_>) -> impl Iterator<Item = Node<'_>> + Clone {
        node.anchor().into_iter().flat_map(|anchor| self.aliases_of_anchor(anchor))
    }

    fn aliases_of_anchor(&self, anchor: usize) -> impl Iterator<Item = Node<'_>> + Clone {
        let aliases = self.aliases.get(&anchor).into_iter().flatten();
        aliases.map(|id| Node { document: self, id: *id })
    }

    fn keys_written_twice(&self) -> &HashMap<NodeId, Range<usize>> {
        self.twice.get_or_init(|| {
            let mut twice = HashMap::new();
            for node in &self.nodes {
                let RawKind::Mapping { entries, .. } = &node.kind else { continue };
                let keys = || {
                    let keys = entries.iter().map(|(key, _)| Node { document: self, id: *key });
                    keys.filter_map(|key| Some((key.as_str()?, key)))
                };
                let mut ends: HashMap<&str, (Node<'_>, Node<'_>)> = HashMap::with_capacity(entries.len());
                for (text, key) in keys() {
                    ends.entry(text).or_insert((key, key)).1 = key;
                }
                ends.retain(|_, (first, last)| first.id != last.id);
                if ends.is_empty() {
                    continue;
                }
                for (text, key) in keys() {
                    let between =
                        |(first, last): &(Node<'_>, Node<'_>)| first.span().start..last.span().start;
                    twice.extend(ends.get(text).map(|ends| (key.id, between(ends))));
                }
            }
            twice
        })
    }

    fn raw(&self, id: NodeId) -> &RawNode {
        &self.nodes[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_are_those_of_yaml_1_1() {
        let stream = Stream::parse("a: {b: yes, c: &on ON, d: 'yes', e: n, f: 'true', g: *on}\n").unwrap();
        let root = stream.roots().next().unwrap();
        let all = ["b", "c", "d", "e", "f", "g", "h"].map(|key| root.is_true(&["a", key]));
        assert_eq!(all, [true, true, false, false, true, true, false]);
    }

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
    fn a_text_that_ends_in_mid_line_adds_no_line_break() {
        let value = |text: &str| {
            Stream::parse(text).unwrap().roots().next().unwrap().text(&["v"]).unwrap().to_owned()
        };
        assert_eq!(value("v: |\n  x"), "x");
        assert_eq!(value("v: |+\n  x"), "x");
        assert_eq!(value("v: >\n  x\n  y"), "x y");
        assert_eq!(value("v: |\n  x\n  "), "x\n");
        assert_eq!(value("v: |-\n  x"), "x");
        assert_eq!(value("v: |\n  x\n"), "x\n");
    }

    #[test]
    fn merge_keys_that_go_in_circles_end() {
        let text = "a: &a\n  <<: *a\n  x: 1\nb: &b\n  <<: [*a, *b]\n";
        let stream = Stream::parse(text).unwrap();
        let root = stream.roots().next().unwrap();
        assert_eq!(root.path(&["a", "none"]).map(Node::span), None);
        assert_eq!(root.text(&["b", "x"]), Some("1"));
        let chain = |length: usize, times: usize| {
            let mut text = String::from("a0: &a0 {x: 1}\n");
            for n in 1..length {
                let merged = vec![format!("*a{}", n - 1); times].join(", ");
                text.push_str(&format!("a{n}: &a{n} {{<<: [{merged}]}}\n"));
            }
            text
        };
        let stream = Stream::parse(&chain(16, 2)).unwrap();
        let last = stream.roots().next().unwrap().get("a15").unwrap();
        assert_eq!((last.text(&["x"]), last.get("y").map(Node::span)), (Some("1"), None));
        // A long chain is followed for a while, and takes no stack.
        let stream = Stream::parse(&chain(1000, 1)).unwrap();
        let text = |name: &str| stream.roots().next().unwrap().text(&[name, "x"]).map(str::to_owned);
        assert_eq!((text("a60").as_deref(), text("a999")), (Some("1"), None));
    }

    #[test]
    fn what_aliases_stand_for_counts_each_time() {
        let bomb: String = (1..60).map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}]\n", n - 1)).collect();
        let refused = Stream::parse(&format!("a0: &a0 {{x: 1}}\n{bomb}")).map(|_| ());
        assert_eq!(refused, Err(YamlError::TooLarge { what: "nodes", limit: 2_000_000 }));
        let list = "- x\n".repeat(10_000);
        let uses = |times: usize| format!("a: &a\n{list}b:\n{}", "- *a\n".repeat(times));
        assert!(Stream::parse(&uses(100)).is_ok());
        assert!(Stream::parse(&uses(200)).is_err());
    }

    #[test]
    fn the_last_duplicate_counts_and_then_what_is_merged() {
        let text = "d: &d {v: merged, w: merged}\na: {v: 1, <<: *d, v: 2}\n";
        let stream = Stream::parse(text).unwrap();
        let a = stream.roots().next().unwrap().get("a").unwrap();
        assert_eq!((a.text(&["v"]), a.text(&["w"])), (Some("2"), Some("merged")));
        assert!(a.is_duplicated("v") && !a.is_duplicated("w"));
        let twice = |n: usize| a.entries().nth(n).unwrap().1.is_written_twice();
        assert_eq!([0, 1, 2].map(twice), [true, false, true]);
        let between = |n: usize| a.entries().nth(n).unwrap().1.written_between().map(|bytes| &text[bytes]);
        assert_eq!([0, 1, 2].map(between), [Some("v: 1, <<: *d, "), None, Some("v: 1, <<: *d, ")]);
    }

    #[test]
    fn aliases_that_change_with_a_node_are_found_through_all_collections() {
        let text = "a: &a\n  v: &v 1\nb: &b {c: *a}\nd: *v\ne: [*b]\nf: &f 2\ng: *f\n";
        let stream = Stream::parse(text).unwrap();
        let v = stream.roots().next().unwrap().path(&["a", "v"]).unwrap().route();
        let routes: Vec<_> = stream.aliases_through(&v).iter().map(Route::display).collect();
        assert_eq!(routes, ["b.c", "d", "e[0]"]);
    }

    #[test]
    fn block_scalars_begin_at_their_header() {
        let text = "a: &x !!str |2- # c |\n\n   x\n-: >\n b\n--- |\n c\n";
        let stream = Stream::parse(text).unwrap();
        let root = stream.roots().next().unwrap();
        assert!(text[root.get("a").unwrap().span()].starts_with("|2- # c"));
        assert_eq!(&text[root.get("-").unwrap().span()], ">\n b\n");
        assert_eq!(&text[stream.roots().nth(1).unwrap().span()], "|\n c\n");
    }

    #[test]
    fn ceilings_hold() {
        let tight = Ceilings { bytes: 40, documents: 2, nodes: 6, depth: 3 };
        let parse = |text: &str| Stream::parse_within(text, &tight).map(|_| ());
        assert_eq!(parse("[[[a]]]"), Ok(()));
        assert!(parse("[[[[a]]]]").is_err());
        assert_eq!(parse("a\n---\nb\n---\nc\n"), Err(YamlError::TooLarge { what: "documents", limit: 2 }));
        assert_eq!(parse("[a, b, c, d, e, f]"), Err(YamlError::TooLarge { what: "nodes", limit: 6 }));
        assert_eq!(parse(&"a".repeat(41)), Err(YamlError::TooLarge { what: "bytes", limit: 40 }));
    }

    #[test]
    fn block_scalars_map_back_to_the_file() {
        let text = "a:\n  v: |\n    x: 1\n\n    y:\n      z: edge-26.8.2 # c\n  w: 2\n";
        let stream = Stream::parse(text).unwrap();
        let node = stream.roots().next().unwrap().path(&["a", "v"]).unwrap();
        let inner = Embedded::parse(text, node).unwrap().unwrap();
        let z = inner.stream.roots().next().unwrap().path(&["y", "z"]).unwrap();
        assert_eq!(&text[inner.in_file(z.span()).unwrap()], "edge-26.8.2");
    }
}

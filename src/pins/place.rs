//! Step 5, pins: where a node stands in its file, also through YAML that is embedded in a scalar.
//!
//! In: a parsed file. Out: [`Place`]s to walk, and the [`Site`] of a node. Knows bytes and comments, no shapes.

use std::ops::Range;

use super::{Reason, Site, corpus::File, hold};
use crate::yaml::{Embedded, Node, Route, SourceMap, Step, Stream, Style};

/// Texts inside texts that are walked: an Argo CD application in a patch holds values. More are not written by people,
/// and each one takes stack and a parse.
const NESTED: usize = 4;

/// A text being walked: a file's, or one inside a scalar of another place.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The file.
    pub file: &'a File,
    /// The text at hand.
    pub text: &'a str,
    /// Its documents.
    pub stream: &'a Stream,
    outer: Option<&'a Outer<'a>>,
}

/// The scalar that a text stands in.
struct Outer<'a> {
    place: Place<'a>,
    embedded: &'a Embedded,
    node: Node<'a>,
}

/// A site, and whether its bytes stand in the file as they are read.
pub(super) struct Located {
    /// The site.
    pub site: Site,
    /// `false` where the text is folded or escaped, so that it cannot be edited in place.
    pub editable: bool,
}

fn is_under_twice(node: Node<'_>) -> bool {
    std::iter::successors(Some(node), |n| n.parent()).any(Node::is_written_twice)
}

/// Tells whether conditions of ytt's stand between the values of a key at a node, or around it, that is written twice.
fn is_parted(text: &str, stream: &Stream, node: Node<'_>) -> bool {
    const PARTS: [&str; 3] = ["#@ if", "#@ el", "#@ end"];
    let Some(between) = std::iter::successors(Some(node), |n| n.parent()).find_map(Node::written_between)
    else {
        return false;
    };
    let first = stream.comments.partition_point(|comment| comment.span.start < between.start);
    let all = stream.comments.iter().skip(first).take_while(|comment| comment.span.start < between.end);
    let mut lines = all.filter_map(|comment| {
        let before = text.get(..comment.span.start)?.trim_end_matches([' ', '\t']);
        text.get(comment.span.clone()).filter(|_| before.is_empty() || before.ends_with(['\n', '\r']))
    });
    lines.any(|line| PARTS.iter().any(|part| line.starts_with(part)))
}

/// Tells whether a text has parts of which a Go template takes one.
fn branches(text: &str) -> bool {
    let action = |part: &str| part.trim_start_matches('-').trim_start().starts_with("if ");
    text.split("{{").skip(1).any(action)
}

// === impl Place ===

impl<'a> Place<'a> {
    /// Stands at the top of a file.
    pub fn of(file: &'a File) -> Self {
        Self { file, text: &file.text, stream: &file.stream, outer: None }
    }

    /// Steps into the text of a scalar; `None` where it is no YAML, or too deep inside of others.
    pub fn inside<R>(self, node: Node<'a>, walk: impl FnOnce(Place<'_>) -> R) -> Option<R> {
        if std::iter::successors(self.outer, |o| o.place.outer).count() >= NESTED {
            return None;
        }
        let embedded = Embedded::parse(self.text, node)?.ok()?;
        let outer = Outer { place: self, embedded: &embedded, node: node.resolved() };
        Some(walk(Place {
            file: self.file,
            text: &embedded.text,
            stream: &embedded.stream,
            outer: Some(&outer),
        }))
    }

    /// Locates a scalar, and the part of its value that is a pin.
    pub fn locate(self, node: Node<'_>, part: Range<usize>) -> Located {
        let node = node.resolved();
        // Of branches that have one key no way leads to each: they are a part of the text that they stand in.
        let route = match self.outer.filter(|_| self.is_of_branches(node)) {
            Some(outer) => outer.place.route(outer.node.route()),
            None => self.route(node.route()),
        };
        let first = node.span().start;
        let span = value_bytes(self.text, node, part).and_then(|span| self.in_file(span));
        // A block scalar's first character is below its header.
        let start = match &span {
            Some(span) if !is_line(node) => Some(span.clone()),
            _ => self.in_file(first..first + 1).or_else(|| self.in_file(first..first)),
        };
        let (line, column) = self.file.position(start.unwrap_or_else(|| self.outermost_start(node)).start);
        let editable = span.is_some();
        let span = span.unwrap_or_else(|| self.outermost_start(node));
        Located { site: Site { span, line, column, document: route.document, route: Some(route) }, editable }
    }

    /// Returns what the comments around a node say: held, or managed by Flux.
    pub fn word(self, node: Node<'_>) -> Option<Reason> {
        let node = node.resolved();
        let own = hold::word(self.stream, self.text, node.span().start);
        own.or_else(|| self.outer.filter(|o| is_line(o.node)).and_then(|o| o.place.word(o.node)))
    }

    /// Returns the line of an alias that a comment there holds.
    pub fn held_alias(self, node: Node<'_>) -> Option<usize> {
        let start = node.span().start;
        let is_held = || hold::word(self.stream, self.text, start) == Some(Reason::Held);
        (node.is_alias() && is_held()).then(|| self.file.position(self.start_in_file(node)).0)
    }

    /// Says why readers may take another value than the one at a node: a key at it, around it, or around a scalar that its
    /// text stands in is written twice. Of a template's branches only one is there; which one ytt takes is not known.
    pub fn ambiguity(self, node: Node<'_>) -> Option<Reason> {
        if is_under_twice(node) && !self.is_of_branches(node) {
            let is_parted = is_parted(self.text, self.stream, node);
            return Some(if is_parted { Reason::NotFollowed } else { Reason::DuplicateKey });
        }
        self.outer.and_then(|o| o.place.ambiguity(o.node))
    }

    /// Tells whether a node is in one of several branches of a template that have one key.
    fn is_of_branches(self, node: Node<'_>) -> bool {
        self.outer.is_some() && is_under_twice(node) && branches(self.text)
    }

    /// Tells whether a scalar has a template action in it, so that its value is not known.
    pub fn is_covered(self, node: Node<'_>) -> bool {
        let node = node.resolved();
        let written = self.text.get(node.span()).unwrap_or_default();
        self.outer.is_some() && is_line(node) && written.contains("{{")
    }

    /// Returns where a node begins in the file, or where it is escaped there, the scalar around it.
    pub fn start_in_file(self, node: Node<'_>) -> usize {
        let start = node.span().start;
        self.in_file(start..start + 1).unwrap_or_else(|| self.outermost_start(node)).start
    }

    fn in_file(self, span: Range<usize>) -> Option<Range<usize>> {
        match self.outer {
            None => Some(span),
            Some(outer) => outer.place.in_file(outer.embedded.in_file(span)?),
        }
    }

    fn route(self, inner: Route) -> Route {
        match self.outer {
            None => inner,
            Some(outer) => {
                let mut route = outer.node.route();
                route.steps.push(Step::Text(Box::new(inner)));
                outer.place.route(route)
            }
        }
    }

    fn outermost_start(self, node: Node<'_>) -> Range<usize> {
        match self.outer {
            None => node.span(),
            Some(outer) => outer.place.outermost_start(outer.node),
        }
    }
}

fn is_line(node: Node<'_>) -> bool {
    !matches!(node.style(), Some(Style::Literal | Style::Folded))
}

/// Finds the bytes of a part of a scalar's value in the text; `None` where they are not there as they are read.
fn value_bytes(text: &str, node: Node<'_>, part: Range<usize>) -> Option<Range<usize>> {
    let span = node.span();
    let (source, value) = (text.get(span.clone())?, node.as_str()?);
    let start = match node.style()? {
        Style::Plain => (source == value).then_some(span.start)?,
        Style::SingleQuoted | Style::DoubleQuoted => {
            let inner = source.get(1..source.len().checked_sub(1)?)?;
            (inner == value).then_some(span.start + 1)?
        }
        Style::Literal | Style::Folded => return SourceMap::of(text, node)?.in_file(part),
    };
    Some(start + part.start..start + part.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        repo::{BlobId, RepoPath},
        yaml::Ceilings,
    };

    #[test]
    fn texts_in_texts_are_walked_so_deep_and_no_deeper() {
        fn depth(place: Place<'_>) -> usize {
            let text = place.stream.roots().find_map(|root| root.get("a"));
            text.and_then(|text| place.inside(text, depth)).map_or(0, |below| below + 1)
        }
        let put = |inner: String, _| format!("a: |\n{}", inner.replace("a: ", "  a: ").replace("v", "  v"));
        let nested = |levels| (0..levels).fold("a: v\n".to_owned(), put);
        let walked = |levels| {
            let path = RepoPath::new("a.yaml").unwrap();
            let text = nested(levels);
            depth(Place::of(&File::parse(path, BlobId([0; 20]), text, &Ceilings::default()).unwrap()))
        };
        assert_eq!([1, NESTED].map(walked), [2, NESTED]);
        assert_eq!(walked(50), NESTED);
    }
}

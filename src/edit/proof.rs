//! The proof behind each edit: the new text reads as the old one did, except where it was meant to change.

use std::{collections::BTreeMap, ops::Range};

use super::splice::{Shift, Splice, same_outside};
use crate::yaml::{Document, Node, Shape, Stream, Style};

/// A scalar as it must read after the edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// Its whole value.
    pub(super) value: String,
    /// How it is written.
    pub(super) style: Style,
}

/// What is to change in a stream: for document and node number, the scalar's new form.
pub(super) type Changes = BTreeMap<(usize, usize), Change>;

/// Compares two readings of a text, before and after its splices.
///
/// Documents, collections, scalars, styles, anchors, aliases and tags must be equal node by node, and every
/// span and comment must stand where the splices moved it to. The error says what differs.
pub(super) fn prove(
    old: (&str, &Stream),
    new: (&str, &Stream),
    splices: &[Splice],
    changes: &Changes,
) -> Result<(), &'static str> {
    if !same_outside(old.0, new.0, splices) {
        return Err("bytes outside the value differ");
    }
    let shift = Shift::new(splices);
    same_length(old.1.documents.len(), new.1.documents.len(), "the number of documents differs")?;
    let mut changed = 0;
    for (old, new) in old.1.documents.iter().zip(&new.1.documents) {
        changed += same_document(old, new, &shift, changes)?;
    }
    // A change at a place that no document has would be a change that nobody checked.
    same_length(changed, changes.len(), "a changed value is not found again")?;
    let comments = |stream: &Stream| stream.comments.len();
    same_length(comments(old.1), comments(new.1), "the number of comments differs")?;
    // A comment's text is its bytes, which are compared above; only where it begins and ends can differ.
    let moved = old.1.comments.iter().zip(&new.1.comments).all(|(o, n)| shift.range(&o.span) == n.span);
    if moved { Ok(()) } else { Err("a comment begins or ends elsewhere") }
}

/// Compares two documents and counts the scalars that have changed as intended.
fn same_document(
    old: &Document,
    new: &Document,
    shift: &Shift,
    changes: &Changes,
) -> Result<usize, &'static str> {
    let moved = |range: Option<Range<usize>>| range.map(|r| shift.range(&r));
    if moved(old.marker()) != new.marker() {
        return Err("a document begins elsewhere");
    }
    same_length(old.nodes().count(), new.nodes().count(), "the number of nodes differs")?;
    let mut changed = 0;
    let mut here = changes.range((old.index, 0)..(old.index + 1, 0)).peekable();
    for (old_node, new_node) in old.nodes().zip(new.nodes()) {
        let wanted = match here.next_if(|((_, number), _)| *number == old_node.number()) {
            Some((_, change)) => {
                changed += 1;
                Shape::Scalar(&change.value, change.style)
            }
            None => old_node.shape(),
        };
        if new_node.shape() != wanted {
            return Err("a value differs");
        }
        if shift.range(&old_node.span()) != new_node.span() {
            return Err("a value begins or ends elsewhere");
        }
        same_properties(old_node, new_node, |n| n)?;
    }
    Ok(changed)
}

/// An entry that is new in a mapping, with the mappings that are made around it.
#[derive(Clone, Debug)]
pub(super) struct Growth<'a> {
    /// The document that grows.
    pub(super) document: usize,
    /// The mapping that gets the entry, or the null that becomes a mapping.
    pub(super) parent: usize,
    /// Whether the parent was null.
    pub(super) was_null: bool,
    /// The number of the first new node behind the parent.
    pub(super) at: usize,
    /// The new keys, from the outermost.
    pub(super) keys: Vec<&'a str>,
    /// The value under the last one.
    pub(super) value: &'a str,
    /// Whether new mappings are in `{}`.
    pub(super) flow: bool,
}

/// Compares two readings of a text, before and after something was inserted into it.
pub(super) fn prove_grown(
    old: (&str, &Stream),
    new: (&str, &Stream),
    splice: &Splice,
    growth: &Growth<'_>,
) -> Result<(), &'static str> {
    let splices = std::slice::from_ref(splice);
    if !same_outside(old.0, new.0, splices) {
        return Err("bytes outside the new entry differ");
    }
    let shift = Shift::new(splices);
    same_length(old.1.documents.len(), new.1.documents.len(), "the number of documents differs")?;
    for (old, new) in old.1.documents.iter().zip(&new.1.documents) {
        match old.index == growth.document {
            true => grown_document(old, new, &shift, growth)?,
            false => drop(same_document(old, new, &shift, &Changes::new())?),
        }
    }
    same_length(old.1.comments.len(), new.1.comments.len(), "the number of comments differs")?;
    let moved = old.1.comments.iter().zip(&new.1.comments).all(|(o, n)| shift.range(&o.span) == n.span);
    if moved { Ok(()) } else { Err("a comment begins or ends elsewhere") }
}

fn grown_document(
    old: &Document,
    new: &Document,
    shift: &Shift,
    growth: &Growth<'_>,
) -> Result<(), &'static str> {
    if old.marker().map(|r| shift.range(&r)) != new.marker() {
        return Err("a document begins elsewhere");
    }
    let added = growth.keys.len() * 2;
    same_length(old.nodes().count() + added, new.nodes().count(), "the number of nodes differs")?;
    let new_nodes: Vec<_> = new.nodes().collect();
    for old_node in old.nodes() {
        let number = |n: usize| if n < growth.at { n } else { n + added };
        let Some(&new_node) = new_nodes.get(number(old_node.number())) else {
            return Err("a value is missing");
        };
        let becomes_mapping = growth.was_null && old_node.number() == growth.parent;
        if becomes_mapping {
            if new_node.shape() != (Shape::Mapping { flow: growth.flow }) {
                return Err("null has not become a mapping");
            }
        } else {
            if new_node.shape() != old_node.shape() {
                return Err("a value differs");
            }
            same_place(old_node, new_node, shift)?;
        }
        same_properties(old_node, new_node, number)?;
    }
    let mut parent = growth.parent;
    for (n, node) in new_nodes.iter().skip(growth.at).take(added).enumerate() {
        let last = n + 1 == added;
        let wanted = match (n % 2, node.shape()) {
            (0, Shape::Scalar(text, _)) => growth.keys.get(n / 2) == Some(&text) && node.is_key(),
            (1, Shape::Scalar(text, _)) => last && text == growth.value,
            (1, Shape::Mapping { flow }) => !last && flow == growth.flow,
            _ => false,
        };
        let bare = node.anchor().is_none() && node.tag().is_none();
        if !wanted || !bare || node.parent().map(Node::number) != Some(parent) {
            return Err("the new entry does not read as intended");
        }
        if n % 2 == 1 {
            parent = node.number();
        }
    }
    Ok(())
}

/// Compares spans as far as an insertion leaves them: collections grow, and so do blank lines behind a block.
fn same_place(old: Node<'_>, new: Node<'_>, shift: &Shift) -> Result<(), &'static str> {
    let (old_span, new_span) = (old.span(), new.span());
    let whole = matches!(
        old.shape(),
        Shape::Alias(_) | Shape::Scalar(_, Style::Plain | Style::SingleQuoted | Style::DoubleQuoted)
    );
    let same = match (whole, old_span.is_empty()) {
        // Where nothing is written, the parser's position depends on what follows.
        (_, true) => true,
        (true, false) => shift.range(&old_span) == new_span,
        // What is inserted before the first entry begins the mapping.
        (false, false) => [old_span.start, shift.start(old_span.start)].contains(&new_span.start),
    };
    if same { Ok(()) } else { Err("a value begins or ends elsewhere") }
}

fn same_properties(
    old: Node<'_>,
    new: Node<'_>,
    number: impl Fn(usize) -> usize,
) -> Result<(), &'static str> {
    let parent = |node: Node<'_>| node.parent().map(Node::number);
    if old.anchor() != new.anchor() || old.tag() != new.tag() {
        return Err("an anchor or a tag differs");
    }
    // Nodes come in document order, so their parents say all about their places, keys and values included.
    if parent(old).map(number) != parent(new) {
        return Err("a value is in another collection");
    }
    Ok(())
}

fn same_length(old: usize, new: usize, otherwise: &'static str) -> Result<(), &'static str> {
    if old == new { Ok(()) } else { Err(otherwise) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges a splice of `old` that is meant to make the scalar with that number read `value`.
    fn judge(old: &str, splice: (Range<usize>, &str), node: usize, value: &str) -> Result<(), &'static str> {
        let splices = [Splice { span: splice.0.clone(), with: splice.1.to_owned() }];
        let new = super::super::splice::spliced(old, &splices).unwrap();
        let (before, after) = (Stream::parse(old).unwrap(), Stream::parse(&new).unwrap());
        let changes = Changes::from([((0, node), Change { value: value.to_owned(), style: Style::Plain })]);
        prove((old, &before), (&new, &after), &splices, &changes)
    }

    #[test]
    fn only_the_intended_reading_passes() {
        assert_eq!(judge("a: b # c\n", (3..4, "x"), 2, "x"), Ok(()));
        assert_eq!(judge("a: b # c\n", (3..4, "x"), 2, "y"), Err("a value differs"));
        assert_eq!(judge("a: b # c\n", (3..4, "'x'"), 2, "x"), Err("a value differs"));
        assert_eq!(judge("a: b # c\n", (3..5, "x # "), 2, "x"), Err("a comment begins or ends elsewhere"));
        assert_eq!(judge("a: b\n", (3..4, "x # y"), 2, "x"), Err("a value begins or ends elsewhere"));
        assert_eq!(judge("a: b\n", (3..4, "{x: y}"), 2, "x"), Err("the number of nodes differs"));
        assert_eq!(judge("a: b\n", (3..4, "&x x"), 2, "x"), Err("a value begins or ends elsewhere"));
        assert_eq!(judge("a: b\n", (3..4, "x"), 9, "x"), Err("a value differs"));
        assert_eq!(judge("a: b\n---\nc\n", (5..8, "..."), 2, "b"), Err("a document begins elsewhere"));
    }

    #[test]
    fn a_value_that_was_not_to_change_is_seen() {
        assert_eq!(judge("a: b\nc: d\n", (3..8, "x\nc: "), 2, "x"), Ok(()));
        assert_eq!(judge("a: b\nc: d\n", (3..9, "x\nc: e"), 2, "x"), Err("a value differs"));
    }
}

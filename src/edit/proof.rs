//! The proof behind each edit: the new text reads as the old one did, except where it was meant to change.

use std::{collections::BTreeMap, ops::Range};

use super::{
    Refusal,
    splice::{Shift, Splice, same_outside, spliced},
};
use crate::yaml::{Document, Node, Shape, Stream, Style, YamlError};

/// An edit whose new text was read again and differs where it was meant to, and nowhere else. It is made in this file
/// alone, so that no edit leaves this step without its proof.
#[derive(Debug)]
pub(super) struct Proven {
    text: String,
    splices: Vec<Splice>,
}

/// How a text is read.
pub(super) type Parse = fn(&str) -> Result<Stream, YamlError>;

/// A scalar as it must read after the edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewScalar {
    /// Its whole value.
    pub(super) value: String,
    /// How it is written.
    pub(super) style: Style,
}

/// What is to change in a stream: for document and node number, the scalar's new form.
pub(super) type Changes = BTreeMap<(usize, usize), NewScalar>;

// === impl Proven ===

impl Proven {
    /// Returns the new text.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Returns the splices that made it.
    pub(super) fn into_splices(self) -> Vec<Splice> {
        self.splices
    }
}

/// Edits a text that need not be YAML: only the bytes can be compared.
pub(super) fn prove_bytes(old: &str, splices: Vec<Splice>) -> Result<Proven, Refusal> {
    let text = spliced(old, &splices).ok_or(Refusal::Overlap)?;
    match same_outside(old, &text, &splices) {
        true => Ok(Proven { text, splices }),
        false => Err(Refusal::NotProven("bytes outside the value differ")),
    }
}

/// Edits scalars, reads the new text and compares.
pub(super) fn prove(
    old: (&str, &Stream),
    splices: Vec<Splice>,
    changes: &Changes,
    parse: Parse,
) -> Result<Proven, Refusal> {
    let (text, read) = edited(old.0, &splices, parse)?;
    same_but_for(old, (&text, &read), &splices, changes).map_err(Refusal::NotProven)?;
    Ok(Proven { text, splices })
}

/// Inserts entries, reads the new text and compares. Growths are ordered by document and place, with a splice each.
pub(super) fn prove_grown(
    old: (&str, &Stream),
    splices: Vec<Splice>,
    growths: &[Growth<'_>],
) -> Result<Proven, Refusal> {
    let (text, read) = edited(old.0, &splices, Stream::parse)?;
    same_but_grown(old, (&text, &read), &splices, growths).map_err(Refusal::NotProven)?;
    Ok(Proven { text, splices })
}

fn edited(old: &str, splices: &[Splice], parse: Parse) -> Result<(String, Stream), Refusal> {
    let text = spliced(old, splices).ok_or(Refusal::Overlap)?;
    let read = parse(&text).map_err(|_| Refusal::NotProven("it would no longer be YAML"))?;
    Ok((text, read))
}

/// Compares two readings of a text, before and after its splices.
///
/// Documents, collections, scalars, styles, anchors, aliases and tags must be equal node by node, and every
/// span and comment must stand where the splices moved it to. The error says what differs.
fn same_but_for(
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

/// The numbers of nodes behind those that are new.
struct Renumbered {
    /// The first new node of each growth, and how many are new with it.
    added: Vec<(usize, usize)>,
}

/// Compares two readings of a text, before and after something was inserted into it.
fn same_but_grown(
    old: (&str, &Stream),
    new: (&str, &Stream),
    splices: &[Splice],
    growths: &[Growth<'_>],
) -> Result<(), &'static str> {
    if !same_outside(old.0, new.0, splices) {
        return Err("bytes outside the new entry differ");
    }
    let shift = Shift::new(splices);
    same_length(old.1.documents.len(), new.1.documents.len(), "the number of documents differs")?;
    for (old, new) in old.1.documents.iter().zip(&new.1.documents) {
        let from = growths.partition_point(|growth| growth.document < old.index);
        let to = growths.partition_point(|growth| growth.document <= old.index);
        match growths.get(from..to).unwrap_or_default() {
            [] => drop(same_document(old, new, &shift, &Changes::new())?),
            here => grown_document(old, new, &shift, here)?,
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
    growths: &[Growth<'_>],
) -> Result<(), &'static str> {
    if old.marker().map(|r| shift.range(&r)) != new.marker() {
        return Err("a document begins elsewhere");
    }
    let renumbered = Renumbered::of(growths)?;
    let number = |n: usize| renumbered.number(n);
    let old_length = old.nodes().count();
    same_length(number(old_length), new.nodes().count(), "the number of nodes differs")?;
    let new_nodes: Vec<_> = new.nodes().collect();
    let nulls: BTreeMap<usize, bool> =
        growths.iter().filter(|growth| growth.was_null).map(|growth| (growth.parent, growth.flow)).collect();
    for old_node in old.nodes() {
        let Some(&new_node) = new_nodes.get(number(old_node.number())) else {
            return Err("a value is missing");
        };
        if let Some(flow) = nulls.get(&old_node.number()) {
            if new_node.shape() != (Shape::Mapping { flow: *flow }) {
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
    let mut before = 0;
    for growth in growths {
        let own = new_nodes.get(growth.at + before..).unwrap_or_default();
        as_intended(growth, number(growth.parent), own)?;
        before += growth.added();
    }
    Ok(())
}

/// Checks the new nodes of an entry, below the node with the number of its parent.
fn as_intended(growth: &Growth<'_>, mut parent: usize, nodes: &[Node<'_>]) -> Result<(), &'static str> {
    for (n, node) in nodes.iter().take(growth.added()).enumerate() {
        let last = n + 1 == growth.added();
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

// === impl Growth ===

impl Growth<'_> {
    /// Returns how many nodes are new: keys and values.
    fn added(&self) -> usize {
        self.keys.len() * 2
    }
}

// === impl Renumbered ===

impl Renumbered {
    /// Takes growths of one document; two at one place cannot be told apart.
    fn of(growths: &[Growth<'_>]) -> Result<Self, &'static str> {
        let mut sum = 0;
        let mut added: Vec<(usize, usize)> = Vec::new();
        for growth in growths {
            if added.last().is_some_and(|(at, _)| *at >= growth.at) {
                return Err("two entries come at one place");
            }
            sum += growth.added();
            added.push((growth.at, sum));
        }
        Ok(Self { added })
    }

    /// Returns the number that a node of the old text has in the new one.
    fn number(&self, old: usize) -> usize {
        let before = self.added.partition_point(|(at, _)| *at <= old);
        old + before.checked_sub(1).and_then(|n| self.added.get(n)).map_or(0, |(_, sum)| *sum)
    }
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

    fn to(node: usize, value: &str) -> Changes {
        Changes::from([((0, node), NewScalar { value: value.to_owned(), style: Style::Plain })])
    }

    /// Judges a splice of `old` that is meant to make the scalar with that number read `value`.
    fn judge(old: &str, splice: (Range<usize>, &str), node: usize, value: &str) -> Result<(), &'static str> {
        let splices = [Splice { span: splice.0.clone(), with: splice.1.to_owned() }];
        let new = spliced(old, &splices).unwrap();
        let (before, after) = (Stream::parse(old).unwrap(), Stream::parse(&new).unwrap());
        same_but_for((old, &before), (&new, &after), &splices, &to(node, value))
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
        assert_eq!(judge("a: b\n", (3..4, "b"), 9, "b"), Err("a changed value is not found again"));
        assert_eq!(judge("a: b\n---\nc\n", (5..8, "..."), 2, "b"), Err("a document begins elsewhere"));
    }

    #[test]
    fn a_value_that_was_not_to_change_is_seen() {
        assert_eq!(judge("a: b\nc: d\n", (3..8, "x\nc: "), 2, "x"), Ok(()));
        assert_eq!(judge("a: b\nc: d\n", (3..9, "x\nc: e"), 2, "x"), Err("a value differs"));
    }

    #[test]
    fn bytes_that_no_reader_sees_are_compared_too() {
        let (old, new) = ("a: b # c\n", "a: x # d\n");
        let (before, after) = (Stream::parse(old).unwrap(), Stream::parse(new).unwrap());
        let splices = [Splice { span: 3..4, with: "x".to_owned() }];
        let judged = same_but_for((old, &before), (new, &after), &splices, &to(2, "x"));
        assert_eq!(judged, Err("bytes outside the value differ"));
    }

    fn refused(result: Result<Proven, Refusal>) -> &'static str {
        match result {
            Err(Refusal::NotProven(what)) => what,
            other => panic!("{other:?}"),
        }
    }

    /// A reader that takes another value of the edited text for something else, as a defect of ours would show.
    fn misreading(text: &str) -> Result<Stream, YamlError> {
        Stream::parse(&text.replace("keep", "lost"))
    }

    #[test]
    fn an_edit_that_is_read_otherwise_is_none() {
        let text = "a: b\nc: keep\n";
        let before = Stream::parse(text).unwrap();
        let splices = || vec![Splice { span: 3..4, with: "x".to_owned() }];
        let proven = prove((text, &before), splices(), &to(2, "x"), Stream::parse).unwrap();
        assert_eq!(proven.into_text(), "a: x\nc: keep\n");
        assert_eq!(refused(prove((text, &before), splices(), &to(2, "x"), misreading)), "a value differs");
        assert_eq!(refused(prove((text, &before), splices(), &to(2, "y"), Stream::parse)), "a value differs");
        let broken = vec![Splice { span: 3..4, with: "[".to_owned() }];
        assert_eq!(
            refused(prove((text, &before), broken, &to(2, "["), Stream::parse)),
            "it would no longer be YAML"
        );
    }

    #[test]
    fn an_entry_that_is_read_otherwise_is_none() {
        let text = "a: b\n";
        let before = Stream::parse(text).unwrap();
        let growth = |value| Growth {
            document: 0,
            parent: 0,
            was_null: false,
            at: 3,
            keys: vec!["c"],
            value,
            flow: false,
        };
        let splice = |with: &str| Splice { span: 5..5, with: with.to_owned() };
        let grown = |with, value| prove_grown((text, &before), vec![splice(with)], &[growth(value)]);
        assert_eq!(grown("c: d\n", "d").unwrap().into_text(), "a: b\nc: d\n");
        assert_eq!(refused(grown("c: d\n", "e")), "the new entry does not read as intended");
        assert_eq!(refused(grown("c: &x d\n", "d")), "the new entry does not read as intended");
        assert_eq!(refused(grown("c: d # e\n", "d")), "the number of comments differs");
        assert_eq!(refused(grown("c: [\n", "[")), "it would no longer be YAML");
    }
}

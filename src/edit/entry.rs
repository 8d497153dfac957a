//! How a new entry may be written into a mapping: the places for it, the likeliest first.

use super::{
    scalar::{escaped, is_json},
    splice::Splice,
};
use crate::yaml::{Node, Shape, Style, core};

/// Places that are tried before an insertion is given up; each costs a parse.
const CANDIDATES: usize = 8;

/// A new entry.
pub(super) struct Entry<'a> {
    /// The missing keys, from the outermost.
    pub(super) keys: &'a [&'a str],
    /// The value under the last one.
    pub(super) value: &'a str,
}

/// A way to write it, to be proven.
pub(super) struct Candidate {
    pub(super) splice: Splice,
    /// The number that the first new node gets.
    pub(super) at: usize,
    /// Whether new mappings are in `{}`.
    pub(super) flow: bool,
}

/// How the entries of a flow mapping are written.
struct FlowForm {
    colon: String,
    /// What stands between two entries.
    comma: String,
    quotes: bool,
}

/// Tells whether a node is null, and so may become a mapping.
pub(super) fn is_null(node: Node<'_>) -> bool {
    let null = matches!(node.shape(), Shape::Scalar("" | "~" | "null" | "Null" | "NULL", Style::Plain));
    null && node.tag().is_none() && !node.has_anchor()
}

/// Lists the places for an entry in a mapping, or in a null that becomes one.
pub(super) fn candidates(text: &str, node: Node<'_>, entry: &Entry<'_>) -> Vec<Candidate> {
    match node.shape() {
        Shape::Mapping { flow: true } => in_flow(text, node, entry).into_iter().collect(),
        Shape::Mapping { flow: false } => in_block(text, node, entry),
        _ if node.is_absent() => below_key(text, node, entry).into_iter().collect(),
        _ => {
            let form = FlowForm { colon: ": ".into(), comma: String::new(), quotes: is_json(text) };
            let with = format!("{{{}}}", entry.in_flow(&form));
            let splice = Splice { span: node.span(), with };
            vec![Candidate { splice, at: node.number() + 1, flow: true }]
        }
    }
}

/// In a block mapping: behind its last entry, or an earlier one where that cannot be, or before the first.
fn in_block(text: &str, node: Node<'_>, entry: &Entry<'_>) -> Vec<Candidate> {
    let indent = column(text, node.span().start);
    let step = step(text, node);
    let eol = line_ending(text, node.span().start);
    let lines = entry.in_block(indent, step, eol);
    let mut found = Vec::new();
    let entries: Vec<_> = node.entries().collect();
    for (key, value) in entries.iter().rev().take(CANDIDATES) {
        let at = behind(*value);
        if let Some(end) = written_end(text, *key, *value) {
            let end = line_end(text, end);
            let splice = Splice { span: end..end, with: format!("{eol}{lines}") };
            found.push(Candidate { splice, at, flow: false });
        }
        // Blank lines at the end of a block scalar can belong to it; then the place is behind them.
        let end = value.span().end;
        if text.get(..end).is_some_and(|t| t.ends_with('\n')) {
            let splice = Splice { span: end..end, with: format!("{lines}{eol}") };
            found.push(Candidate { splice, at, flow: false });
        }
    }
    let start = node.span().start;
    let with = format!("{}{eol}{:indent$}", lines.trim_start(), "");
    let splice = Splice { span: start..start, with };
    found.push(Candidate { splice, at: node.number() + 1, flow: false });
    found
}

/// Below a key that has no value.
fn below_key(text: &str, node: Node<'_>, entry: &Entry<'_>) -> Option<Candidate> {
    let (key, parent) = (node.key()?, node.parent()?);
    if parent.is_flow() {
        return None;
    }
    let indent = column(text, parent.span().start) + step(text, parent);
    let eol = line_ending(text, key.span().start);
    let end = line_end(text, key.span().end);
    let with = format!("{eol}{}", entry.in_block(indent, step(text, parent), eol));
    let splice = Splice { span: end..end, with };
    Some(Candidate { splice, at: node.number() + 1, flow: false })
}

/// In `{}`: alone, or behind the last entry and written as the others are.
fn in_flow(text: &str, node: Node<'_>, entry: &Entry<'_>) -> Option<Candidate> {
    let entries: Vec<_> = node.entries().collect();
    let (at, place, before) = match entries.last() {
        None => (node.number() + 1, node.span().start + 1, false),
        Some((_, value)) if value.is_absent() => return None,
        Some((_, value)) => (behind(*value), value.span().end, true),
    };
    let form = FlowForm::of(text, node, &entries);
    let with = format!("{}{}", if before { &*form.comma } else { "" }, entry.in_flow(&form));
    Some(Candidate { splice: Splice { span: place..place, with }, at, flow: true })
}

// === impl FlowForm ===

impl FlowForm {
    fn of(text: &str, node: Node<'_>, entries: &[(Node<'_>, Node<'_>)]) -> Self {
        let between = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
        let blank = |t: &str| t.trim_matches([' ', '\t', '\r', '\n']).is_empty();
        let first = entries.first();
        let quotes = first.map_or_else(|| is_json(text), |(key, _)| key.style() == Some(Style::DoubleQuoted));
        let colon = first.map(|(key, value)| between(key.span().end, value.span().start));
        let colon = colon.filter(|c| c.trim_matches(' ') == ":" && (quotes || c.ends_with(' ')));
        let comma = match entries {
            [.., (_, value), (key, _)] => {
                let gap = between(value.span().end, key.span().start);
                gap.trim_start().strip_prefix(',').filter(|rest| blank(rest)).map(|_| gap.to_owned())
            }
            [(key, _)] => {
                let lead = between(node.span().start + 1, key.span().start);
                (blank(lead) && lead.contains('\n')).then(|| format!(",{lead}"))
            }
            [] => None,
        };
        let default = if colon == Some(":") { "," } else { ", " };
        Self {
            colon: colon.unwrap_or(": ").to_owned(),
            comma: comma.unwrap_or_else(|| default.to_owned()),
            quotes,
        }
    }
}

// === impl Entry ===

impl Entry<'_> {
    fn in_block(&self, indent: usize, step: usize, eol: &str) -> String {
        let mut out = String::new();
        for (n, key) in self.keys.iter().enumerate() {
            let end = if n + 1 == self.keys.len() { " " } else { eol };
            out.push_str(&format!("{:1$}{2}:{end}", "", indent + n * step, text_scalar(key, false)));
        }
        out + &text_scalar(self.value, false)
    }

    fn in_flow(&self, form: &FlowForm) -> String {
        let value = text_scalar(self.value, form.quotes);
        let keys = self.keys.iter().rev().enumerate();
        keys.fold(value, |inner, (n, key)| {
            let entry = format!("{}{}", text_scalar(key, form.quotes), form.colon);
            if n == 0 { entry + &inner } else { format!("{entry}{{{inner}}}") }
        })
    }
}

/// Writes text so that YAML reads it as text.
fn text_scalar(text: &str, quotes: bool) -> String {
    match core::is_plain_text(text) && !quotes {
        true => text.to_owned(),
        false => format!("\"{}\"", escaped(text, Style::DoubleQuoted)),
    }
}

/// Returns the number behind the last node inside this one.
fn behind(node: Node<'_>) -> usize {
    let inside =
        |n: &Node<'_>| std::iter::successors(Some(*n), |n| n.parent()).any(|n| n.number() == node.number());
    node.document().nodes().skip(node.number() + 1).take_while(inside).count() + node.number() + 1
}

/// Returns the end of what is written of an entry; of an item of a list where key and value are the same node.
pub fn written_end(text: &str, key: Node<'_>, value: Node<'_>) -> Option<usize> {
    let span = value.span();
    match value.shape() {
        Shape::Mapping { flow: false } => value.entries().last().and_then(|(k, v)| written_end(text, k, v)),
        Shape::Sequence { flow: false } => value.items().last().and_then(|v| written_end(text, v, v)),
        Shape::Scalar(_, Style::Literal | Style::Folded) => {
            Some(text.get(..span.end)?.trim_end_matches([' ', '\t', '\r', '\n']).len())
        }
        _ if value.is_absent() => Some(key.span().end),
        _ => Some(span.end),
    }
}

/// Returns how many spaces a mapping is deeper than the one around it.
fn step(text: &str, node: Node<'_>) -> usize {
    let mappings = std::iter::successors(Some(node), |n| n.parent()).filter(|n| n.is_mapping());
    let mut columns = mappings.map(|n| column(text, n.span().start));
    let own = columns.next().unwrap_or_default();
    columns.next().and_then(|outer| own.checked_sub(outer)).filter(|n| (1..=8).contains(n)).unwrap_or(2)
}

fn column(text: &str, byte: usize) -> usize {
    crate::yaml::position(text, byte).1 - 1
}

fn line_end(text: &str, byte: usize) -> usize {
    let rest = text.as_bytes().get(byte..).unwrap_or_default();
    memchr::memchr2(b'\n', b'\r', rest).map_or(text.len(), |n| byte + n)
}

/// Returns how the line at a position ends, or the one before it where that is the last.
fn line_ending(text: &str, byte: usize) -> &'static str {
    let end = line_end(text, byte);
    let this = text.get(end..).filter(|t| !t.is_empty());
    let before = || text.get(text.get(..byte)?.rfind('\n')?.checked_sub(1)?..);
    match this.or_else(before) {
        Some(t) if t.starts_with("\r\n") => "\r\n",
        _ => "\n",
    }
}

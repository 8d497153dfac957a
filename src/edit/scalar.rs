//! How a changed value is written: in the style that was there, with quotes only where YAML needs them.

use std::ops::Range;

use super::{Refusal, proof::NewScalar, splice::Splice};
use crate::yaml::{Node, Shape, SourceMap, Style, core};

/// A part of a scalar's value and what comes in its place.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The bytes of the value.
    pub(super) value: Range<usize>,
    /// The new text.
    pub(super) with: String,
}

/// Writes new pieces into a scalar of `text`: the splices, and how the scalar must read then. `json` says whether the
/// text is JSON; it is asked only where that matters, for it takes a parse.
pub(super) fn write(
    text: &str,
    node: Node<'_>,
    map: Option<&SourceMap>,
    pieces: &[Piece],
    json: &dyn Fn() -> bool,
) -> Result<(Vec<Splice>, NewScalar), Refusal> {
    let Shape::Scalar(old, style) = node.shape() else {
        return Err(Refusal::Written("it is no scalar"));
    };
    let value = patched(old, pieces).ok_or(Refusal::Overlap)?;
    if style == Style::Plain && old != value && (!stays_plain(old, &value, pieces) || json()) {
        return quoted(text, node, value);
    }
    let place = |piece: &Piece| match content(node) {
        Some(content) if piece.value == (0..old.len()) => Some(content),
        _ => map?.in_file(piece.value.clone()),
    };
    let splice = |piece: &Piece| {
        let span = place(piece).ok_or(Refusal::Written("it stands across a fold or an escape"))?;
        let mut with = escaped(&piece.with, style);
        if with.contains('\n') && content(node).is_none() {
            let line = old.get(..piece.value.start).and_then(|t| t.rfind('\n')).map_or(0, |n| n + 1);
            let content = map.and_then(|m| m.in_file(line..line)).map_or(span.start, |r| r.start);
            with = with.replace('\n', &line_start(text, content));
        }
        Ok(Splice { span, with })
    };
    let splices = pieces.iter().map(splice).collect::<Result<Vec<_>, Refusal>>()?;
    Ok((splices, NewScalar { value, style }))
}

/// Returns the bytes inside the quotes, or of a plain scalar; `None` for a block scalar.
pub(super) fn content(node: Node<'_>) -> Option<Range<usize>> {
    let span = node.span();
    match node.style()? {
        Style::Plain => Some(span),
        Style::SingleQuoted | Style::DoubleQuoted => (span.len() >= 2).then(|| span.start + 1..span.end - 1),
        Style::Literal | Style::Folded => None,
    }
}

/// Returns the line break and indentation of the line whose content begins at a position.
fn line_start(text: &str, content: usize) -> String {
    let before = text.get(..content).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |n| n + 1);
    let (above, indent) = before.split_at(start);
    format!("{}{indent}", if above.ends_with("\r\n") { "\r\n" } else { "\n" })
}

/// Tells whether a plain scalar needs no quotes after the change.
fn stays_plain(old: &str, new: &str, pieces: &[Piece]) -> bool {
    match pieces {
        [piece] if piece.value == (0..old.len()) => core::is_plain_text(new) || changed_plainly(old, new),
        _ => pieces.iter().all(|p| core::is_plain_piece(&p.with)) && !core::is_typed(new),
    }
}

/// Tells whether a plain scalar that needs no quotes is changed only in a part that needs none either.
fn changed_plainly(old: &str, new: &str) -> bool {
    let same = |(a, b): &(char, char)| a == b;
    let start: usize = old.chars().zip(new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let ends = old[start..].chars().rev().zip(new[start..].chars().rev());
    let end: usize = ends.take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let middle = &new[start..new.len() - end];
    let begins = start > 0 || middle.starts_with(|c: char| c.is_ascii_alphanumeric());
    let ends = end > 0 || middle.ends_with(|c: char| c.is_ascii_alphanumeric());
    begins && ends && !middle.contains(':') && core::is_plain_piece(middle) && !core::is_typed(new)
}

/// Tells whether a text is JSON, where every string has quotes.
pub(super) fn is_json(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '['])
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Writes a whole plain scalar anew in double quotes, which JSON knows too.
fn quoted(text: &str, node: Node<'_>, value: String) -> Result<(Vec<Splice>, NewScalar), Refusal> {
    let span = node.span();
    if text.get(span.clone()).is_none_or(|t| t.contains(['\r', '\n'])) {
        return Err(Refusal::Written("it needs quotes and stands on several lines"));
    }
    let with = format!("\"{}\"", escaped(&value, Style::DoubleQuoted));
    Ok((vec![Splice { span, with }], NewScalar { value, style: Style::DoubleQuoted }))
}

fn patched(old: &str, pieces: &[Piece]) -> Option<String> {
    let splices: Vec<_> =
        pieces.iter().map(|p| Splice { span: p.value.clone(), with: p.with.clone() }).collect();
    super::splice::spliced(old, &splices)
}

/// Writes text as it stands inside a scalar of that style.
pub(super) fn escaped(text: &str, style: Style) -> String {
    match style {
        Style::Plain | Style::Literal | Style::Folded => text.to_owned(),
        Style::SingleQuoted => text.replace('\'', "''"),
        Style::DoubleQuoted => text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
                c => out.push(c),
            }
            out
        }),
    }
}

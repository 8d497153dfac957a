//! How a changed value is written: in the style that was there, with quotes only where YAML needs them.

use std::ops::Range;

use super::{Refusal, proof::Change, splice::Splice};
use crate::yaml::{Node, Shape, SourceMap, Style, core};

/// A part of a scalar's value and what comes in its place.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The bytes of the value.
    pub(super) value: Range<usize>,
    /// The new text.
    pub(super) with: String,
}

/// Writes new pieces into a scalar of `text`: the splices, and how the scalar must read then.
pub(super) fn write(
    text: &str,
    node: Node<'_>,
    map: Option<&SourceMap>,
    pieces: &[Piece],
) -> Result<(Vec<Splice>, Change), Refusal> {
    let Shape::Scalar(old, style) = node.shape() else {
        return Err(Refusal::Written("it is no scalar"));
    };
    let value = patched(old, pieces).ok_or(Refusal::Overlap)?;
    if style == Style::Plain && !stays_plain(old, &value, pieces) {
        return quoted(text, node, value);
    }
    let place = |piece: &Piece| match content(node) {
        Some(content) if piece.value == (0..old.len()) => Some(content),
        _ => map?.in_file(piece.value.clone()),
    };
    let splice = |piece: &Piece| {
        let span = place(piece).ok_or(Refusal::Written("it stands across a fold or an escape"))?;
        Ok(Splice { span, with: escaped(&piece.with, style) })
    };
    let splices = pieces.iter().map(splice).collect::<Result<Vec<_>, Refusal>>()?;
    Ok((splices, Change { value, style }))
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

/// Tells whether a plain scalar needs no quotes after the change.
fn stays_plain(old: &str, new: &str, pieces: &[Piece]) -> bool {
    match pieces {
        [piece] if piece.value == (0..old.len()) => core::is_plain_text(new),
        _ => pieces.iter().all(|p| core::is_plain_piece(&p.with)) && !core::is_typed(new),
    }
}

/// Writes a whole plain scalar anew in double quotes, which JSON knows too.
fn quoted(text: &str, node: Node<'_>, value: String) -> Result<(Vec<Splice>, Change), Refusal> {
    let span = node.span();
    if text.get(span.clone()).is_none_or(|t| t.contains(['\r', '\n'])) {
        return Err(Refusal::Written("it needs quotes and stands on several lines"));
    }
    let with = format!("\"{}\"", escaped(&value, Style::DoubleQuoted));
    Ok((vec![Splice { span, with }], Change { value, style: Style::DoubleQuoted }))
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

//! YAML inside a scalar: Argo's `helm.values`, a kustomize inline patch.
//!
//! A literal block scalar is parsed as a text of its own; each of its bytes is mapped back to the file.

use std::ops::Range;

use super::{Node, Stream, Style, YamlError};

/// The text of a scalar, parsed, with the way back to the file's bytes.
#[derive(Clone, Debug)]
pub struct Embedded {
    /// The scalar's text.
    pub text: String,
    /// The text, parsed.
    pub stream: Stream,
    /// For each line of the text: where it begins in the text and in the file.
    lines: Vec<(usize, usize)>,
    /// Whether each line of the text stands in the file byte for byte.
    exact: bool,
}

// === impl Embedded ===

impl Embedded {
    /// Parses the text of a scalar in `file`; `None` where the node is no scalar.
    pub fn parse(file: &str, node: Node<'_>) -> Option<Result<Self, YamlError>> {
        let node = node.resolved();
        let text = node.as_str()?.to_owned();
        let lines = line_map(file, node, &text);
        Some(Stream::parse(&text).map(|stream| {
            let exact = lines.is_some();
            Self { text, stream, lines: lines.unwrap_or_default(), exact }
        }))
    }

    /// Maps bytes of the scalar's text to bytes of the file; `None` where they do not stand there as they are
    /// (folded, or quoted with escapes), so that an edit there is refused.
    pub fn in_file(&self, span: Range<usize>) -> Option<Range<usize>> {
        if !self.exact {
            return None;
        }
        let line = self.lines.partition_point(|(text, _)| *text <= span.start).checked_sub(1)?;
        let (text, file) = self.lines[line];
        if self.lines.get(line + 1).is_some_and(|(next, _)| span.end > *next) {
            return None;
        }
        Some(file + (span.start - text)..file + (span.end - text))
    }
}

fn line_map(file: &str, node: Node<'_>, text: &str) -> Option<Vec<(usize, usize)>> {
    let span = node.span();
    let source = file.get(span.clone())?;
    match node.style()? {
        Style::Plain => (source == text).then(|| vec![(0, span.start)]),
        Style::SingleQuoted | Style::DoubleQuoted => {
            let inner = source.get(1..source.len().checked_sub(1)?)?;
            (inner == text).then(|| vec![(0, span.start + 1)])
        }
        Style::Literal => literal_lines(file, span.start, text),
        Style::Folded => None,
    }
}

/// Pairs the lines of a literal block scalar with the file's lines below its header.
fn literal_lines(file: &str, start: usize, text: &str) -> Option<Vec<(usize, usize)>> {
    // The node's span may begin at `|` or at the first line's content, as the parser reports it.
    let mut at = match file[start..].starts_with('|') {
        true => start + memchr::memchr(b'\n', &file.as_bytes()[start..])? + 1,
        false => file[..start].rfind('\n').map_or(0, |n| n + 1),
    };
    let indent = first_indent(&file[at..], text)?;
    let mut lines = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches('\n');
        let rest = &file[at..];
        let end = rest.find('\n').unwrap_or(rest.len());
        let source = rest[..end].trim_end_matches('\r');
        if content.is_empty() {
            lines.push((offset, at + source.len().min(indent)));
        } else if source.get(indent..) == Some(content) {
            lines.push((offset, at + indent));
        } else {
            return None;
        }
        at += end + 1;
        offset += line.len();
        if at > file.len() {
            break;
        }
    }
    Some(lines)
}

fn first_indent(source: &str, text: &str) -> Option<usize> {
    let content = text.lines().find(|l| !l.trim().is_empty())?;
    let line = source.lines().find(|l| !l.trim().is_empty())?;
    line.strip_suffix(content).map(str::len)
}

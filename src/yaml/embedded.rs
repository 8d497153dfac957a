//! YAML inside a scalar: Argo's `helm.values`, a kustomize inline patch, a Helm values string in JSON.
//!
//! The scalar's value is parsed as a text of its own; its bytes are mapped back to the file. Such a text may be a
//! template (an ApplicationSet's values): its actions are not evaluated, they are covered, byte for byte.

use std::ops::Range;

use super::{Node, SourceMap, Stream, YamlError};

/// The text of a scalar, parsed, with the way back to the file's bytes.
#[derive(Clone, Debug)]
pub struct Embedded {
    /// The scalar's text.
    pub text: String,
    /// The text, parsed.
    pub stream: Stream,
    map: Option<SourceMap>,
}

// === impl Embedded ===

impl Embedded {
    /// Parses the text of a scalar in `file`; `None` where the node is no scalar.
    pub fn parse(file: &str, node: Node<'_>) -> Option<Result<Self, YamlError>> {
        let node = node.resolved();
        let text = node.as_str()?.to_owned();
        let map = SourceMap::of(file, node);
        Some(parse_covered(&text).map(|stream| Self { text, stream, map }))
    }

    /// Maps bytes of the scalar's text to bytes of the file; `None` where they do not stand there as they are
    /// (over a fold or an escape), so that an edit there is refused.
    pub fn in_file(&self, span: Range<usize>) -> Option<Range<usize>> {
        self.map.as_ref()?.in_file(span)
    }
}

/// Parses a text whose template actions (`{{ .x }}`) are covered, so that what stands around them can be read.
pub fn parse_covered(text: &str) -> Result<Stream, YamlError> {
    match text.contains("{{") {
        true => Stream::parse(&covered(text)),
        false => Stream::parse(text),
    }
}

/// Replaces each action that ends on its line by a word of as many bytes; a line that is one action and nothing
/// else becomes a comment, since its result is not known.
fn covered(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let alone = line.trim();
        let alone =
            alone.strip_prefix("{{").and_then(|l| l.strip_suffix("}}")).is_some_and(|l| !l.contains("}}"));
        let mut first = alone;
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((inner, behind)) = after.split_once("}}") else { break };
            out.push_str(before);
            out.push(if std::mem::take(&mut first) { '#' } else { '_' });
            out.extend(std::iter::repeat_n('_', inner.len() + 3));
            rest = behind;
        }
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_around_actions_is_read() {
        let text = "{{- if .on }}\na: {{ .x }}\nb: '{{y}}' # {{ z\n{{- end }}\nc: d\n";
        let stream = parse_covered(text).unwrap();
        assert_eq!(covered(text).len(), text.len());
        let root = stream.roots().next().unwrap();
        assert_eq!(root.text(&["c"]), Some("d"));
        assert_eq!(root.get("c").map(|n| n.span()), text.find('d').map(|_| text.len() - 2..text.len() - 1));
    }
}

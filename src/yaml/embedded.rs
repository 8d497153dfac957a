//! YAML inside a scalar: Argo's `helm.values`, a kustomize inline patch, a Helm values string in JSON.
//!
//! The scalar's value is parsed as a text of its own; its bytes are mapped back to the file.

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
        Some(Stream::parse(&text).map(|stream| Self { text, stream, map }))
    }

    /// Maps bytes of the scalar's text to bytes of the file; `None` where they do not stand there as they are
    /// (over a fold or an escape), so that an edit there is refused.
    pub fn in_file(&self, span: Range<usize>) -> Option<Range<usize>> {
        self.map.as_ref()?.in_file(span)
    }
}

//! From parser events to the arena, under ceilings.

use std::{collections::HashMap, ops::Range};

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle};

use super::{Comment, Document, NodeId, RawKind, RawNode, Stream, Style};

/// What a text may cost before it is refused.
#[derive(Clone, Copy, Debug)]
pub struct Ceilings {
    /// Bytes of text.
    pub bytes: usize,
    /// Documents in a stream.
    pub documents: usize,
    /// Nodes over all documents, aliases not expanded.
    pub nodes: usize,
    /// Nested collections.
    pub depth: usize,
}

/// Text that cannot be read as YAML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// The text is not YAML; its author can mend it.
    #[error("line {line}, column {column}: {reason}")]
    Syntax {
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
        /// The parser's words.
        reason: String,
    },
    /// The text is over a ceiling.
    #[error("more than {limit} {what}")]
    TooLarge {
        /// What is counted.
        what: &'static str,
        /// The ceiling.
        limit: usize,
    },
}

impl Default for Ceilings {
    fn default() -> Self {
        Self { bytes: 16 << 20, documents: 10_000, nodes: 2_000_000, depth: 200 }
    }
}

struct Builder<'c> {
    ceilings: &'c Ceilings,
    stream: Stream,
    document: Document,
    open: Vec<Open>,
    count: usize,
}

/// A collection whose end has not been seen.
struct Open {
    id: NodeId,
    key: Option<NodeId>,
}

/// Parses text into a stream.
pub(super) fn parse(text: &str, ceilings: &Ceilings) -> Result<Stream, YamlError> {
    if text.len() > ceilings.bytes {
        return Err(YamlError::TooLarge { what: "bytes", limit: ceilings.bytes });
    }
    let mut builder = Builder::new(ceilings);
    let options = granit_parser::options! {
        flow_nesting_limit: ceilings.depth,
        block_nesting_limit: ceilings.depth,
        max_buffered_comment_events: 100_000,
    };
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(|e| YamlError::Syntax {
            line: e.marker().line(),
            column: e.marker().col() + 1,
            reason: e.info().to_string(),
        })?;
        builder.event(event, &span, text)?;
    }
    Ok(builder.stream)
}

impl<'c> Builder<'c> {
    fn new(ceilings: &'c Ceilings) -> Self {
        let stream = Stream { documents: Vec::new(), comments: Vec::new() };
        Self { ceilings, stream, document: Document::empty(0), open: Vec::new(), count: 0 }
    }

    fn event(&mut self, event: Event<'_>, span: &Span, text: &str) -> Result<(), YamlError> {
        let bytes = span.byte_range().unwrap_or(0..0);
        match event {
            Event::DocumentStart(..) => {
                if self.stream.documents.len() >= self.ceilings.documents {
                    return Err(YamlError::TooLarge { what: "documents", limit: self.ceilings.documents });
                }
                self.document = Document::empty(self.stream.documents.len());
            }
            Event::DocumentEnd => {
                let next = Document::empty(0);
                self.stream.documents.push(std::mem::replace(&mut self.document, next));
            }
            Event::Comment(text, _) => {
                self.stream.comments.push(Comment { span: bytes, text: text.into_owned() });
            }
            Event::Scalar(value, style, anchor, tag) => {
                let style = style_of(style);
                let kind = RawKind::Scalar { value: value.into_owned(), style };
                let span = trimmed(bytes, style, text);
                self.node(kind, span, anchor, tag.map(|t| t.to_string()))?;
            }
            Event::SequenceStart(style, anchor, tag) => {
                let kind = RawKind::Sequence { items: Vec::new(), flow: style == StructureStyle::Flow };
                let id = self.node(kind, bytes, anchor, tag.map(|t| t.to_string()))?;
                self.open.push(Open { id, key: None });
            }
            Event::MappingStart(style, anchor, tag) => {
                let kind = RawKind::Mapping { entries: Vec::new(), flow: style == StructureStyle::Flow };
                let id = self.node(kind, bytes, anchor, tag.map(|t| t.to_string()))?;
                self.open.push(Open { id, key: None });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(open) = self.open.pop() {
                    self.document.nodes[open.id.0 as usize].span.end = bytes.end;
                }
            }
            Event::Alias(to) => {
                self.node(RawKind::Alias(to), bytes, 0, None)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn node(
        &mut self,
        kind: RawKind,
        span: Range<usize>,
        anchor: usize,
        tag: Option<String>,
    ) -> Result<NodeId, YamlError> {
        self.count += 1;
        if self.count > self.ceilings.nodes {
            return Err(YamlError::TooLarge { what: "nodes", limit: self.ceilings.nodes });
        }
        let id = NodeId(self.document.nodes.len() as u32);
        let parent = self.open.last().map(|o| o.id);
        let anchor = (anchor != 0).then_some(anchor);
        self.document.nodes.push(RawNode { kind, span, anchor, tag, parent });
        if let Some(anchor) = anchor {
            self.document.anchors.insert(anchor, id);
        }
        match self.open.last_mut() {
            None => self.document.root = Some(id),
            Some(open) => attach(&mut self.document.nodes[open.id.0 as usize].kind, &mut open.key, id),
        }
        Ok(id)
    }
}

impl Document {
    fn empty(index: usize) -> Self {
        Self { index, nodes: Vec::new(), anchors: HashMap::new(), root: None }
    }
}

fn attach(parent: &mut RawKind, key: &mut Option<NodeId>, id: NodeId) {
    match parent {
        RawKind::Sequence { items, .. } => items.push(id),
        RawKind::Mapping { entries, .. } => match key.take() {
            None => *key = Some(id),
            Some(key) => entries.push((key, id)),
        },
        RawKind::Scalar { .. } | RawKind::Alias(_) => {}
    }
}

/// Cuts what the parser counts to a plain scalar beyond its last character.
fn trimmed(span: Range<usize>, style: Style, text: &str) -> Range<usize> {
    match (style, text.get(span.clone())) {
        (Style::Plain, Some(source)) => span.start..span.start + source.trim_end().len(),
        _ => span,
    }
}

fn style_of(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::SingleQuoted => Style::SingleQuoted,
        ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
        ScalarStyle::Literal => Style::Literal,
        ScalarStyle::Folded => Style::Folded,
        _ => Style::Plain,
    }
}

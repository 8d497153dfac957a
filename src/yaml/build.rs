//! From parser events to the arena, under ceilings.

use std::{
    borrow::Cow,
    collections::HashMap,
    ops::Range,
    sync::{Arc, OnceLock},
};

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle, Tag};

use super::{Comment, Document, NodeId, RawKind, RawNode, Stream, Style, Value};

/// What a text may cost before it is refused.
#[derive(Clone, Copy, Debug)]
pub struct Ceilings {
    /// Bytes of text.
    pub bytes: usize,
    /// Documents in a stream.
    pub documents: usize,
    /// Nodes over all documents; an alias counts as what it stands for.
    pub nodes: usize,
    /// Nested collections.
    pub depth: usize,
}

/// Text that cannot be read as YAML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// The text is not YAML; its author can fix it.
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
    text: Arc<str>,
    stream: Stream,
    document: Document,
    open: Vec<Open>,
    count: usize,
    /// What each anchor of the document stands for, in nodes.
    weights: HashMap<usize, usize>,
    /// Where the last event that is no comment ended.
    end: usize,
}

/// A collection whose end has not been seen.
struct Open {
    id: NodeId,
    key: Option<NodeId>,
    /// The count of nodes before it.
    before: usize,
}

/// What stands before a node's content.
struct Properties {
    anchor: usize,
    tag: Option<Box<str>>,
}

/// Parses text into a stream.
pub(super) fn parse(text: &str, ceilings: &Ceilings) -> Result<Stream, YamlError> {
    if text.len() > ceilings.bytes {
        return Err(YamlError::TooLarge { what: "bytes", limit: ceilings.bytes });
    }
    let mut builder = Builder::new(text, ceilings);
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
        builder.event(event, &span)?;
    }
    // The parser may hand over a comment later than the node behind it.
    builder.stream.comments.sort_by_key(|c| c.span.start);
    Ok(builder.stream)
}

impl<'c> Builder<'c> {
    fn new(text: &str, ceilings: &'c Ceilings) -> Self {
        let text: Arc<str> = text.into();
        let stream = Stream { documents: Vec::new(), comments: Vec::new() };
        let document = Document::empty(0, text.clone());
        Self { ceilings, text, stream, document, open: Vec::new(), count: 0, weights: HashMap::new(), end: 0 }
    }

    fn event(&mut self, event: Event<'_>, span: &Span) -> Result<(), YamlError> {
        let bytes = span.byte_range().unwrap_or(0..0);
        let mut end = bytes.end;
        match event {
            Event::Comment(text, _) => {
                self.stream.comments.push(Comment { span: bytes, text: text.into_owned() });
                return Ok(());
            }
            Event::DocumentStart(explicit, _) => {
                // Without `---` the span is that of the first token, which is still to come.
                end = if explicit { bytes.end } else { bytes.start };
                self.start_document(explicit.then_some(bytes))?;
            }
            Event::DocumentEnd => {
                // Many small documents are kept at a time.
                self.document.nodes.shrink_to_fit();
                let next = Document::empty(0, self.text.clone());
                self.stream.documents.push(std::mem::replace(&mut self.document, next));
                self.weights.clear();
            }
            Event::Scalar(value, style, anchor, tag) => {
                let (kind, span) = self.scalar(&value, style_of(style), bytes);
                end = span.end;
                self.node(kind, span, Properties::new(anchor, tag))?;
            }
            Event::SequenceStart(style, anchor, tag) => {
                let kind = RawKind::Sequence { items: Vec::new(), flow: style == StructureStyle::Flow };
                self.open(kind, bytes, Properties::new(anchor, tag))?;
            }
            Event::MappingStart(style, anchor, tag) => {
                let kind = RawKind::Mapping { entries: Vec::new(), flow: style == StructureStyle::Flow };
                self.open(kind, bytes, Properties::new(anchor, tag))?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(open) = self.open.pop() {
                    let node = &mut self.document.nodes[open.id.0 as usize];
                    node.span.end = bytes.end;
                    self.weights.extend(node.anchor.map(|anchor| (anchor, self.count - open.before)));
                }
            }
            Event::Alias(to) => {
                // Inside of what it stands for, it counts once: nothing follows it there.
                self.count = self.count.saturating_add(self.weights.get(&to).map_or(0, |weight| weight - 1));
                let id = self.node(RawKind::Alias(to), bytes, Properties { anchor: 0, tag: None })?;
                self.document.aliases.entry(to).or_default().push(id);
            }
            _ => return Ok(()),
        }
        self.end = end;
        Ok(())
    }

    fn start_document(&mut self, marker: Option<Range<usize>>) -> Result<(), YamlError> {
        if self.stream.documents.len() >= self.ceilings.documents {
            return Err(YamlError::TooLarge { what: "documents", limit: self.ceilings.documents });
        }
        self.document.index = self.stream.documents.len();
        self.document.marker = marker;
        Ok(())
    }

    /// Corrects a scalar's span, and keeps its value by reference where the text has it as it is.
    fn scalar(&self, value: &str, style: Style, span: Range<usize>) -> (RawKind, Range<usize>) {
        let source = self.text.get(span.clone()).unwrap_or_default();
        let (span, inner) = match style {
            // The parser counts line ends behind a plain scalar to it.
            Style::Plain => {
                let span = span.start..span.start + source.trim_end_matches([' ', '\t', '\r', '\n']).len();
                (span.clone(), span)
            }
            Style::SingleQuoted | Style::DoubleQuoted => {
                let inner = span.start + 1..(span.end.max(span.start + 2) - 1);
                (span, inner)
            }
            // The parser begins a block scalar at its first line with content.
            Style::Literal | Style::Folded => {
                let start = block_header(&self.text, self.end, span.end).unwrap_or(span.start);
                (start..span.end, 0..0)
            }
        };
        let value = match style {
            // What is not written reads as null; the parser calls it `~`.
            Style::Plain if span.is_empty() => "",
            // Where the text ends without a line break, so does the value for every other reader.
            Style::Literal | Style::Folded if span.end == self.text.len() && ends_in_mid_line(&self.text) => {
                value.strip_suffix('\n').unwrap_or(value)
            }
            _ => value,
        };
        let value = match self.text.get(inner.clone()) {
            Some(source) if source == value => Value::Source(inner),
            _ => Value::Own(value.into()),
        };
        (RawKind::Scalar { value, style }, span)
    }

    fn open(&mut self, kind: RawKind, span: Range<usize>, properties: Properties) -> Result<(), YamlError> {
        let before = self.count;
        let id = self.node(kind, span, properties)?;
        self.open.push(Open { id, key: None, before });
        Ok(())
    }

    fn node(
        &mut self,
        kind: RawKind,
        span: Range<usize>,
        properties: Properties,
    ) -> Result<NodeId, YamlError> {
        self.count += 1;
        if self.count > self.ceilings.nodes {
            return Err(YamlError::TooLarge { what: "nodes", limit: self.ceilings.nodes });
        }
        let id = NodeId(self.document.nodes.len() as u32);
        let parent = self.open.last().map(|o| o.id);
        let place = match self.open.last_mut() {
            None => {
                self.document.root = Some(id);
                0
            }
            Some(open) => attach(&mut self.document.nodes[open.id.0 as usize].kind, &mut open.key, id),
        };
        let anchor = (properties.anchor != 0).then_some(properties.anchor);
        self.document.nodes.push(RawNode { kind, span, anchor, tag: properties.tag, parent, place });
        if let Some(anchor) = anchor {
            self.document.anchors.insert(anchor, id);
        }
        Ok(id)
    }
}

impl Document {
    fn empty(index: usize, text: Arc<str>) -> Self {
        let (anchors, aliases, twice) = (HashMap::new(), HashMap::new(), OnceLock::new());
        Self { index, text, marker: None, nodes: Vec::new(), anchors, aliases, twice, root: None }
    }

    pub(super) fn value<'a>(&'a self, value: &'a Value) -> &'a str {
        match value {
            Value::Source(span) => self.text.get(span.clone()).unwrap_or_default(),
            Value::Own(value) => value,
        }
    }
}

impl Properties {
    fn new(anchor: usize, tag: Option<Cow<'_, Tag>>) -> Self {
        Self { anchor, tag: tag.map(|t| t.to_string().into()) }
    }
}

/// Adds a child to a collection and returns its place there.
fn attach(parent: &mut RawKind, key: &mut Option<NodeId>, id: NodeId) -> u32 {
    match parent {
        RawKind::Sequence { items, .. } => {
            items.push(id);
            items.len() as u32 - 1
        }
        RawKind::Mapping { entries, .. } => {
            match key.take() {
                None => *key = Some(id),
                Some(key) => {
                    entries.push((key, id));
                    return entries.len() as u32 - 1;
                }
            }
            entries.len() as u32
        }
        RawKind::Scalar { .. } | RawKind::Alias(_) => 0,
    }
}

/// Tells whether the last line has content and no line break.
fn ends_in_mid_line(text: &str) -> bool {
    text.rsplit(['\n', '\r']).next().is_some_and(|line| !line.trim_matches(' ').is_empty())
}

/// Finds the `|` or `>` of a block scalar between the event before it and its content.
fn block_header(text: &str, from: usize, to: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    while at < to {
        match bytes.get(at)? {
            b'|' | b'>' => return Some(at),
            b' ' | b'\t' | b'\r' | b'\n' | b'-' | b'?' | b':' => at += 1,
            b'#' => at += memchr::memchr2(b'\n', b'\r', &bytes[at..])?,
            b'&' | b'!' => at += bytes[at..].iter().position(u8::is_ascii_whitespace)?,
            _ => return None,
        }
    }
    None
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

//! Which bytes of the file each byte of a scalar's value comes from.
//!
//! A value is cut into runs that stand in the file as they are; between two runs lies a fold, an escape or an
//! indentation. A range inside one run can be edited in the file without knowing more of the scalar.

use std::ops::Range;

use super::{Node, Shape, Style};

/// The way between the bytes of a scalar's value and those of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceMap {
    /// Ordered by position, not touching in the file.
    runs: Vec<Run>,
}

/// Bytes that are the same in value and file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    value: usize,
    file: usize,
    len: usize,
}

/// Walks over source and value side by side.
struct Aligner<'a> {
    source: &'a str,
    /// Where `source` begins in the file.
    base: usize,
    value: &'a str,
    /// The position in `source`.
    at: usize,
    /// The position in `value`.
    done: usize,
    runs: Vec<Run>,
}

// === impl SourceMap ===

impl SourceMap {
    /// Maps a scalar of `file`; `None` for a collection or an alias, and where value and source do not agree.
    pub fn of(file: &str, node: Node<'_>) -> Option<Self> {
        let Shape::Scalar(value, style) = node.shape() else { return None };
        let span = node.span();
        let source = file.get(span.clone())?;
        let inner = |margin: usize| {
            let inner = source.get(margin..source.len().checked_sub(margin)?)?;
            Some(Aligner {
                source: inner,
                base: span.start + margin,
                value,
                at: 0,
                done: 0,
                runs: Vec::new(),
            })
        };
        match style {
            Style::Plain => inner(0)?.flow(style),
            Style::SingleQuoted | Style::DoubleQuoted => inner(1)?.flow(style),
            Style::Literal | Style::Folded => inner(0)?.block(),
        }
    }

    /// Maps bytes of the value to bytes of the file; `None` where they do not stand there as they are.
    pub fn in_file(&self, value: Range<usize>) -> Option<Range<usize>> {
        let run = self.runs.partition_point(|r| r.value <= value.start).checked_sub(1)?;
        let run = self.runs.get(run)?;
        let inside = value.start <= value.end && value.end <= run.value + run.len;
        let start = run.file + (value.start - run.value);
        inside.then(|| start..start + value.len())
    }

    /// Lists the bytes that are the same on both sides, in order: those of the value, and where they begin in the file.
    pub fn runs(&self) -> impl Iterator<Item = (Range<usize>, usize)> {
        self.runs.iter().filter(|run| run.len > 0).map(|run| (run.value..run.value + run.len, run.file))
    }

    /// Maps bytes of the file to bytes of the value; `None` where they do not stand there as they are.
    pub fn in_value(&self, file: Range<usize>) -> Option<Range<usize>> {
        let run = self.runs.partition_point(|r| r.file <= file.start).checked_sub(1)?;
        let run = self.runs.get(run)?;
        let inside = file.start <= file.end && file.end <= run.file + run.len;
        let start = run.value + (file.start - run.file);
        inside.then(|| start..start + file.len())
    }
}

// === impl Aligner ===

impl Aligner<'_> {
    /// Aligns a plain or quoted scalar.
    fn flow(mut self, style: Style) -> Option<SourceMap> {
        while self.at < self.source.len() {
            let rest = &self.source[self.at..];
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            if rest[blanks..].starts_with(['\r', '\n']) {
                self.fold(blanks)?;
            } else if style == Style::DoubleQuoted && rest.starts_with('\\') {
                self.escape()?;
            } else if style == Style::SingleQuoted && rest.starts_with("''") {
                self.decoded(2, "'")?;
            } else {
                let more = |c: char| !matches!(c, ' ' | '\t' | '\r' | '\n' | '\\' | '\'');
                let word = rest.len() - rest.trim_start_matches(more).len();
                // A blank, or a quote or backslash that means itself, goes alone.
                self.copy(if word == 0 { blanks.max(1) } else { word })?;
            }
        }
        self.finished()
    }

    /// Aligns a block scalar line by line, from its header.
    fn block(mut self) -> Option<SourceMap> {
        self.at = after_break(self.source, line_length(self.source)).unwrap_or(self.source.len());
        let indent = self.block_indent();
        // YAML lets the text of a whole document stand at the margin; libyaml and go-yaml see the next line there.
        if indent == 0 && !self.value.is_empty() {
            return None;
        }
        while self.at < self.source.len() {
            let end = self.at + line_length(&self.source[self.at..]);
            let line = &self.source[self.at..end];
            let blank = line.bytes().take_while(|b| *b == b' ').count();
            let content = line.get(blank.min(indent)..)?;
            self.at += blank.min(indent);
            // Between two lines the value has a space or line breaks, depending on style and chomping.
            while !content.is_empty()
                && !self.value[self.done..].starts_with(content)
                && self.value[self.done..].starts_with([' ', '\n'])
            {
                self.done += 1;
            }
            if !content.is_empty() && self.value.len() > self.done {
                self.copy(content.len())?;
            }
            self.at = after_break(self.source, end).unwrap_or(self.source.len());
        }
        let rest = &self.value[self.done..];
        rest.bytes().all(|b| b == b'\n').then_some(SourceMap { runs: self.runs })
    }

    /// Finds the indentation: what precedes the value's first text on its line.
    fn block_indent(&self) -> usize {
        let mut at = self.at;
        let first = self.value.trim_start_matches('\n');
        while at < self.source.len() {
            let line = &self.source[at..at + line_length(&self.source[at..])];
            let blanks = line.len() - line.trim_start_matches(' ').len();
            if blanks < line.len() {
                return (0..=blanks).find(|n| first.starts_with(&line[*n..])).unwrap_or(blanks);
            }
            at = after_break(self.source, at + line.len()).unwrap_or(self.source.len());
        }
        0
    }

    /// Takes bytes that are the same on both sides.
    fn copy(&mut self, len: usize) -> Option<()> {
        let source = self.source.get(self.at..self.at + len)?;
        if !self.value[self.done..].starts_with(source) {
            return None;
        }
        let file = self.base + self.at;
        match self.runs.last_mut() {
            Some(r) if r.file + r.len == file && r.value + r.len == self.done => r.len += len,
            _ => self.runs.push(Run { value: self.done, file, len }),
        }
        self.at += len;
        self.done += len;
        Some(())
    }

    /// Notes that the positions agree here, though perhaps no byte beside them does.
    fn mark(&mut self) {
        self.runs.push(Run { value: self.done, file: self.base + self.at, len: 0 });
    }

    /// Takes source that stands for other text.
    fn decoded(&mut self, source: usize, value: &str) -> Option<()> {
        if !self.value[self.done..].starts_with(value) {
            return None;
        }
        self.at += source;
        self.done += value.len();
        self.mark();
        Some(())
    }

    /// Takes line breaks with the blanks around them: one is a space, each further one a line break.
    fn fold(&mut self, blanks: usize) -> Option<()> {
        self.at += blanks;
        let mut breaks = 0;
        while let Some(next) = after_break(self.source, self.at) {
            breaks += 1;
            let rest = &self.source[next..];
            self.at = next + (rest.len() - rest.trim_start_matches([' ', '\t']).len());
        }
        if breaks == 1 {
            return self.decoded(0, " ");
        }
        self.decoded(0, &"\n".repeat(breaks - 1))
    }

    fn escape(&mut self) -> Option<()> {
        let rest = &self.source[self.at..];
        if let Some(next) = after_break(rest, 1) {
            // An escaped line break joins the lines; the next line's indentation goes, its empty lines stay.
            let after = &rest[next..];
            let blanks = after.len() - after.trim_start_matches([' ', '\t']).len();
            self.at += next + blanks;
            let empty = after_break(self.source, self.at).is_some();
            return if empty { self.joined_empty_lines() } else { Some(()) };
        }
        let (len, c) = unescaped(rest)?;
        self.decoded(len, c.encode_utf8(&mut [0; 4]))
    }

    /// Takes the empty lines behind an escaped line break, each a line break of the value.
    fn joined_empty_lines(&mut self) -> Option<()> {
        while let Some(next) = after_break(self.source, self.at) {
            let rest = &self.source[next..];
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            self.decoded(next + blanks - self.at, "\n")?;
        }
        Some(())
    }

    fn finished(self) -> Option<SourceMap> {
        (self.done == self.value.len()).then_some(SourceMap { runs: self.runs })
    }
}

/// Decodes the escape at the start of a text: its length there and its character.
fn unescaped(text: &str) -> Option<(usize, char)> {
    let letter = text[1..].chars().next()?;
    let short = match letter {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        'e' => '\u{1b}',
        ' ' | '"' | '/' | '\\' => letter,
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        'x' => return Some((4, char::from_u32(hex(text, 2, 2)?)?)),
        'u' => return unicode(text),
        'U' => return Some((10, char::from_u32(hex(text, 2, 8)?)?)),
        _ => return None,
    };
    Some((2, short))
}

/// Decodes `\uXXXX`, or two of them that are a pair of surrogates as JSON writes them.
fn unicode(text: &str) -> Option<(usize, char)> {
    let high = hex(text, 2, 4)?;
    if let Some(c) = char::from_u32(high) {
        return Some((6, c));
    }
    let low = text.get(6..8).filter(|s| *s == "\\u").and_then(|_| hex(text, 8, 4))?;
    let pair = 0x10000 + ((high.checked_sub(0xD800)?) << 10) + low.checked_sub(0xDC00)?;
    Some((12, char::from_u32(pair)?))
}

fn hex(text: &str, at: usize, len: usize) -> Option<u32> {
    u32::from_str_radix(text.get(at..at + len)?, 16).ok()
}

/// Returns the length of the first line of a text without its break.
fn line_length(text: &str) -> usize {
    memchr::memchr2(b'\n', b'\r', text.as_bytes()).unwrap_or(text.len())
}

/// Returns the position behind the line break that stands at `at`.
fn after_break(text: &str, at: usize) -> Option<usize> {
    let rest = text.as_bytes().get(at..)?;
    match rest {
        [b'\r', b'\n', ..] => Some(at + 2),
        [b'\r' | b'\n', ..] => Some(at + 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::Stream;

    /// Maps `needle` of the value under `v` to the file, checks that the file has it there, and the way back.
    fn finds(file: &str, needle: &str) -> bool {
        let stream = Stream::parse(file).unwrap();
        let node = stream.roots().next().unwrap().get("v").unwrap();
        let Some(map) = SourceMap::of(file, node) else { return false };
        let value = node.as_str().unwrap();
        let at = value.find(needle).unwrap();
        let Some(span) = map.in_file(at..at + needle.len()) else { return false };
        assert_eq!(&file[span.clone()], needle);
        assert_eq!(map.in_value(span), Some(at..at + needle.len()));
        true
    }

    #[test]
    fn block_scalars_of_every_kind() {
        for file in [
            "v: |\n  a: 1\n\n  b: tag # c\n",
            "v: |2-\n    a\n   tag\n\n# c\nb: 1\n",
            "v: |+1\n  a\r\n\r\n tag\r\n\r\n",
            "v: |\r\n  tag: 1\r\n",
            "v: >-\n  a\n  b\n   more\n\n\n  tag c\n",
            "v: >\n\n  a tag\n  \n  c",
            "v: | # tag |\n\n  tag\n",
            "v: !!str &x |\n      \n      tag",
            "v:\n  |2\n     \n    tag\n",
            "v: |\n  é🚀\n  \t tag\n",
        ] {
            assert!(finds(file, "tag"), "{file:?}");
        }
    }

    #[test]
    fn quoted_and_plain_scalars_around_folds_and_escapes() {
        for file in [
            "v: tag",
            "v: a\n  b\n\n  tag c\n",
            "v: 'it''s a tag'",
            "v: 'a\n\n\n  tag'",
            "v: \"a\\n tag \\\"x\\\"\"",
            "v: \"\\ud83d\\ude80 \\U0001F680 \\x41 \\N\\_\\L\\P tag\"",
            "v: \"a \\\n   \\  tag\"",
            "v: \"a\\\n\n\n  tag\"",
            "v: \"a  \r\n  \t tag\"",
            "{\"v\": \"\\/ tag\"}",
            "v: \"it's a tag\"",
            "v: 'a\\b tag'",
        ] {
            assert!(finds(file, "tag"), "{file:?}");
        }
    }

    #[test]
    fn text_that_is_not_there_as_it_is_has_no_place() {
        assert!(!finds("v: \"t\\x61g\"", "tag"));
        assert!(!finds("v: a\n  b", "a b"));
        assert!(!finds("v: |\n  a\n  b\n", "a\nb"));
    }

    #[test]
    fn a_block_scalar_at_the_margin_has_no_place() {
        for (file, has_one) in [("--- |\ntag\n", false), ("--- >-\n# tag\n", false), ("--- |\n tag\n", true)]
        {
            let stream = Stream::parse(file).unwrap();
            let map = SourceMap::of(file, stream.roots().next().unwrap());
            assert_eq!(map.is_some(), has_one, "{file:?}");
        }
    }
}

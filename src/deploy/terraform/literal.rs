//! Literals of templates: the text between interpolations and directives, as it stands in the file.
//!
//! Of a heredoc that begins with `<<-`, what its lines have in common before them is not a part of the text. Source:
//! `hcl/hclsyntax/parser_template.go`, `flushHeredocTemplateParts`.

use std::ops::Range;

use hcl_edit::{
    Span as _,
    template::{Directive, Element, Template},
};

use super::scope::Scope;
use crate::deploy::value::Scalar;

/// What `${` and `%{` are written as where they mean themselves.
const ESCAPES: [&str; 2] = ["$${", "%%{"];

// === impl Scope ===

impl Scope<'_> {
    /// Returns how much is taken off each line of a heredoc.
    pub fn indentation_of(&self, heredoc: Range<usize>, template: &Template) -> usize {
        let written = self.source.text.get(heredoc).unwrap_or_default();
        match written.trim_start().starts_with("<<-") {
            true => common(template, &self.source.text).unwrap_or_default(),
            false => 0,
        }
    }

    /// A literal of a template, of a heredoc without its indentation. `text` is what it means, but for that.
    pub fn literal(&self, span: Range<usize>, text: &str) -> Scalar {
        let Some(raw) = self.source.text.get(span.clone()) else { return Scalar::made(text) };
        if raw == text && self.indentation == 0 {
            return self.written(span);
        }
        // In quotes a backslash means something.
        if raw.contains('\\') && !raw.contains('\n') && self.indentation == 0 {
            return self.unescaped(span, text).unwrap_or_else(|| Scalar::made(text));
        }
        let mut out = Scalar::made("");
        let mut at = span.start;
        for line in raw.split_inclusive('\n') {
            let end = at + line.len();
            at += self.blanks(at, line);
            while let Some(escape) = self.escape(at..end) {
                out = out.then(&self.written(at..escape));
                at = escape + 1;
            }
            out = out.then(&self.written(at..end));
            at = end;
        }
        out
    }

    /// A part of a quoted text that is written with escapes: what stands between them is in the file as it is. `None` where
    /// what comes of it is not `text`.
    pub fn unescaped(&self, span: Range<usize>, text: &str) -> Option<Scalar> {
        let raw = self.source.text.get(span.clone())?;
        let mut out = Scalar::made("");
        let (mut from, mut at) = (0, 0);
        while let Some(found) = raw.get(at..)?.find(['\\', '$', '%']) {
            let start = at + found;
            let Some((length, meant)) = escaped(raw.get(start..)?) else {
                at = start + 1;
                continue;
            };
            out = out.then(&self.written(span.start + from..span.start + start));
            out = out.then(&Scalar::made(meant.encode_utf8(&mut [0; 4])));
            (from, at) = (start + length, start + length);
        }
        let out = out.then(&self.written(span.start + from..span.end));
        (out.text() == text).then_some(out)
    }

    /// Returns how many bytes are taken off a line that begins at a byte.
    fn blanks(&self, at: usize, line: &str) -> usize {
        let is_whole = self.source.text.get(..at).is_some_and(|before| before.ends_with('\n'));
        if !is_whole || is_blank(line) {
            return 0;
        }
        let blanks = line.chars().take(self.indentation).take_while(|c| c.is_whitespace());
        blanks.map(char::len_utf8).sum()
    }

    /// Finds the sign that stands twice, so as to mean itself.
    fn escape(&self, within: Range<usize>) -> Option<usize> {
        let text = self.source.text.get(within.clone())?;
        let found = ESCAPES.iter().filter_map(|escape| text.find(escape)).min()?;
        Some(within.start + found + 1)
    }
}

/// Reads an escape of a quoted text that another begins with: its length, and what it means.
fn escaped(text: &str) -> Option<(usize, char)> {
    if let Some(escape) = ESCAPES.iter().find(|escape| text.starts_with(**escape)) {
        return Some((escape.len() - 1, char::from(*escape.as_bytes().first()?)));
    }
    let mut chars = text.strip_prefix('\\')?.chars();
    let digits = match chars.next()? {
        'n' => return Some((2, '\n')),
        'r' => return Some((2, '\r')),
        't' => return Some((2, '\t')),
        sign @ ('"' | '\\') => return Some((2, sign)),
        'u' => 4,
        'U' => 8,
        _ => return None,
    };
    let number = u32::from_str_radix(chars.as_str().get(..digits)?, 16).ok()?;
    Some((2 + digits, char::from_u32(number)?))
}

/// Tells whether a line has nothing but its end.
fn is_blank(line: &str) -> bool {
    line.ends_with('\n') && line.trim().is_empty()
}

/// Returns how many blanks all lines of a template begin with; `None` of one without lines.
fn common(template: &Template, text: &str) -> Option<usize> {
    let whole = template.span()?;
    let mut spans = Vec::new();
    literals(template, &mut spans);
    // What begins with something else than a literal has no blanks before it.
    if spans.iter().all(|span| span.start != whole.start) {
        return Some(0);
    }
    let mut least: Option<usize> = None;
    for span in spans {
        let raw = text.get(span.clone())?;
        let mut at = span.start;
        for line in raw.split_inclusive('\n') {
            let is_whole = text.get(..at).is_some_and(|before| before.ends_with('\n'));
            if is_whole && !is_blank(line) {
                let blanks = line.chars().take_while(|c| c.is_whitespace()).count();
                least = Some(least.map_or(blanks, |least| least.min(blanks)));
            }
            at += line.len();
        }
        if raw.ends_with('\n') && at < whole.end {
            return Some(0);
        }
    }
    least
}

fn literals(template: &Template, found: &mut Vec<Range<usize>>) {
    for element in template.iter() {
        match element {
            Element::Literal(text) => found.extend(text.span()),
            Element::Interpolation(_) => {}
            Element::Directive(directive) => match &**directive {
                Directive::If(either) => {
                    literals(&either.if_expr.template, found);
                    either.else_expr.iter().for_each(|other| literals(&other.template, found));
                }
                Directive::For(each) => literals(&each.for_expr.template, found),
            },
        }
    }
}

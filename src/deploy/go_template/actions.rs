//! Where the actions of a Go template stand, whatever they do.
//!
//! In: a text and its delimiters. Out: each action with its delimiters, the code in it, and whether it trims the text around.

use std::ops::Range;

use super::{
    TemplateError,
    lex::{Token, tokens},
};

/// What stands around the actions of a chart's templates.
pub const BRACES: (&str, &str) = ("{{", "}}");
/// Blanks that trim markers take away.
pub(super) const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

/// An action of a template.
#[derive(Debug)]
pub struct Action {
    /// Its bytes, with the delimiters.
    pub whole: Range<usize>,
    /// The bytes between: none of a comment.
    pub code: Range<usize>,
    /// Whether blanks before it and behind it are no text.
    pub(super) trims: (bool, bool),
}

/// Lists the actions of a text, up to one that has no end.
pub fn actions<'t>(
    text: &'t str,
    delimiters: (&'t str, &'t str),
) -> impl Iterator<Item = Result<Action, TemplateError>> + 't {
    let (open, close) = delimiters;
    let mut at = Some(0);
    std::iter::from_fn(move || {
        let from = at?;
        let start = from + text.get(from..)?.find(open)?;
        let behind = text.get(start + open.len()..)?;
        let trims = behind.strip_prefix('-').is_some_and(|behind| behind.starts_with(BLANKS));
        let action = closed(text, start + open.len() + usize::from(trims), close).map(|closed| {
            let (code, end, trims_behind) = closed;
            Action { whole: start..end, code, trims: (trims, trims_behind) }
        });
        at = action.as_ref().ok().map(|action| action.whole.end);
        Some(action)
    })
}

// === impl Action ===

impl Action {
    /// Lists the quoted texts in it that have no escapes, without their quotes.
    pub fn texts(&self, text: &str) -> Vec<Range<usize>> {
        let tokens = tokens(text, self.code.clone()).unwrap_or_default().into_iter();
        let place = |token: Token| match token {
            Token::Text { place, .. } => place,
            _ => None,
        };
        tokens.filter_map(place).collect()
    }
}

/// Finds the end of an action that begins at a byte: what is in it, where the text goes on, whether it is trimmed.
fn closed(text: &str, start: usize, close: &str) -> Result<(Range<usize>, usize, bool), TemplateError> {
    let body = text.get(start..).unwrap_or_default();
    let blank = body.len() - body.trim_start_matches(BLANKS).len();
    if body.get(blank..).is_some_and(|b| b.starts_with("/*")) {
        let end = body.find("*/").map(|n| start + n + 2).ok_or(TemplateError::Unclosed)?;
        let rest = text.get(end..).unwrap_or_default();
        let trimmed = rest.trim_start_matches(BLANKS);
        let (trims, rest) = match trimmed.strip_prefix('-') {
            Some(behind) if behind.starts_with(close) => (true, behind),
            _ => (false, trimmed),
        };
        let behind = rest.strip_prefix(close).ok_or(TemplateError::Unclosed)?;
        return Ok((start..start, text.len() - behind.len(), trims));
    }
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match quote {
            Some('`') if c == '`' => quote = None,
            Some('`') => {}
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(q) if c == q => quote = None,
            Some(_) if c == '\n' => return Err(TemplateError::Unclosed),
            Some(_) => {}
            None if body.get(at..).is_some_and(|b| b.starts_with(close)) => {
                let inner = body.get(..at).unwrap_or_default();
                let trims = inner.strip_suffix('-').is_some_and(|i| i.ends_with(BLANKS) || i.is_empty());
                let end = if trims { start + at - 1 } else { start + at };
                return Ok((start..end, start + at + close.len(), trims));
            }
            None if matches!(c, '"' | '\'' | '`') => quote = Some(c),
            None => {}
        }
    }
    Err(TemplateError::Unclosed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_comments_end_no_action() {
        let text = "a: {{ .b }}\n{{- /* 2026.8.2 }} */ -}}\n{{/* c */}}{{- if eq .d \"}} \\\" e\" `}}` }}\n{{ f \"}}";
        let all: Vec<Action> = actions(text, BRACES).map_while(Result::ok).collect();
        let whole: Vec<&str> = all.iter().map(|action| &text[action.whole.clone()]).collect();
        let condition = "{{- if eq .d \"}} \\\" e\" `}}` }}";
        assert_eq!(whole, ["{{ .b }}", "{{- /* 2026.8.2 }} */ -}}", "{{/* c */}}", condition]);
        let code: Vec<&str> = all.iter().map(|action| &text[action.code.clone()]).collect();
        assert_eq!(code, [" .b ", "", "", &condition[3..condition.len() - 2]]);
        let texts = all[3].texts(text).into_iter().map(|span| &text[span]);
        assert_eq!(texts.collect::<Vec<_>>(), ["}}"], "one has an escape");
        assert_eq!(actions(&"{{".repeat(100_000), BRACES).count(), 1, "and that has no end");
    }
}

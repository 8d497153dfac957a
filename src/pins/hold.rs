//! Step 5, pins: what real comments say of a pin: a hold, or that Flux's image automation is in charge.
//!
//! In: comments of a parsed text, or lines of any text. Out: the reason to stay. Text inside a scalar that looks
//! like a comment is not one.

use super::Reason;
use crate::yaml::{Comment, Stream};

/// Comment lines above a pin that are read.
pub(super) const ABOVE: usize = 100;

/// Reads the comments on the line of a byte, and the comment lines directly above it.
pub(super) fn word(stream: &Stream, text: &str, byte: usize) -> Option<Reason> {
    if stream.comments.is_empty() {
        return None;
    }
    let here = stream.comment_behind(text, byte).and_then(|c| reason(&c.text));
    let mut line = line_start(text, byte);
    let mut above = None;
    for _ in 0..ABOVE {
        if here.is_some() || above.is_some() || line == 0 {
            break;
        }
        line = line_start(text, line - 1);
        let Some(comment) = comment_line(stream, text, line) else { break };
        // A setter is read on its own line only.
        above = reason(&comment.text).filter(|r| *r == Reason::Held);
    }
    here.or(above)
}

/// Tells whether a comment's text, without its first sign, holds what it stands at.
pub(super) fn holds(comment: &str) -> bool {
    let mut parts = comment.split('#');
    parts.any(|part| {
        let rest = part.trim_start().strip_prefix("uplinker:").map(str::trim_start);
        let rest = rest.and_then(|r| r.strip_prefix("hold"));
        rest.is_some_and(|r| !r.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_'))
    })
}

fn reason(comment: &str) -> Option<Reason> {
    if holds(comment) {
        return Some(Reason::Held);
    }
    let setter = comment.contains("$imagepolicy") && comment.contains('{');
    setter.then_some(Reason::ManagedByFlux)
}

fn line_start(text: &str, byte: usize) -> usize {
    let before = text.as_bytes().get(..byte).unwrap_or_default();
    memchr::memrchr(b'\n', before).map_or(0, |n| n + 1)
}

/// Returns the comment that a line consists of.
fn comment_line<'s>(stream: &'s Stream, text: &str, line: usize) -> Option<&'s Comment> {
    let at = stream.comments.partition_point(|c| c.span.start < line);
    let comment = stream.comments.get(at)?;
    let before = text.get(line..comment.span.start)?;
    before
        .trim_start_matches('\u{feff}')
        .trim()
        .is_empty()
        .then_some(comment)
        .filter(|_| !before.contains('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word_at(text: &str, needle: &str) -> Option<Reason> {
        word(&Stream::parse(text).unwrap(), text, text.find(needle).unwrap())
    }

    #[test]
    fn only_a_real_comment_holds() {
        assert_eq!(word_at("a: x # uplinker: hold — FRD-77\n", "x"), Some(Reason::Held));
        assert_eq!(word_at("# uplinker: hold\n# until Q3\na: x\n", "x"), Some(Reason::Held));
        assert_eq!(word_at("a: x # was 1 # uplinker: hold\n", "x"), Some(Reason::Held));
        assert_eq!(word_at("b: y # uplinker: hold\na: x\n", "x"), None);
        assert_eq!(word_at("# uplinker: hold\n\na: x\n", "x"), None);
        assert_eq!(word_at("a: x # please do not uplinker: hold\n", "x"), None);
        assert_eq!(word_at("a: x # uplinker: holdings\n", "x"), None);
        assert_eq!(word_at("n: 'x' \nm: 'a # uplinker: hold'\n", "a #"), None);
        assert_eq!(word_at("a: x # waits for a change window\n", "x"), None);
    }

    #[test]
    fn a_setter_is_flux_s() {
        let setter = "a: x # {\"$imagepolicy\": \"flux-system:linkerd:tag\"}\nb: y\n";
        assert_eq!(word_at(setter, "x"), Some(Reason::ManagedByFlux));
        assert_eq!(word_at(setter, "y"), None);
    }
}

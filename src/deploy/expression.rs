//! Regular expressions and patterns of a tree, within a bound.

use globset::GlobBuilder;
use regex::{Regex, bytes};

/// Bytes that an expression may compile to.
const PROGRAM: usize = 256 << 10;
/// Bytes of a pattern.
const PATTERN: usize = 1 << 10;

/// Compiles an expression; `None` for one that is none, or that is too large.
pub fn expression(text: &str) -> Option<Regex> {
    regex::RegexBuilder::new(text).size_limit(PROGRAM).dfa_size_limit(PROGRAM).build().ok()
}

/// Compiles a pattern as `github.com/gobwas/glob` does without separators; `None` for one that is none, or that is too large.
pub fn pattern(text: &str) -> Option<bytes::Regex> {
    let text = Some(text).filter(|text| text.len() <= PATTERN)?;
    let glob = GlobBuilder::new(text).backslash_escape(true).empty_alternates(true).build().ok()?;
    // A matcher of its own panics where braces are in too many braces.
    bytes::RegexBuilder::new(glob.regex()).dot_matches_new_line(true).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_has_a_bound() {
        assert!(expression("^2026[.]").unwrap().is_match("2026.8.2"));
        assert!(expression("(a{200}){200}").is_none() && expression("(").is_none());
    }

    #[test]
    fn a_pattern_has_a_bound() {
        let fits = |of: &str, text: &str| pattern(of).map(|pattern| pattern.is_match(text.as_bytes()));
        for of in ["a/b.c", "*", "a?b*", "a/{b,}.c", "[!b]/b.[a-c]", "a/b\\.c"] {
            assert_eq!(fits(of, "a/b.c"), Some(true), "{of}");
        }
        assert_eq!(fits("a", "ab"), Some(false));
        let braces = format!("{}{}", "{".repeat(500), "}".repeat(500));
        for of in ["[", "{", &braces, &"*".repeat(PATTERN + 1)] {
            assert_eq!(fits(of, "a"), None, "{of}");
        }
    }
}

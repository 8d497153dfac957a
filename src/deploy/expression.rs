//! Regular expressions of a tree, within a bound.

use regex::Regex;

/// Bytes that an expression may compile to.
const PROGRAM: usize = 256 << 10;

/// Compiles an expression; `None` for one that is none, or that is too large.
pub fn expression(text: &str) -> Option<Regex> {
    regex::RegexBuilder::new(text).size_limit(PROGRAM).dfa_size_limit(PROGRAM).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_has_a_bound() {
        assert!(expression("^2026[.]").unwrap().is_match("2026.8.2"));
        assert!(expression("(a{200}){200}").is_none() && expression("(").is_none());
    }
}

//! What expressions of CEL hold against texts.
//!
//! In: an expression. Out: each path that is compared with a text, for being it or not, and the bytes between the quotes. Whatever
//! stands around such a comparison, it comes to the same where both sides change alike. The grammar is that of `doc/langdef.md` of
//! google/cel-spec; scopes of macros are not told apart.

use std::{collections::HashMap, ops::Range};

/// Bytes of an expression that is read.
const BYTES: usize = 64 << 10;
/// Steps of a path.
const STEPS: usize = 32;
/// Macros that give the items of a list a name.
const MACROS: [&str; 5] = ["all", "exists", "exists_one", "filter", "map"];
/// Signs of two characters.
const PAIRS: [&str; 6] = ["==", "!=", "&&", "||", "<=", ">="];

/// A step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'t> {
    /// To what is under a key.
    Key(&'t str),
    /// To an item.
    Index(usize),
    /// To each item.
    Each,
}

/// A path that is compared with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison<'t> {
    /// The steps from a variable on, which is the first.
    pub path: Vec<Step<'t>>,
    /// The bytes of the text, without its quotes.
    pub text: Range<usize>,
}

/// Lists the comparisons of an expression.
pub fn comparisons(expression: &str) -> Vec<Comparison<'_>> {
    if expression.len() > BYTES {
        return Vec::new();
    }
    let mut reader = Reader { whole: expression, tokens: tokens(expression), named: HashMap::new() };
    let (mut at, mut found) = (0, Vec::new());
    while at < reader.tokens.len() {
        at = reader.step(at, &mut found);
    }
    found
}

#[derive(Clone, Debug)]
enum Token<'t> {
    Name(&'t str),
    Number(usize),
    /// A text without escapes: its bytes.
    Text(Range<usize>),
    Sign(&'t str),
}

fn tokens(whole: &str) -> Vec<Token<'_>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(rest) = whole.get(at..)
        && let Some(first) = rest.chars().next()
    {
        let word = |is_inside: fn(char) -> bool| {
            rest.get(..rest.find(|c: char| !is_inside(c)).unwrap_or(rest.len())).unwrap_or_default()
        };
        let (length, token) = match first {
            '"' | '\'' => quoted(rest, at, false),
            'r' | 'R' if rest.get(1..).is_some_and(|rest| rest.starts_with(['"', '\''])) => {
                let (length, text) = quoted(rest.get(1..).unwrap_or_default(), at + 1, true);
                (length + 1, text)
            }
            _ if first.is_whitespace() => (first.len_utf8(), None),
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), None),
            '0'..='9' => {
                let digits = word(|c| c.is_ascii_digit());
                (digits.len(), digits.parse().ok().map(Token::Number))
            }
            _ if first.is_ascii_alphabetic() || first == '_' => {
                let name = word(|c| c.is_ascii_alphanumeric() || c == '_');
                (name.len(), Some(Token::Name(name)))
            }
            _ => {
                let pair = PAIRS.into_iter().find(|pair| rest.starts_with(pair));
                let sign = pair.or_else(|| rest.get(..first.len_utf8())).unwrap_or_default();
                (sign.len(), Some(Token::Sign(sign)))
            }
        };
        found.extend(token);
        at += length;
    }
    found
}

/// Reads a text in quotes that stands at some byte: how long it is with them, and what it is where it has an end and no escapes.
fn quoted(rest: &str, at: usize, is_raw: bool) -> (usize, Option<Token<'_>>) {
    let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| rest.starts_with(quote));
    let quote = quote.unwrap_or_default();
    let (mut inner, mut has_escapes) = (quote.len(), false);
    while let Some(behind) = rest.get(inner..)
        && let Some(first) = behind.chars().next()
        && !behind.starts_with(quote)
    {
        let is_escape = first == '\\' && !is_raw;
        has_escapes |= is_escape;
        let escaped = behind.chars().nth(1).filter(|_| is_escape);
        inner += first.len_utf8() + escaped.map_or(0, char::len_utf8);
    }
    let is_plain = !has_escapes && rest.get(inner..).is_some_and(|behind| behind.starts_with(quote));
    let token = match is_plain {
        true => Token::Text(at + quote.len()..at + inner),
        false => Token::Sign(quote),
    };
    (inner + quote.len(), Some(token))
}

struct Reader<'t> {
    whole: &'t str,
    tokens: Vec<Token<'t>>,
    /// What macros give a name.
    named: HashMap<&'t str, Vec<Step<'t>>>,
}

// === impl Reader ===

impl<'t> Reader<'t> {
    /// Reads what stands at a token; returns the token to go on with.
    fn step(&mut self, at: usize, found: &mut Vec<Comparison<'t>>) -> usize {
        if !self.begins(at) {
            return at + 1;
        }
        if let Some(text) = self.text(at) {
            let path = if self.compares(at + 1) { self.path(at + 2) } else { None };
            let path = path.filter(|(_, end)| self.ends(*end));
            found.extend(path.map(|(path, _)| Comparison { path, text }));
            return at + 1;
        }
        let Some((path, end)) = self.path(at) else { return at + 1 };
        if let Some(text) = self.text(end + 1).filter(|_| self.compares(end) && self.ends(end + 2)) {
            found.push(Comparison { path, text });
        } else if let Some(name) = self.item_of_macro(end) {
            self.named.insert(name, path.into_iter().chain([Step::Each]).collect());
            return end + 5;
        }
        end
    }

    /// Reads a path.
    fn path(&self, at: usize) -> Option<(Vec<Step<'t>>, usize)> {
        let Some(Token::Name(first)) = self.tokens.get(at) else { return None };
        let mut path = self.named.get(first).cloned().unwrap_or_else(|| vec![Step::Key(first)]);
        let mut at = at + 1;
        while path.len() <= STEPS {
            let optional = usize::from(self.is_sign(at + 1, "?"));
            let next = at + 1 + optional;
            if self.is_sign(at, ".") {
                let Some(Token::Name(name)) = self.tokens.get(next) else { break };
                if self.is_sign(next + 1, "(") {
                    let Some(end) = self.fallback(name, next + 2) else { break };
                    at = end;
                    continue;
                }
                path.push(Step::Key(name));
                at = next + 1;
            } else if self.is_sign(at, "[") && self.is_sign(next + 1, "]") {
                match self.tokens.get(next) {
                    Some(Token::Number(index)) => path.push(Step::Index(*index)),
                    Some(Token::Text(key)) => path.push(Step::Key(self.whole.get(key.clone())?)),
                    _ => break,
                }
                at = next + 2;
            } else {
                return Some((path, at));
            }
        }
        (path.len() <= STEPS).then_some((path, at))
    }

    /// Returns where a call ends that takes an optional value, or something that is nothing in its place.
    fn fallback(&self, name: &str, at: usize) -> Option<usize> {
        let is_nothing = |at: usize| {
            let is_empty = self.is_sign(at, "[") && self.is_sign(at + 1, "]")
                || self.is_sign(at, "{") && self.is_sign(at + 1, "}");
            if is_empty { 2 } else { usize::from(self.text(at).is_some()) }
        };
        let end = match name {
            "value" => at,
            "orValue" => at + is_nothing(at),
            _ => return None,
        };
        self.is_sign(end, ")").then_some(end + 1)
    }

    /// Returns the name that a macro gives each item: `.exists(item, ..)`.
    fn item_of_macro(&self, at: usize) -> Option<&'t str> {
        let (Some(Token::Name(called)), Some(Token::Name(item))) =
            (self.tokens.get(at + 1), self.tokens.get(at + 3))
        else {
            return None;
        };
        let is_macro = MACROS.contains(called)
            && self.is_sign(at, ".")
            && self.is_sign(at + 2, "(")
            && self.is_sign(at + 4, ",");
        is_macro.then_some(*item)
    }

    fn text(&self, at: usize) -> Option<Range<usize>> {
        match self.tokens.get(at) {
            Some(Token::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }

    fn is_sign(&self, at: usize, wanted: &str) -> bool {
        matches!(self.tokens.get(at), Some(Token::Sign(sign)) if *sign == wanted)
    }

    fn compares(&self, at: usize) -> bool {
        self.is_sign(at, "==") || self.is_sign(at, "!=")
    }

    /// Tells whether a side of a comparison may begin at a token.
    fn begins(&self, at: usize) -> bool {
        let before = at.checked_sub(1);
        before.is_none_or(|before| {
            ["(", "[", "{", ",", "&&", "||", "?", ":"].iter().any(|sign| self.is_sign(before, sign))
        })
    }

    /// Tells whether one ends before a token.
    fn ends(&self, at: usize) -> bool {
        at >= self.tokens.len()
            || [")", "]", "}", ",", "&&", "||", "?", ":"].iter().any(|sign| self.is_sign(at, sign))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(expression: &str) -> Vec<String> {
        let step = |step: &Step<'_>| match step {
            Step::Key(key) => (*key).to_owned(),
            Step::Index(index) => index.to_string(),
            Step::Each => "*".to_owned(),
        };
        let path = |path: &[Step<'_>]| path.iter().map(step).collect::<Vec<_>>().join("/");
        let all = comparisons(expression);
        all.iter().map(|one| format!("{} {}", path(&one.path), &expression[one.text.clone()])).collect()
    }

    #[test]
    fn a_path_is_held_against_a_text() {
        for (expression, wanted) in [
            (r#"status.history[0].chartVersion == "1.2""#, "status/history/0/chartVersion 1.2"),
            ("'1.2' != dep.metadata.labels['a/b'] && true", "dep/metadata/labels/a/b 1.2"),
            (r#"(a.b == r"1.2") || c"#, "a/b 1.2"),
            ("has(a.b) ? a.b == '1.2' : false // a == '3'", "a/b 1.2"),
            ("a == '''1.2'''", "a 1.2"),
            ("status.history.exists(h, h.v == '1.2')", "status/history/*/v 1.2"),
            ("a.?b[?0].?c.orValue('') == '1.2'", "a/b/0/c 1.2"),
            ("a.?b.orValue([]).exists(x, x.c == '1.2')", "a/b/*/c 1.2"),
            ("a.filter(x, x.b == '1.2').size() > 0", "a/*/b 1.2"),
        ] {
            assert_eq!(found(expression), [wanted], "{expression}");
        }
        assert_eq!(found("a == 'x' && b == 'y' || !('z' == c)"), ["a x", "b y", "c z"]);
    }

    #[test]
    fn what_is_more_than_equal_is_no_comparison() {
        for expression in [
            "a + b == '1.2'",
            "a == '1.2' + b",
            "a.startsWith('1.2')",
            "a.trim() == '1.2'",
            "a in ['1.2']",
            "a > '1.2'",
            r"a == '1\.2'",
            "!a == '1.2'",
            "a == b'1.2'",
            "a == '1.2",
            "a[b] == '1.2'",
            "",
        ] {
            assert_eq!(found(expression), [""; 0], "{expression}");
        }
    }

    #[test]
    fn long_expressions_are_read_in_no_more_than_their_length() {
        let macros = |times: usize| "a.exists(a, ".repeat(times) + "a == '1.2'" + &")".repeat(times);
        assert_eq!(found(&macros(3)), ["a/*/*/* 1.2"]);
        assert_eq!(found(&macros(STEPS + 2)), [""; 0], "a path has an end");
        assert_eq!(found(&"a == '1.2' || ".repeat(BYTES)), [""; 0]);
        assert_eq!(found(&"a == '1.2' || ".repeat(4000)).len(), 4000);
    }
}

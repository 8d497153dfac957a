//! Step 5, pins: releases that go on in escapes of a quoted text.
//!
//! In: a line of YAML, JSON or HCL, and a release that its bytes name. Out: the release that whoever reads the text finds there:
//! `"edge-26.8.1\u0030"` is `edge-26.8.10`.

use super::class::{Class, class};
use crate::{
    pins::release_names::{Token, tokens},
    repo::RepoPath,
};

/// How an escape begins, and how many digits follow.
type Escape = (&'static str, usize);

/// How escapes of characters by their numbers begin, and how many digits follow. YAML has all of them between double quotes
/// (1.2.2, 5.7), HCL all but the first, and JSON the last.
const ESCAPES: &[Escape] = &[("\\x", 2), ("\\U", 8), ("\\u", 4)];
/// Characters behind a release that may still be of its name, and one more.
const LONGEST: usize = 16;
/// Characters before it among which its quote is looked for.
const NEAR: usize = 256;

/// Reads a release of a file to the end of its word; `None` where the whole of that is none.
pub(super) fn whole(path: &RepoPath, line: &str, token: Token) -> Option<Token> {
    let rest = line.get(token.span.end..).unwrap_or_default();
    if !rest.starts_with('\\') {
        return Some(token);
    }
    let escapes = escapes(path, line.get(..token.span.start)?);
    if escaped(rest, escapes).is_none() {
        return Some(token);
    }
    let mut word = line.get(token.span.clone())?.to_owned();
    let named = word.len();
    // Where each character more ends, in the bytes of the line.
    let mut ends = vec![0];
    while let Some((letter, end)) = next(rest, ends.last().copied().unwrap_or_default(), escapes)
        && (letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | '+'))
    {
        word.push(letter);
        ends.push(end);
        if ends.len() > LONGEST {
            return None;
        }
    }
    let Token { span, form, version } = tokens(&word).into_iter().find(|found| found.span.start == 0)?;
    // A full stop behind it is no part of its name.
    let end = token.span.end + ends.get(span.end.checked_sub(named)?)?;
    Some(Token { span: token.span.start..end, form, version })
}

/// Lists those that the language of a file has behind a part of a line: YAML has none between single quotes.
fn escapes(path: &RepoPath, before: &str) -> &'static [Escape] {
    let quote = || before.chars().rev().take(NEAR).find(|letter| matches!(letter, '"' | '\''));
    let first = match class(path) {
        Class::Terraform => 1,
        _ if path.name().ends_with(".json") => 2,
        _ if quote() == Some('\'') => ESCAPES.len(),
        _ => 0,
    };
    ESCAPES.get(first..).unwrap_or_default()
}

/// Reads the character at some byte, and says where it ends.
fn next(text: &str, at: usize, escapes: &[Escape]) -> Option<(char, usize)> {
    let rest = text.get(at..)?;
    let plain = || rest.chars().next().map(|letter| (letter, letter.len_utf8()));
    escaped(rest, escapes).or_else(plain).map(|(letter, length)| (letter, at + length))
}

/// Reads an escape, with its length.
fn escaped(text: &str, escapes: &[Escape]) -> Option<(char, usize)> {
    let (sign, count) = escapes.iter().find(|(sign, _)| text.starts_with(sign))?;
    let length = sign.len() + count;
    let digits = text.get(sign.len()..length)?;
    let number = digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok());
    Some((char::from_u32(number??)?, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of the first release of a line of YAML, and the release.
    fn first(line: &str) -> Option<(&str, String)> {
        in_file("a.yaml", line)
    }

    fn in_file<'t>(path: &str, line: &'t str) -> Option<(&'t str, String)> {
        let token = tokens(line).into_iter().next()?;
        let Token { span, version, .. } = whole(&RepoPath::new(path).unwrap(), line, token)?;
        Some((&line[span], version.to_string()))
    }

    #[test]
    fn a_release_goes_on_in_an_escape() {
        for line in [r#""edge-26.8.1\x30""#, r#""edge-26.8.1\u0030 x""#, r#""edge-26.8.1\U00000030.""#] {
            let (text, version) = first(line).unwrap();
            assert!(line.contains(text) && text.starts_with("edge-26.8.1\\"), "{text}");
            assert_eq!(version, "edge-26.8.10", "{line}");
        }
        assert_eq!(first(r#""2026.8\x2e1\x30""#), None, "its bytes name none");
        assert_eq!(first(r#""v2026.8.1\x30""#), Some((r"2026.8.1\x30", "edge-26.8.10".to_owned())));
    }

    #[test]
    fn each_language_has_its_own() {
        let goes_on = |path: &str, line: &str| in_file(path, line).unwrap().1 == "edge-26.8.10";
        let [byte, four, eight] = [r"\x30", r"\u0030", r"\U00000030"].map(|escape| {
            ["a.yaml", "a.tf", "a.json"].map(|path| goes_on(path, &format!("\"edge-26.8.1{escape}\"")))
        });
        assert_eq!(byte, [true, false, false]);
        assert_eq!(four, [true; 3]);
        assert_eq!(eight, [true, true, false]);
        assert!(!goes_on("a.yaml", r"a: 'edge-26.8.1\x30'"));
        assert!(goes_on("a.yaml", r#"{a: 'b', c: "edge-26.8.1\x30"}"#));
    }

    #[test]
    fn what_is_no_part_of_the_word_ends_it() {
        for line in [
            r#""edge-26.8.1\x20x""#,
            r#""edge-26.8.1\u002f""#,
            r#""edge-26.8.1\u002e""#,
            r#""edge-26.8.1\\x30""#,
            r#""edge-26.8.1\n""#,
            r"edge-26.8.1\xyz",
            r"edge-26.8.1\u00",
            "edge-26.8.1",
        ] {
            assert_eq!(first(line), Some(("edge-26.8.1", "edge-26.8.1".to_owned())), "{line}");
        }
    }

    #[test]
    fn a_word_that_goes_on_to_something_else_names_no_release() {
        assert_eq!(first(r#""edge-26.8.1\x64""#), None);
        assert_eq!(first(&format!(r"edge-26.8.1\x30{}", "-".repeat(LONGEST))), None);
    }
}

//! Step 5, pins: releases that go on in escapes of a quoted text.
//!
//! In: a line of YAML, JSON or HCL, and a release that its bytes name. Out: the release that whoever reads the text finds there:
//! `"edge-26.8.1\u0030"` is `edge-26.8.10`.

use crate::pins::version_text::{Token, tokens};

/// How escapes of characters by their numbers begin, and how many digits follow (YAML 1.2.2, 5.7; JSON; HCL).
const ESCAPES: [(&str, usize); 3] = [("\\x", 2), ("\\u", 4), ("\\U", 8)];
/// Characters behind a release that may still be of its name, and one more.
const LONGEST: usize = 16;

/// Reads a release to the end of its word; `None` where the whole of that is none.
pub(super) fn whole(line: &str, token: Token) -> Option<Token> {
    let rest = line.get(token.span.end..).unwrap_or_default();
    if escaped(rest).is_none() {
        return Some(token);
    }
    let mut word = line.get(token.span.clone())?.to_owned();
    let named = word.len();
    // Where each character more ends, in the bytes of the line.
    let mut ends = vec![0];
    while let Some((letter, end)) = next(rest, ends.last().copied().unwrap_or_default())
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

/// Reads the character at some byte, and says where it ends.
fn next(text: &str, at: usize) -> Option<(char, usize)> {
    let rest = text.get(at..)?;
    let plain = || rest.chars().next().map(|letter| (letter, letter.len_utf8()));
    escaped(rest).or_else(plain).map(|(letter, length)| (letter, at + length))
}

/// Reads an escape, with its length.
fn escaped(text: &str) -> Option<(char, usize)> {
    let (sign, count) = ESCAPES.into_iter().find(|(sign, _)| text.starts_with(sign))?;
    let length = sign.len() + count;
    let digits = text.get(sign.len()..length)?;
    let number = digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok());
    Some((char::from_u32(number??)?, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of the first release of a line, and the release.
    fn first(line: &str) -> Option<(&str, String)> {
        let token = tokens(line).into_iter().next()?;
        let Token { span, version, .. } = whole(line, token)?;
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

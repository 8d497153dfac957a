//! Text of others made safe for where it is shown.

use std::{borrow::Cow, fmt::Write};

use crate::explain::markdown::is_hidden;

/// Shows hidden characters by their number, so that text of a repository cannot steer a terminal.
///
/// ```
/// use uplinker::report::for_terminal;
/// assert_eq!(for_terminal("a\u{1b}[31mb\u{202e}"), "a\\u{1b}[31mb\\u{202e}");
/// ```
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().fold(String::new(), |mut out, c| {
        match is_hidden(c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
        out
    }))
}

/// The same for text of several lines, whose line breaks and tabs stay.
pub fn lines_for_terminal(text: &str) -> String {
    let line = |line: &str| line.split('\t').map(for_terminal).collect::<Vec<_>>().join("\t");
    text.split('\n').map(|l| line(l.strip_suffix('\r').unwrap_or(l))).collect::<Vec<_>>().join("\n")
}

/// Puts text of several lines into a fence of Markdown that the text cannot close.
pub(super) fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

/// Escapes in finished JSON what a terminal, or a runner of GitHub Actions (`##[`), would act on; such characters stand
/// only inside strings.
pub fn for_json(json: String) -> String {
    // Nearly all of it has nothing of the kind, and a list of pins can be long.
    let is_plain = json.bytes().all(|b| matches!(b, b'\n' | b' '..=b'~'));
    if !json.contains("##[") && (is_plain || !json.contains(|c| is_hidden(c) && c != '\n')) {
        return json;
    }
    json.replace("##[", "#\\u0023[").chars().fold(String::with_capacity(json.len()), |mut out, c| {
        match is_hidden(c) && c != '\n' {
            true => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            false => out.push(c),
        }
        out
    })
}

/// Makes JSON of a value: pretty, safe on a terminal, with a line break at its end.
pub(super) fn json(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_else(|e| format!("{{\"error\": \"{e}\"}}"));
    for_json(text) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_control_character() {
        for hostile in ["\u{9b}31m", "\u{7f}", "\r", "\u{2066}", "\u{e0041}", "\0", "\u{feff}"] {
            assert!(!for_terminal(hostile).contains(is_hidden), "{hostile:?}");
            assert!(
                !lines_for_terminal(&format!("a{hostile}b"))
                    .contains(|c: char| c != '\n' && c != '\t' && is_hidden(c))
            );
        }
        assert_eq!(lines_for_terminal("a\r\n\tb\u{1b}"), "a\n\tb\\u{1b}");
        assert!(matches!(for_terminal("plain é"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({"b": "##[error]", "a": "\u{9b}\u{1b}\u{e0041}\u{202e}\u{7f} é"});
        let text = json(&value);
        assert!(!text.contains(|c| is_hidden(c) && c != '\n') && !text.contains("##["), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn a_fence_cannot_be_closed() {
        assert_eq!(fenced("x\n```\ny", "diff"), "````diff\nx\n```\ny\n````\n");
    }
}

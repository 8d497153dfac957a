//! Step 5, render: two values that differ, as a sentence shows them.
//!
//! In: what is committed and what the chart gives. Out: a short text of each, of long ones the part that differs.
//! Numbers stay numbers, texts have quotes, and what is secret is hidden.

use serde_json::Value;

use crate::render::mask;

/// The longest text of a value that is shown.
const SHOWN: usize = 60;

/// So much of what is alike is shown before the difference.
const BEFORE: usize = 20;

/// Shows a value beside the other one.
pub(super) fn shown(value: &Value, other: Option<&Value>, secret: bool) -> String {
    let secret = secret || value.to_string().contains("PRIVATE KEY");
    let masked = mask::shown(value, secret);
    let Value::String(text) = value else { return cut(&masked, false) };
    if secret || masked.starts_with('(') && masked != *text || masked.starts_with("certificate ") {
        return masked;
    }
    let other = other.and_then(Value::as_str).unwrap_or_default();
    let (part, inner) = differing(text, other);
    let line = part.split(char::is_control).collect::<Vec<_>>().join(" ");
    format!("{}{}", if inner { "…" } else { "" }, cut(&line, true))
}

/// Returns the text from where it differs, with a little before; of several lines the one that does. Also whether there
/// is more before.
fn differing<'t>(text: &'t str, other: &str) -> (&'t str, bool) {
    let same: usize =
        text.chars().zip(other.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    let (before, behind) = text.split_at_checked(same).unwrap_or(("", text));
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let end = behind.find('\n').map_or(text.len(), |at| same + at);
    let near = before.char_indices().rev().nth(BEFORE).map_or(0, |(at, _)| at);
    let start = if same - line > SHOWN / 2 { near.max(line) } else { line };
    (text.get(start..end).unwrap_or_default(), start > 0)
}

fn cut(text: &str, quotes: bool) -> String {
    let quoted = |text: &str| if quotes { format!("{text:?}") } else { text.to_owned() };
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", quoted(text.get(..end).unwrap_or_default())),
        None => quoted(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pair(a: Value, b: Value) -> (String, String) {
        (shown(&a, Some(&b), false), shown(&b, Some(&a), false))
    }

    #[test]
    fn numbers_have_no_quotes_and_texts_have() {
        assert_eq!(pair(json!(3), json!("3")), ("3".into(), "\"3\"".into()));
        assert_eq!(pair(json!(null), json!({"a": true})), ("null".into(), "{\"a\":true}".into()));
        assert_eq!(pair(json!("a"), json!("")), ("\"a\"".into(), "\"\"".into()));
    }

    #[test]
    fn of_long_texts_the_part_that_differs_is_shown() {
        let long = |end: &str| json!(format!("{}{end}", "0123456789".repeat(9)));
        assert_eq!(pair(long("a"), long("b")).0, "…\"901234567890123456789a\"");
        let lines = |version: &str| json!(format!("a: 1\nlinkerdVersion: {version}\nz: 1\n"));
        let (one, other) = pair(lines("edge-26.8.2"), lines("edge-26.6.3"));
        assert_eq!(one, "…\"linkerdVersion: edge-26.8.2\"");
        assert_eq!(other, "…\"linkerdVersion: edge-26.6.3\"");
        assert_eq!(shown(&json!("é".repeat(90)), None, false), format!("\"{}\"…", "é".repeat(60)));
        assert_eq!(pair(json!("ab"), json!("a")), ("\"ab\"".into(), "\"a\"".into()));
    }

    #[test]
    fn what_is_secret_is_hidden() {
        let key =
            json!("-----BEGIN EC PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAAAAAA\n-----END EC PRIVATE KEY-----\n");
        assert!(
            !shown(&key, None, false).contains("AAA") && !shown(&json!([key]), None, false).contains("AAA")
        );
        assert_eq!(shown(&json!("Opaque"), Some(&json!("x")), true), "(hidden)");
        assert_eq!(shown(&json!({"a": "b"}), None, true), "{\"a\":\"(hidden)\"}");
    }
}

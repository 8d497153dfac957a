//! Step 7, render: two values that differ, as a sentence shows them.
//!
//! In: what is committed and what the chart gives. Out: a short text of each, of long ones the part that differs. The two
//! are never alike: numbers stay numbers and texts have quotes, what cannot be seen is escaped, and of what is secret it
//! is said that it differs.

use serde_json::Value;

use super::field::{ordered, same};
use crate::render::mask;

/// The longest text of a value that is shown.
const SHOWN: usize = 60;

/// So much of what is alike is shown before the difference.
const BEFORE: usize = 20;

/// What is said where both sides are hidden behind the same words.
const ANOTHER: &str = ", but another text";

/// A value on the way to its short text.
struct Writing {
    text: String,
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A text, which has quotes.
    Text,
    /// Anything else, as JSON.
    Json,
    /// What stands for something that is not shown.
    Cover,
}

/// Shows what both sides have, as far as they have it.
pub(super) fn sides(
    committed: Option<&Value>,
    rendered: Option<&Value>,
    secret: bool,
) -> (Option<String>, Option<String>) {
    match (committed, rendered) {
        (Some(one), Some(other)) => {
            let (one, other) = pair(one, other, secret);
            (Some(one), Some(other))
        }
        (one, other) => (one.map(|value| alone(value, secret)), other.map(|value| alone(value, secret))),
    }
}

/// Shows a value that has none beside it.
fn alone(value: &Value, secret: bool) -> String {
    let writing = Writing::of(value, secret);
    writing.cut(0, writing.text.len(), Escapes::default())
}

/// Shows two values that differ; `secret` hides them.
fn pair(committed: &Value, rendered: &Value, secret: bool) -> (String, String) {
    let (one, other) = Writing::of_items(committed, rendered, secret)
        .unwrap_or_else(|| (Writing::of(committed, secret), Writing::of(rendered, secret)));
    if one.form != other.form || one.form == Form::Cover {
        let (one, other) = (one.whole(), other.whole());
        let more = if one == other { ANOTHER } else { "" };
        return (one, other + more);
    }
    let escapes = Escapes::for_these(&one.text, &other.text);
    let same = common(&one.text, &other.text);
    let start = one.start(same, other.text.len().min(one.text.len()) == same);
    (one.part(start, same, escapes), other.part(start, same, escapes))
}

// === impl Writing ===

impl Writing {
    fn of(value: &Value, secret: bool) -> Self {
        let secret = secret || value.to_string().contains("PRIVATE KEY");
        match value {
            Value::String(text) => match mask::covered(text, secret) {
                Some(text) => Self { text, form: Form::Cover },
                None => Self { text: text.clone(), form: Form::Text },
            },
            Value::Array(_) | Value::Object(_) => {
                let shown = mask::masked(&ordered(value), secret);
                // Two that differ in what is hidden are alike now.
                let form = if secret { Form::Cover } else { Form::Json };
                Self { text: shown.to_string(), form }
            }
            other if secret => Self { text: mask::masked(other, true).to_string(), form: Form::Cover },
            other => Self { text: other.to_string(), form: Form::Json },
        }
    }

    /// Of two lists the items that are not the same on both sides.
    fn of_items(one: &Value, other: &Value, secret: bool) -> Option<(Self, Self)> {
        let (one, other) = (one.as_array()?, other.as_array()?);
        let sealed = |items: &[Value]| items.iter().any(|item| item.to_string().contains("PRIVATE KEY"));
        if secret || sealed(one) || sealed(other) {
            return None;
        }
        let first = one.iter().zip(other).take_while(|(a, b)| same(a, b)).count();
        let (rest, others) = (one.get(first..)?, other.get(first..)?);
        let last = rest.iter().rev().zip(others.iter().rev()).take_while(|(a, b)| same(a, b)).count();
        let writing = |items: &[Value]| {
            let items = items.get(..items.len() - last).unwrap_or_default();
            let items = items.iter().map(|item| mask::masked(&ordered(item), false).to_string());
            let around = |number: usize| (number > 0).then(|| "…".to_owned());
            let parts: Vec<String> = around(first).into_iter().chain(items).chain(around(last)).collect();
            Self { text: format!("[{}]", parts.join(",")), form: Form::Json }
        };
        Some((writing(rest), writing(others)))
    }

    fn whole(&self) -> String {
        self.cut(0, self.text.len(), Escapes::default())
    }

    /// Finds from where it is shown, a little before the difference: from the begin of a line, where that is near.
    fn start(&self, same: usize, ends: bool) -> usize {
        let before = self.text.get(..same).unwrap_or_default();
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        let near = before.char_indices().rev().nth(BEFORE - 1).map_or(0, |(at, _)| at);
        // Where one of them ends, the line alone would be nothing.
        let line = if ends && line == same { near } else { line };
        if before.get(line..).is_some_and(|line| line.chars().count() > SHOWN / 2) { near } else { line }
    }

    /// Shows it from a place to the end of the line on which it differs.
    fn part(&self, start: usize, same: usize, escapes: Escapes) -> String {
        let behind = self.text.get(same..).unwrap_or_default();
        let end = match behind.find('\n') {
            // That a line ends here is the difference.
            Some(0) => same + 1,
            Some(at) => same + at,
            None => self.text.len(),
        };
        self.cut(start, end, escapes)
    }

    fn cut(&self, start: usize, end: usize, escapes: Escapes) -> String {
        let part = self.text.get(start..end).unwrap_or_default();
        let (part, more) = match part.char_indices().nth(SHOWN) {
            Some((at, _)) => (part.get(..at).unwrap_or_default(), "…"),
            None => (part, ""),
        };
        let shown = match self.form {
            Form::Text => format!("\"{}\"", escapes.of(part, true)),
            Form::Json => escapes.of(part, false),
            Form::Cover => part.to_owned(),
        };
        format!("{}{shown}{more}", if start > 0 { "…" } else { "" })
    }
}

/// What is written so that it can be seen, beside what never can.
#[derive(Clone, Copy, Default)]
struct Escapes {
    /// Blanks, of which a page shows one where there are several.
    blanks: bool,
    /// Letters beyond ASCII, which may look like others.
    letters: bool,
}

// === impl Escapes ===

impl Escapes {
    fn for_these(one: &str, other: &str) -> Self {
        let same = common(one, other);
        let next = [one, other].map(|text| text.get(same..).and_then(|rest| rest.chars().next()));
        Self {
            blanks: one.split_whitespace().eq(other.split_whitespace()),
            letters: next.into_iter().flatten().any(|c| !c.is_ascii()),
        }
    }

    fn of(self, text: &str, quotes: bool) -> String {
        let one = |c: char| match c {
            ' ' if self.blanks => "␣".to_owned(),
            // What is left out of a list is said by an ellipsis.
            '"' | '\\' | '…' if !quotes => c.to_string(),
            '\'' => c.to_string(),
            c if self.letters && !c.is_ascii() => c.escape_unicode().to_string(),
            c => c.escape_debug().to_string(),
        };
        text.chars().map(one).collect()
    }
}

/// Returns how much of two texts is the same from their begin.
fn common(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn shown(a: Value, b: Value) -> (String, String) {
        pair(&a, &b, false)
    }

    fn texts(a: &str, b: &str) -> (String, String) {
        shown(json!(a), json!(b))
    }

    fn pair_of(a: &str, b: &str) -> (String, String) {
        (a.to_owned(), b.to_owned())
    }

    #[test]
    fn numbers_have_no_quotes_and_texts_have() {
        assert_eq!(shown(json!(3), json!("3")), pair_of("3", "\"3\""));
        assert_eq!(shown(json!("true"), json!(true)), pair_of("\"true\"", "true"));
        assert_eq!(shown(json!(null), json!({"a": true})), pair_of("null", "{\"a\":true}"));
        assert_eq!(texts("a", ""), pair_of("\"a\"", "\"\""));
        assert_eq!(alone(&json!("é".repeat(90)), false), format!("\"{}\"…", "é".repeat(60)));
    }

    #[test]
    fn of_long_texts_the_part_that_differs_is_shown() {
        let long = |end: &str| format!("{}{end}", "0123456789".repeat(9));
        assert_eq!(texts(&long("a"), &long("b")).0, "…\"01234567890123456789a\"");
        let lines = |version: &str| format!("a: 1\nlinkerdVersion: {version}\nz: 1\n");
        let (one, other) = texts(&lines("edge-26.8.2"), &lines("edge-26.6.3"));
        assert_eq!(one, "…\"linkerdVersion: edge-26.8.2\"");
        assert_eq!(other, "…\"linkerdVersion: edge-26.6.3\"");
        assert_eq!(texts("ab", "a"), pair_of("\"ab\"", "\"a\""));
        let list = |last: &str| json!([{"a": "x".repeat(80)}, {"b": last, "n": null}]);
        let (one, other) = shown(list("1"), json!([{"a": "x".repeat(80)}, {"b": 1}]));
        assert!(one.ends_with("{\"b\":\"1\"}]") && other.ends_with("{\"b\":1}]"), "{one} {other}");
    }

    #[test]
    fn of_lists_the_items_that_differ_are_shown() {
        let rule = |of: &str| json!({"verbs": ["list"], "resources": [of]});
        let (one, other) = shown(json!([rule("a"), rule("b"), rule("c")]), json!([rule("a"), rule("c")]));
        assert_eq!(
            (one.as_str(), other.as_str()),
            ("[…,{\"resources\":[\"b\"],\"verbs\":[\"list\"]},…]", "[…,…]")
        );
        assert_eq!(shown(json!(["a"]), json!(["b", "c"])), pair_of("[\"a\"]", "[\"b\",\"c\"]"));
    }

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        assert_eq!(texts("a b", "a  b"), pair_of("\"a␣b\"", "\"a␣␣b\""));
        assert_eq!(texts("a\n", "a"), pair_of("\"a\\n\"", "\"a\""));
        assert_eq!(texts("a: 1\n", "a: 1\n\n"), pair_of("\"a:␣1\\n\"", "\"a:␣1\\n\\n\""));
        assert_eq!(texts("a\r\nb", "a\nb"), pair_of("\"a\\r\"", "\"a\\n\""));
        assert_eq!(texts("a\u{a0}b", "a b").0, "\"a\\u{a0}b\"");
        assert_eq!(texts("\u{430}dmin", "admin"), pair_of("\"\\u{430}dmin\"", "\"admin\""));
        assert_eq!(texts("é", "e\u{301}"), pair_of("\"\\u{e9}\"", "\"e\\u{301}\""));
        assert_eq!(texts("\u{200b}x", "x").0, "\"\\u{200b}x\"");
    }

    #[test]
    fn what_is_secret_is_hidden_and_said_to_differ() {
        let key =
            json!("-----BEGIN EC PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAAAAAA\n-----END EC PRIVATE KEY-----\n");
        assert!(!alone(&key, false).contains("AAA") && !alone(&json!([key]), false).contains("AAA"));
        let hidden = |a: Value, b: Value| pair(&a, &b, true);
        assert_eq!(hidden(json!("Opaque"), json!("x")), pair_of("(hidden)", "(hidden), but another text"));
        assert_eq!(
            hidden(json!({"a": "b"}), json!({"a": "c"})),
            pair_of("{\"a\":\"(hidden)\"}", "{\"a\":\"(hidden)\"}, but another text")
        );
        assert_eq!(hidden(json!(1), json!("x")).0, "\"(hidden)\"");
        let pem = rcgen::generate_simple_self_signed(["a.b".to_owned()]).unwrap().cert.pem();
        let (one, other) = texts(&pem, pem.trim_end());
        assert_eq!(other, format!("{one}, but another text"));
    }

    fn value() -> impl Strategy<Value = Value> {
        let text = "[ \\t\\n\\r\"'\\\\a-b0é\u{a0}\u{430}\u{301}]{0,90}";
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0_i64..3).prop_map(Value::from),
            text.prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[ab]", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn values_that_differ_are_shown_differently(a in value(), b in value(), secret: bool) {
            if !same(&a, &b) {
                // As a page shows them: several blanks are one there.
                let squeezed = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
                let (one, other) = pair(&a, &b, secret);
                prop_assert_ne!(squeezed(one), squeezed(other));
            }
        }
    }
}

//! Step 7, render: values as YAML text.
//!
//! In: a value and where it is to stand. Out: text. One that replaces another takes its style.

use serde::Serialize as _;
use serde_json::{
    Value,
    ser::{PrettyFormatter, Serializer},
};

use crate::yaml::{Node, Style, core};

/// Writes a text in the place of a scalar, in its style where that can hold it.
pub(super) fn like(text: &str, node: Node<'_>, new: &str) -> String {
    // Nothing can only be written with quotes, which say nothing of what comes in its place.
    let style = node.style().filter(|_| node.as_str() != Some("") || !is_plain(new));
    match style {
        None if is_plain(new) => new.to_owned(),
        Some(Style::SingleQuoted) if !new.contains(char::is_control) => {
            format!("'{}'", new.replace('\'', "''"))
        }
        Some(Style::Literal | Style::Folded) => {
            literal(new, block_indent(text, node)).unwrap_or_else(|| quoted(new))
        }
        Some(Style::Plain) if is_plain(new) => new.to_owned(),
        _ => quoted(new),
    }
}

/// Returns where what is written of a scalar ends: the blank lines below a block scalar are not of it.
pub(super) fn end(text: &str, node: Node<'_>) -> usize {
    let span = node.span();
    let written = text.get(span.clone()).unwrap_or_default();
    span.start + written.trim_end_matches(['\n', '\r', ' ', '\t']).len()
}

/// Writes a value that stands on one line: a scalar, or an empty or flow collection.
pub(super) fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => match is_plain(text) {
            true => text.clone(),
            false => quoted(text),
        },
        other => other.to_string(),
    }
}

/// Writes a value behind `key:` or `-`, with the space or line break before it.
pub(super) fn behind(value: &Value, indent: usize) -> String {
    match value {
        Value::Object(map) if !map.is_empty() => format!("\n{}", entries(value, indent)),
        Value::Array(items) if !items.is_empty() => format!("\n{}", entries(value, indent)),
        Value::String(text) if text.contains('\n') => {
            format!(" {}", literal(text, indent).unwrap_or_else(|| quoted(text)))
        }
        other => format!(" {}", inline(other)),
    }
}

/// Writes the entries of a mapping or the items of a list, one below the other, without a line break at the end.
pub(super) fn entries(value: &Value, indent: usize) -> String {
    let mut lines = Vec::new();
    match value {
        Value::Object(map) => {
            lines.extend(
                map.iter().map(|(key, value)| format!("{:indent$}{}", "", entry(key, value, indent))),
            );
        }
        Value::Array(items) => {
            lines.extend(items.iter().map(|item| format!("{:indent$}{}", "", self::item(item, indent))));
        }
        _ => {}
    }
    lines.join("\n")
}

/// Writes an entry whose key stands in the given column.
pub(super) fn entry(key: &str, value: &Value, column: usize) -> String {
    let key = if is_plain(key) { key.to_owned() } else { quoted(key) };
    // As Helm's own `toYaml` does, lists stand below their key without indentation.
    let indent = if value.is_array() { column } else { column + 2 };
    format!("{key}:{}", behind(value, indent))
}

/// Writes an item whose dash stands in the given column.
pub(super) fn item(value: &Value, column: usize) -> String {
    match value {
        Value::Object(map) if !map.is_empty() => format!("- {}", entries(value, column + 2).trim_start()),
        Value::Array(items) if !items.is_empty() => format!("- {}", entries(value, column + 2).trim_start()),
        other => format!("-{}", behind(other, column + 2)),
    }
}

/// Writes a flow collection over several lines, as in JSON: it begins in a line with this indentation, and each level is
/// `step` further in.
pub(super) fn flow(value: &Value, indent: usize, step: usize) -> Option<String> {
    let step = " ".repeat(step);
    let mut out = Vec::new();
    let formatter = PrettyFormatter::with_indent(step.as_bytes());
    value.serialize(&mut Serializer::with_formatter(&mut out, formatter)).ok()?;
    Some(String::from_utf8(out).ok()?.replace('\n', &format!("\n{:indent$}", "")))
}

/// Tells whether a text needs no quotes, in a block as in a flow collection.
fn is_plain(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_graphic() && !"[]{},\"'`&*|".contains(c) || c == ' ';
    core::is_plain_text(text)
        || begins_plain(text)
            && text.chars().all(inner)
            && !text.contains(": ")
            && !text.contains(" #")
            && !text.ends_with([' ', ':'])
            && (!core::is_typed(text) || is_hash(text))
}

/// Tells whether a text begins as no indicator does: with a letter or digit, as a flag of a program, or as a path.
fn begins_plain(text: &str) -> bool {
    let first = ["--", "-", "./"].iter().find_map(|lead| text.strip_prefix(lead)).unwrap_or(text);
    first.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/')
}

/// Tells whether a text is hexadecimal and only begins as a binary number does.
fn is_hash(text: &str) -> bool {
    let digits = text.strip_prefix("0b").unwrap_or_default();
    digits.bytes().all(|b| b.is_ascii_hexdigit()) && digits.bytes().any(|b| !matches!(b, b'0' | b'1'))
}

fn quoted(text: &str) -> String {
    // JSON's escapes are YAML's in double quotes.
    Value::from(text).to_string()
}

/// Writes a block scalar from its header; `None` where it cannot hold the text.
fn literal(text: &str, indent: usize) -> Option<String> {
    let body = text.trim_end_matches('\n');
    let header = match text.len() - body.len() {
        0 => "|-",
        1 => "|",
        _ => return None,
    };
    let odd = |c: char| c != '\n' && c != '\t' && c.is_control();
    if body.is_empty() || body.starts_with([' ', '\n', '\t']) || body.contains(odd) {
        return None;
    }
    let lines = body
        .split('\n')
        .map(|line| if line.is_empty() { String::new() } else { format!("{:indent$}{line}", "") });
    Some(format!("{header}\n{}", lines.collect::<Vec<_>>().join("\n")))
}

/// Returns the indentation of a block scalar's lines.
fn block_indent(text: &str, node: Node<'_>) -> usize {
    let written = text.get(node.span()).unwrap_or_default();
    let first = written.lines().skip(1).find(|line| !line.trim().is_empty());
    let above = || {
        let line = text.get(..node.span().start).and_then(|t| t.rsplit('\n').next()).unwrap_or_default();
        line.len() - line.trim_start().len() + 2
    };
    first.map_or_else(above, |line| line.len() - line.trim_start().len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{render::value, yaml::Stream};
    use serde_json::json;

    #[test]
    fn what_is_written_is_read_as_it_was() {
        for value in [
            json!({"a": "x", "b": "yes", "c": "1", "d": 1, "e": null, "f": {}, "g": [], "h y: #": "- x"}),
            json!({"t": "a\nb\n", "u": "a\n\n b", "v": " a\nb", "w": "a\n\n", "x": "\u{7}\n"}),
            json!({"l": [{"a": 1, "b": [1, [2]], "c": {"d": "e\nf"}}, "x", []], "%!s(<nil>)": "linkerd/helm %!s(<nil>)"}),
        ] {
            let text = format!("k:{}\n", behind(&value, 2));
            assert_eq!(value::read(&text).unwrap()["k"], value, "{text}");
            let list = format!("k:\n{}\n", entries(&json!([value, value]), 0));
            assert_eq!(value::read(&list).unwrap()["k"][1], value, "{list}");
        }
    }

    #[test]
    fn a_scalar_keeps_its_style_where_it_can() {
        let written = |text: &str, new: &str| {
            let stream = Stream::parse(text).unwrap();
            let node = stream.roots().next().unwrap().get("v").unwrap();
            format!("{}{}{}", &text[..node.span().start], like(text, node, new), &text[end(text, node)..])
        };
        assert_eq!(written("v: a # c\n", "b"), "v: b # c\n");
        assert_eq!(written("v: a # c\n", "yes"), "v: \"yes\" # c\n");
        assert_eq!(written("v: a\n", "bGsgbXUgbmF0dXM="), "v: bGsgbXUgbmF0dXM=\n");
        assert_eq!(written("v: a\n", "linkerd/helm %!s(<nil>)"), "v: linkerd/helm %!s(<nil>)\n");
        assert_eq!(written("v: a\n", "--log-level=info"), "v: --log-level=info\n");
        assert_eq!(written("v: a\n", "-1"), "v: \"-1\"\n");
        assert_eq!(written("v: a\n", "0b1d"), "v: 0b1d\n");
        assert_eq!(written("v: a\n", "0b10"), "v: \"0b10\"\n");
        assert_eq!(written("v: a\n", "b: c"), "v: \"b: c\"\n");
        assert_eq!(written("v: 'a'\n", "it's"), "v: 'it''s'\n");
        assert_eq!(written("v: \"a\"\n", "1 2"), "v: \"1 2\"\n");
        assert_eq!(written("v: |-\n    a\n\nw: 1\n", "b\nc\n"), "v: |\n    b\n    c\n\nw: 1\n");
    }
}

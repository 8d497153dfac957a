//! How a plain scalar is typed by what Kubernetes, Helm, Flux and Argo CD read YAML with (sigs.k8s.io/yaml, whose
//! parser is go-yaml v2: `resolve.go`), and how Go prints what came of it.

use std::{borrow::Cow, ops::Range};

use super::core;

/// A scalar's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Typed {
    /// Nothing.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Another number.
    Float(f64),
    /// A text, also of a scalar that the tree does not say.
    Text(String),
}

/// Types a text that stands without quotes.
pub fn plain(text: &str) -> Typed {
    if let Some(is) = core::boolean(text) {
        return Typed::Bool(is);
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Typed::Null,
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Typed::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Typed::Float(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => return Typed::Float(f64::NAN),
        _ => {}
    }
    let may_be_number = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'));
    let digits = text.replace('_', "");
    if may_be_number && let Some(int) = int(&digits) {
        return Typed::Int(int);
    }
    if may_be_number
        && is_float(&digits)
        && let Ok(float) = digits.parse()
    {
        return Typed::Float(float);
    }
    Typed::Text(text.to_owned())
}

/// Reads a whole number as Go's `ParseInt` with base 0 does.
fn int(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.get(..2) {
        Some("0x") => (16, &lower[2..]),
        Some("0o") => (8, &lower[2..]),
        Some("0b") => (2, &lower[2..]),
        _ if lower.len() > 1 && lower.starts_with('0') => (8, &lower[1..]),
        _ => (10, &*lower),
    };
    let plain = digits.bytes().all(|b| b.is_ascii_alphanumeric());
    let value = i128::from_str_radix(digits, radix).ok().filter(|_| plain)?;
    i64::try_from(if negative { -value } else { value }).ok()
}

fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(m, e)| (m, Some(e)));
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    let mantissa_is = match mantissa.split_once('.') {
        Some(("", behind)) => !behind.is_empty() && digits(behind),
        Some((before, behind)) => digits(before) && digits(behind),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    let exponent_is = |e: &str| {
        let e = e.strip_prefix(['+', '-']).unwrap_or(e);
        !e.is_empty() && digits(e)
    };
    mantissa_is && exponent.is_none_or(exponent_is)
}

/// Says what a key is called that stands without quotes: sigs.k8s.io/yaml makes a text of each (`yaml.go`,
/// `convertToJSONableObject`), so that `on` is `true`, and `1.30` is `1.3`.
pub fn key(text: &str) -> Cow<'_, str> {
    match plain(text) {
        Typed::Bool(value) => value.to_string().into(),
        Typed::Int(value) => value.to_string().into(),
        Typed::Float(value) if value.is_infinite() => if value > 0.0 { ".inf" } else { "-.inf" }.into(),
        Typed::Float(value) if value.is_nan() => ".nan".into(),
        Typed::Float(value) => printed(value, -4..6).into(),
        Typed::Null | Typed::Text(_) => text.into(),
    }
}

/// Prints a number as Go's `%v` prints a `float64`, as which JSON gives every number: `26.10` is `26.1`.
pub fn number(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    printed(value, -4..21)
}

/// Prints a finite number, in digits alone where its exponent is one of these.
fn printed(value: f64, plain: Range<i32>) -> String {
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if plain.contains(&exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_are_typed_as_yaml_1_1_has_it() {
        assert_eq!(plain("yes"), Typed::Bool(true));
        assert_eq!(plain("~"), Typed::Null);
        assert_eq!(plain("0123"), Typed::Int(83));
        assert_eq!(plain("1_000"), Typed::Int(1000));
        assert_eq!(plain("-0x10"), Typed::Int(-16));
        assert_eq!(plain("26.10"), Typed::Float(26.1));
        assert_eq!(plain("1e3"), Typed::Float(1000.0));
        assert_eq!(plain("0128"), Typed::Float(128.0));
        for text in ["2026.8.2", "edge-26.8.2", "0x", "--1", "1e", ".", "2026-08-02", "+-1", "-"] {
            assert_eq!(plain(text), Typed::Text(text.to_owned()), "{text}");
        }
    }

    #[test]
    fn keys_are_texts_of_what_yaml_1_1_reads() {
        let keys = [
            "on", "n", "1.30", "010", "0x10", "1_000", "1e6", "123456.5", ".inf", "~", "12:30", "2026.8.2",
            "a",
        ];
        let read = [
            "true", "false", "1.3", "8", "16", "1000", "1e+06", "123456.5", ".inf", "~", "12:30", "2026.8.2",
            "a",
        ];
        assert_eq!(keys.map(key), read);
    }

    #[test]
    fn numbers_are_printed_as_go_prints_them() {
        assert_eq!(number(26.10), "26.1");
        assert_eq!(number(8080.0), "8080");
        assert_eq!(number(1e20), "100000000000000000000");
        assert_eq!(number(1e21), "1e+21");
        assert_eq!(number(0.00001), "1e-05");
        assert_eq!(number(-0.5), "-0.5");
    }
}

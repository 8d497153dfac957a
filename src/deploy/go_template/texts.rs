//! The functions of templates that work on texts and numbers.

use super::print::{boolean, int, is_unknown, nested, printed, text};
use crate::deploy::{
    typed::{Typed, typed},
    value::{Part, Scalar, Value},
};

pub(super) fn is_text(value: &Value) -> bool {
    matches!(value, Value::Scalar(scalar) if matches!(typed(scalar), Typed::Text(_)))
}

/// `print`, `println`, `cat`.
pub(super) fn joined(name: &str, arguments: &[Value]) -> Scalar {
    let spaced = name != "print";
    let mut parts = Vec::new();
    let mut last: Option<&Value> = None;
    for argument in arguments.iter().filter(|a| name != "cat" || !a.is_null()) {
        // Go's `print` puts a space between two that are both no texts.
        let apart = last.is_some_and(|last| spaced || !is_text(argument) && !is_text(last));
        parts.extend(apart.then(|| Part::Made(" ".into())));
        parts.extend_from_slice(nested(argument).parts());
        last = Some(argument);
    }
    parts.extend((name == "println").then(|| Part::Made("\n".into())));
    Scalar::of(parts, false)
}

/// `join`.
pub(super) fn between(separator: &Scalar, items: &[Value]) -> Scalar {
    let mut parts = Vec::new();
    for (at, item) in items.iter().filter(|i| !i.is_null()).enumerate() {
        if at > 0 {
            parts.extend_from_slice(separator.parts());
        }
        parts.extend_from_slice(printed(item).parts());
    }
    Scalar::of(parts, false)
}

/// `quote`, `squote`.
pub(super) fn quoted_each(name: &str, arguments: &[Value]) -> Scalar {
    let escape = |c: char| match c {
        '"' | '\\' if name == "quote" => Some(format!("\\{c}")),
        '\n' if name == "quote" => Some("\\n".to_owned()),
        '\t' if name == "quote" => Some("\\t".to_owned()),
        _ => None,
    };
    let mut parts = Vec::new();
    for (at, argument) in arguments.iter().filter(|a| !a.is_null()).enumerate() {
        parts.extend((at > 0).then(|| Part::Made(" ".into())));
        parts.extend(quoted(&printed(argument), if name == "quote" { "\"" } else { "'" }, escape));
    }
    Scalar::of(parts, false)
}

/// Go's `printf` with the verbs `%s`, `%v`, `%d`, `%q` and `%%`; `None` with others.
pub(super) fn printf(format: &Scalar, arguments: &[Value]) -> Option<Scalar> {
    let whole = format.text();
    let mut parts = Vec::new();
    let mut arguments = arguments.iter();
    let mut from = 0;
    let mut chars = whole.char_indices();
    while let Some((at, c)) = chars.next() {
        if c != '%' {
            continue;
        }
        parts.extend_from_slice(format.cut(from..at).parts());
        let (verb_at, verb) = chars.next()?;
        from = verb_at + verb.len_utf8();
        match verb {
            '%' => parts.push(Part::Made("%".into())),
            's' | 'v' | 'd' => {
                let argument = arguments.next()?;
                let fits = verb == 'v' || is_unknown(argument) || is_text(argument) == (verb == 's');
                // What JSON gave is a floating number, which `%d` does not print.
                parts.extend_from_slice(fits.then(|| nested(argument))?.parts());
            }
            'q' => parts.extend(quoted(&printed(arguments.next()?), "\"", |c| {
                matches!(c, '"' | '\\').then(|| format!("\\{c}"))
            })),
            _ => return None,
        }
    }
    parts.extend_from_slice(format.cut(from..whole.len()).parts());
    arguments.next().is_none().then(|| Scalar::of(parts, false))
}

pub(super) fn quoted(scalar: &Scalar, quote: &str, escape: impl Fn(char) -> Option<String>) -> Vec<Part> {
    let whole = scalar.text();
    let mut parts = vec![Part::Made(quote.into())];
    let mut from = 0;
    for (at, c) in whole.char_indices() {
        if let Some(escape) = escape(c) {
            parts.extend_from_slice(scalar.cut(from..at).parts());
            parts.push(Part::Made(escape.into()));
            from = at + c.len_utf8();
        }
    }
    parts.extend_from_slice(scalar.cut(from..whole.len()).parts());
    parts.push(Part::Made(quote.into()));
    parts
}

pub(super) fn indented(scalar: &Scalar, spaces: usize) -> Scalar {
    let pad: Part = Part::Made(" ".repeat(spaces).into());
    let whole = scalar.text();
    let mut parts = vec![pad.clone()];
    let mut from = 0;
    for (at, _) in whole.match_indices('\n') {
        parts.extend_from_slice(scalar.cut(from..at + 1).parts());
        parts.push(pad.clone());
        from = at + 1;
    }
    parts.extend_from_slice(scalar.cut(from..whole.len()).parts());
    Scalar::of(parts, false)
}

/// Replaces all of a text within another, places kept.
fn replaced(scalar: &Scalar, old: &str, new: &Scalar) -> Scalar {
    let whole = scalar.text();
    if old.is_empty() {
        return scalar.clone();
    }
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, found) in whole.match_indices(old) {
        parts.extend_from_slice(scalar.cut(from..at).parts());
        parts.extend_from_slice(new.parts());
        from = at + found.len();
    }
    parts.extend_from_slice(scalar.cut(from..whole.len()).parts());
    Scalar::of(parts, false)
}

/// Keeps a text where it is already what it is to become.
fn same_or(scalar: &Scalar, new: &str) -> Value {
    Value::Scalar(if *scalar.text() == *new { scalar.clone().as_string() } else { Scalar::made(new) })
}

fn trimmed(scalar: &Scalar, is: impl Fn(char) -> bool) -> Scalar {
    let whole = scalar.text();
    let start = whole.len() - whole.trim_start_matches(&is).len();
    let end = whole.trim_end_matches(&is).len();
    scalar.cut(start.min(end)..end)
}

/// Calls a function of texts and numbers; `None` where it is none, or was given something else.
pub(super) fn call(name: &str, arguments: &[Value]) -> Option<Value> {
    let texts: Vec<Option<Scalar>> =
        arguments.iter().map(|argument| if is_text(argument) { text(argument) } else { None }).collect();
    let at = |n: usize| texts.get(n).cloned().flatten();
    let int_at = |n: usize| number(arguments.get(n)?);
    let one = || (arguments.len() == 1).then(|| at(0)).flatten();
    let two = || (arguments.len() == 2).then(|| at(0).zip(at(1))).flatten();
    Some(match name {
        "lower" => same_or(&one()?, &one()?.text().to_lowercase()),
        "upper" => same_or(&one()?, &one()?.text().to_uppercase()),
        "normalize" => same_or(&one()?, &normalized(&one()?.text())),
        "nospace" => same_or(&one()?, &one()?.text().replace(char::is_whitespace, "")),
        "trim" => Value::Scalar(trimmed(&one()?, char::is_whitespace)),
        "trimAll" => {
            let (set, value) = two()?;
            Value::Scalar(trimmed(&value, |c| set.text().contains(c)))
        }
        "trimPrefix" | "trimSuffix" => {
            let (affix, value) = two()?;
            let (whole, affix) = (value.text(), affix.text());
            let range = match name {
                "trimPrefix" => whole.strip_prefix(&*affix).map(|rest| whole.len() - rest.len()..whole.len()),
                _ => whole.strip_suffix(&*affix).map(|rest| 0..rest.len()),
            };
            Value::Scalar(range.map_or(value.clone(), |range| value.cut(range)))
        }
        "contains" => boolean(two()?.1.text().contains(&*two()?.0.text())),
        "hasPrefix" => boolean(two()?.1.text().starts_with(&*two()?.0.text())),
        "hasSuffix" => boolean(two()?.1.text().ends_with(&*two()?.0.text())),
        "replace" => Value::Scalar(replaced(&at(2)?, &at(0)?.text(), &at(1)?)),
        "repeat" => {
            let times = int_at(0).and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= 1024)?;
            let value = at(1)?;
            Value::Scalar((0..times).fold(Scalar::made(""), |all, _| all.then(&value)))
        }
        "splitList" => {
            let (separator, value) = two()?;
            Value::list(split(&value, &separator.text()).into_iter().map(Value::Scalar).collect())
        }
        "split" => {
            let (separator, value) = two()?;
            let pieces = split(&value, &separator.text()).into_iter().enumerate();
            let pieces: Vec<_> = pieces.map(|(n, piece)| (format!("_{n}"), Value::Scalar(piece))).collect();
            Value::map(pieces.iter().map(|(key, value)| (&**key, value.clone())))
        }
        "trunc" => {
            let (count, value) = (int_at(0)?, at(1)?);
            let length = value.text().len();
            let size = usize::try_from(count.unsigned_abs()).ok()?;
            let range = if count >= 0 { 0..size.min(length) } else { length.saturating_sub(size)..length };
            let fits = value.text().is_char_boundary(range.start) && value.text().is_char_boundary(range.end);
            Value::Scalar(fits.then(|| value.cut(range))?)
        }
        "substr" => {
            let (start, end, value) = (int_at(0)?, int_at(1)?, at(2)?);
            let length = value.text().len();
            let start = usize::try_from(start).unwrap_or(0);
            let end = usize::try_from(end).ok().filter(|e| *e <= length).unwrap_or(length);
            let fits = value.text().get(start..end).is_some();
            Value::Scalar(fits.then(|| value.cut(start..end))?)
        }
        _ => return numbers(name, arguments),
    })
}

fn numbers(name: &str, arguments: &[Value]) -> Option<Value> {
    let int_at = |n: usize| number(arguments.get(n)?);
    let text_at = |n: usize| text(arguments.get(n)?);
    Some(match name {
        "int" | "int64" | "atoi" => {
            let scalar = arguments.first()?.as_scalar()?;
            match typed(scalar) {
                Typed::Int(_) => Value::Scalar(scalar.clone()),
                Typed::Float(number) => int(number as i64),
                Typed::Text(text) => match text.parse::<i64>() {
                    Ok(number) if number.to_string() == text => Value::Scalar(scalar.clone().as_plain()),
                    Ok(number) => int(number),
                    Err(_) => int(0),
                },
                Typed::Bool(is) => int(i64::from(is)),
                Typed::Null => int(0),
            }
        }
        "lt" | "le" | "gt" | "ge" => {
            let order = match (int_at(0), int_at(1)) {
                (Some(a), Some(b)) => a.cmp(&b),
                _ => text_at(0)?.text().cmp(&text_at(1)?.text()),
            };
            boolean(match name {
                "lt" => order.is_lt(),
                "le" => order.is_le(),
                "gt" => order.is_gt(),
                _ => order.is_ge(),
            })
        }
        _ => return None,
    })
}

fn number(value: &Value) -> Option<i64> {
    match typed(value.as_scalar()?) {
        Typed::Int(number) => Some(number),
        Typed::Float(number) => Some(number as i64),
        _ => None,
    }
}

fn split(value: &Scalar, separator: &str) -> Vec<Scalar> {
    let whole = value.text();
    let mut at = 0;
    let mut pieces = Vec::new();
    for piece in whole.split(separator).take(100_000) {
        pieces.push(value.cut(at..at + piece.len()).as_string());
        at += piece.len() + separator.len();
    }
    pieces
}

/// Argo CD's `SanitizeName`: a name that DNS takes.
pub(in crate::deploy) fn normalized(name: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.') { c } else { '-' }
    };
    let name: String = name.to_lowercase().chars().map(safe).take(253).collect();
    name.trim_matches(['-', '.']).to_owned()
}

/// Writes JSON, places kept.
pub fn json(value: &Value) -> Scalar {
    let separated = |open: &str, items: Vec<Scalar>, close: &str| {
        let mut parts = vec![Part::Made(open.into())];
        for (at, item) in items.iter().enumerate() {
            parts.extend((at > 0).then(|| Part::Made(",".into())));
            parts.extend_from_slice(item.parts());
        }
        parts.push(Part::Made(close.into()));
        Scalar::of(parts, false)
    };
    let quote = |scalar: &Scalar| {
        let escape = |c: char| match c {
            '"' | '\\' => Some(format!("\\{c}")),
            '<' | '>' | '&' => Some(format!("\\u{:04x}", u32::from(c))),
            c if c.is_control() => Some(format!("\\u{:04x}", u32::from(c))),
            _ => None,
        };
        Scalar::of(quoted(scalar, "\"", escape), false)
    };
    match value {
        Value::Scalar(scalar) => match typed(scalar) {
            Typed::Null => Scalar::made("null"),
            Typed::Text(_) => quote(scalar),
            _ => printed(value),
        },
        Value::List(items) => separated("[", items.iter().map(json).collect(), "]"),
        Value::Map(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| (*key).clone());
            let entry = |(key, value)| quote(&Scalar::made(key)).then(&Scalar::made(":")).then(&json(value));
            separated("{", entries.into_iter().map(|(k, v)| entry((&**k, v))).collect(), "}")
        }
    }
}

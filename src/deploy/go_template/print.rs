//! What values are to a template: their truth, their text, and the constants.

use crate::deploy::{
    typed::{self, Typed, typed},
    value::{Part, Scalar, Value},
};

/// A null.
pub(super) fn null() -> Value {
    Value::Scalar(Scalar::made("null").as_plain())
}

/// A boolean.
pub(super) fn boolean(is: bool) -> Value {
    Value::Scalar(Scalar::made(if is { "true" } else { "false" }).as_plain())
}

/// A whole number.
pub(super) fn int(number: i64) -> Value {
    Value::Scalar(Scalar::made(&number.to_string()).as_plain())
}

/// Tells whether nothing of a value is known.
pub(super) fn is_unknown(value: &Value) -> bool {
    matches!(value, Value::Scalar(scalar) if matches!(scalar.parts(), [Part::Unknown(_)]))
}

/// Tells whether a value is known, and nothing.
pub(super) fn is_null(value: &Value) -> bool {
    value.as_scalar().is_some_and(|scalar| !is_unknown(value) && typed(scalar) == Typed::Null)
}

/// Names who knows what comes of a part of a template that is not followed.
pub fn unfollowed(text: &str) -> String {
    format!("the template expression `{text}`")
}

/// Says who knows a part of a value that the tree does not say.
pub(super) fn who(value: &Value) -> Option<&str> {
    match value {
        Value::Scalar(scalar) => scalar.unknown_to(),
        Value::List(items) => items.iter().find_map(who),
        Value::Map(map) => map.values().find_map(who),
    }
}

/// Says whether a value is true to Go; `None` where the tree does not say it.
pub(super) fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Map(map) => Some(!map.is_empty()),
        Value::List(items) => Some(!items.is_empty()),
        Value::Scalar(_) if is_unknown(value) => None,
        Value::Scalar(scalar) => Some(match typed(scalar) {
            Typed::Null => false,
            Typed::Bool(is) => is,
            Typed::Int(number) => number != 0,
            Typed::Float(number) => number != 0.0,
            Typed::Text(text) => !text.is_empty(),
        }),
    }
}

/// Returns the text of a scalar as sprig's `strval` has it; nothing for lists, mappings and null.
pub(super) fn text(value: &Value) -> Option<Scalar> {
    match value {
        Value::Scalar(scalar) if typed(scalar) != Typed::Null => Some(printed(value)),
        _ => None,
    }
}

/// Prints a value as a template does. Numbers come through JSON, so that all of them are floating: `26.10` is `26.1`.
pub fn printed(value: &Value) -> Scalar {
    let as_text = |scalar: &Scalar, text: &str| match *scalar.text() == *text {
        true => scalar.clone().as_string(),
        false => Scalar::made(text),
    };
    match value {
        Value::Scalar(scalar) => match typed(scalar) {
            Typed::Null => Scalar::made("<no value>"),
            Typed::Bool(is) => as_text(scalar, if is { "true" } else { "false" }),
            Typed::Int(number) => as_text(scalar, &typed::number(number as f64)),
            Typed::Float(number) => as_text(scalar, &typed::number(number)),
            Typed::Text(_) => scalar.clone().as_string(),
        },
        Value::List(items) => {
            let inner = items.iter().enumerate().map(|(n, item)| (n > 0, nested(item)));
            enclosed("[", inner, "]")
        }
        Value::Map(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| (*key).clone());
            let inner = entries.into_iter().enumerate();
            let inner = inner.map(|(n, (key, v))| (n > 0, Scalar::made(&format!("{key}:")).then(&nested(v))));
            enclosed("map[", inner, "]")
        }
    }
}

/// Prints a value that is an argument of a printing function, or inside of another one.
pub(super) fn nested(value: &Value) -> Scalar {
    if value.is_null() { Scalar::made("<nil>") } else { printed(value) }
}

fn enclosed(open: &str, inner: impl Iterator<Item = (bool, Scalar)>, close: &str) -> Scalar {
    let mut parts = vec![Part::Made(open.into())];
    for (more, scalar) in inner {
        parts.extend(more.then(|| Part::Made(" ".into())));
        parts.extend_from_slice(scalar.parts());
    }
    parts.push(Part::Made(close.into()));
    Scalar::of(parts, false)
}

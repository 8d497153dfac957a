//! The functions of templates that are followed: Go's own, and of sprig those that hand a text on.
//!
//! In: a name and values. Out: a value that keeps the places of what it is made of. Sources: `text/template/funcs.go`,
//! Masterminds/sprig v3, and Argo CD's `applicationset/utils`.

use super::{
    print::{boolean, int, is_unknown, null, printed, text, truth, who},
    texts,
};
use crate::deploy::{
    go_yaml,
    typed::{Typed, typed},
    value::{Scalar, Value},
};

/// What comes of a function.
pub(super) enum Called {
    /// A value.
    Is(Value),
    /// It depends on what the tree does not say.
    Unknown,
    /// The deployer refuses it.
    Refused(String),
    /// A function that is not followed.
    Unfollowed,
}

/// Calls a function.
pub(super) fn call(name: &str, arguments: &[Value]) -> Called {
    if let Some(called) = of_any(name, arguments) {
        return called;
    }
    if !is_known(name) {
        return Called::Unfollowed;
    }
    if arguments.iter().any(is_unknown) {
        return Called::Unknown;
    }
    let found = texts::call(name, arguments).or_else(|| of_collections(name, arguments));
    match found {
        Some(value) => Called::Is(value),
        None => Called::Refused(format!("wrong arguments for {name}")),
    }
}

fn is_known(name: &str) -> bool {
    const KNOWN: &str = "append atoi cat coalesce compact contains dict dig eq first ge get gt has hasKey hasPrefix \
        hasSuffix indent index int int64 join keys last le len list lower lt mustToYaml ne nindent normalize nospace omit \
        pick prepend print println printf quote repeat replace rest split splitList squote substr toJson toString toYaml \
        trim trimAll trimPrefix trimSuffix trunc tuple uniq upper values";
    KNOWN.split_ascii_whitespace().any(|known| known == name)
}

/// Functions that may say something although they were given what is not known.
fn of_any(name: &str, arguments: &[Value]) -> Option<Called> {
    let is = |value: Value| Some(Called::Is(value));
    let unless_unknown = |value: &Value, is: &dyn Fn(bool) -> Value| match truth(value) {
        Some(truth) => Some(Called::Is(is(truth))),
        None => Some(Called::Unknown),
    };
    match (name, arguments) {
        ("not", [value]) => unless_unknown(value, &|truth| boolean(!truth)),
        ("empty", [value]) => unless_unknown(value, &|truth| boolean(!truth)),
        ("default", [fallback]) => is(fallback.clone()),
        ("default", [fallback, given]) => {
            unless_unknown(given, &|truth| if truth { given.clone() } else { fallback.clone() })
        }
        ("ternary", [yes, no, test]) => {
            unless_unknown(test, &|truth| if truth { yes.clone() } else { no.clone() })
        }
        // Helm asks for what is there, and not for what is true.
        ("required", [_, value]) => {
            let is_blank = |text: &Scalar| text.is_null() || text.text().is_empty();
            match value.as_scalar().is_some_and(is_blank) {
                true => Some(Called::Refused("a required value is not set".to_owned())),
                false => is(value.clone()),
            }
        }
        ("printf", [format, rest @ ..]) => Some(match texts::printf(&text(format)?, rest) {
            Some(text) => Called::Is(Value::Scalar(text)),
            None => Called::Unfollowed,
        }),
        ("print" | "println" | "cat", _) => is(Value::Scalar(texts::joined(name, arguments))),
        ("quote" | "squote", _) => is(Value::Scalar(texts::quoted_each(name, arguments))),
        ("toString", [value]) => {
            is(Value::Scalar(if value.is_null() { Scalar::made("<nil>") } else { printed(value) }))
        }
        ("list" | "tuple", _) => is(Value::list(arguments.to_vec())),
        ("coalesce", _) => {
            let first = arguments.iter().find(|a| truth(a) != Some(false));
            Some(match first {
                Some(value) if is_unknown(value) => Called::Unknown,
                Some(value) => Called::Is(value.clone()),
                None => Called::Is(null()),
            })
        }
        ("toYaml" | "mustToYaml", [value]) if !is_unknown(value) => {
            let text = go_yaml::document(value);
            let length = text.text().trim_end_matches('\n').len();
            is(Value::Scalar(text.cut(0..length)))
        }
        ("indent" | "nindent", [spaces, value]) => {
            let Typed::Int(spaces) = typed(spaces.as_scalar()?) else { return None };
            let indented = texts::indented(&text(value)?, usize::try_from(spaces).ok().filter(|n| *n < 256)?);
            let start = Scalar::made(if name == "nindent" { "\n" } else { "" });
            is(Value::Scalar(start.then(&indented)))
        }
        ("eq" | "ne", [first, rest @ ..]) if !rest.is_empty() => {
            let mut same = Some(false);
            if rest.iter().any(|other| kind(first).zip(kind(other)).is_some_and(|(a, b)| a != b)) {
                return Some(Called::Refused("incompatible types for comparison".to_owned()));
            }
            for other in rest {
                match compare(first, other) {
                    Some(true) => return is(boolean(name == "eq")),
                    Some(false) => {}
                    None => same = None,
                }
            }
            Some(same.map_or(Called::Unknown, |_| Called::Is(boolean(name == "ne"))))
        }
        _ => None,
    }
}

/// What Go compares only with its like; nothing of null and of what is not known.
fn kind(value: &Value) -> Option<u8> {
    match value {
        Value::Map(_) | Value::List(_) => Some(0),
        Value::Scalar(_) if is_unknown(value) => None,
        Value::Scalar(scalar) => match typed(scalar) {
            Typed::Null => None,
            Typed::Bool(_) => Some(1),
            Typed::Int(_) | Typed::Float(_) => Some(2),
            Typed::Text(_) => Some(3),
        },
    }
}

/// Compares two values; `None` where a part of them is not known.
fn compare(a: &Value, b: &Value) -> Option<bool> {
    if who(a).or(who(b)).is_some() {
        return None;
    }
    let number = |value: &Value| match typed(value.as_scalar()?) {
        Typed::Int(n) => Some(n as f64),
        Typed::Float(n) => Some(n),
        _ => None,
    };
    Some(match (number(a), number(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a.is_null() == b.is_null() && printed(a).text() == printed(b).text(),
        _ => false,
    })
}

fn of_collections(name: &str, arguments: &[Value]) -> Option<Value> {
    let key = |value: &Value| text(value).map(|t| t.text().into_owned());
    Some(match (name, arguments) {
        ("index", [base, keys @ ..]) => {
            let mut value = base.clone();
            for wanted in keys {
                value = match &value {
                    Value::Map(map) => map.get(&*key(wanted)?).cloned().unwrap_or_else(null),
                    Value::List(items) => items.get(key(wanted)?.parse::<usize>().ok()?)?.clone(),
                    Value::Scalar(_) if is_unknown(&value) => value,
                    Value::Scalar(_) => return None,
                };
            }
            value
        }
        ("get", [map @ Value::Map(_), wanted]) => {
            map.entry(&key(wanted)?).cloned().unwrap_or_else(|| Value::made(""))
        }
        ("hasKey", [map @ Value::Map(_), wanted]) => boolean(map.entry(&key(wanted)?).is_some()),
        ("dig", [keys @ .., fallback, map @ Value::Map(_)]) => {
            let mut value = Some(map);
            for wanted in keys {
                value = value.and_then(|v| v.entry(&key(wanted).unwrap_or_default()));
            }
            value.unwrap_or(fallback).clone()
        }
        ("dict", pairs) => {
            let pairs: Vec<_> = pairs
                .chunks(2)
                .filter_map(|pair| {
                    Some((key(&pair[0])?, pair.get(1).cloned().unwrap_or_else(|| Value::made(""))))
                })
                .collect();
            Value::map(pairs.iter().map(|(key, value)| (&**key, value.clone())))
        }
        ("pick" | "omit", [Value::Map(map), keys @ ..]) => {
            let keys: Vec<String> = keys.iter().filter_map(key).collect();
            let kept = |k: &str| keys.iter().any(|key| key == k) == (name == "pick");
            Value::map(map.iter().filter(|(k, _)| kept(k)).map(|(k, v)| (&**k, v.clone())))
        }
        ("keys", [Value::Map(map)]) => Value::list(map.keys().map(|key| Value::made(key)).collect()),
        ("values", [Value::Map(map)]) => Value::list(map.values().cloned().collect()),
        ("len", [Value::List(items)]) => int(items.len() as i64),
        ("len", [Value::Map(map)]) => int(map.len() as i64),
        ("len", [value]) => int(text(value)?.text().len() as i64),
        ("first", [Value::List(items)]) => items.first().cloned().unwrap_or_else(null),
        ("last", [Value::List(items)]) => items.last().cloned().unwrap_or_else(null),
        ("rest", [Value::List(items)]) => Value::list(items.iter().skip(1).cloned().collect()),
        ("append", [Value::List(items), value]) => {
            Value::list(items.iter().chain([value]).cloned().collect())
        }
        ("prepend", [Value::List(items), value]) => {
            Value::list([value].into_iter().chain(items.iter()).cloned().collect())
        }
        ("compact", [Value::List(items)]) => {
            Value::list(items.iter().filter(|item| truth(item) != Some(false)).cloned().collect())
        }
        ("uniq", [Value::List(items)]) => {
            let mut unique: Vec<Value> = Vec::new();
            for item in items.iter().take(1000) {
                if !unique.iter().any(|u| compare(u, item) == Some(true)) {
                    unique.push(item.clone());
                }
            }
            Value::list(unique)
        }
        ("has", [needle, Value::List(items)]) => {
            boolean(items.iter().any(|item| compare(item, needle) == Some(true)))
        }
        ("has", [_, value]) if value.is_null() => boolean(false),
        ("join", [separator, Value::List(items)]) => Value::Scalar(texts::between(&text(separator)?, items)),
        ("toJson", [value]) => Value::Scalar(texts::json(value)),
        _ => return None,
    })
}

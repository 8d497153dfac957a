//! `templatePatch`: a strategic merge patch over an Application.
//!
//! Source: `applicationset/controllers/template/patch.go`. No list of an Application's spec has a merge key, so that a
//! list replaces a list; `$patch` and `$retainKeys` say otherwise for mappings.

use crate::deploy::value::Value;

/// Lays a patch over a value.
pub(super) fn patched(base: &Value, patch: &Value) -> Value {
    let mut out = base.clone();
    match patch.text(&["$patch"]).as_deref() {
        Some("replace") => return without_directives(patch),
        Some("delete") => return Value::empty(),
        _ => {}
    }
    if let Some(Value::List(keys)) = patch.get("$retainKeys") {
        let kept = |key: &str| keys.iter().any(|k| k.as_scalar().is_some_and(|s| s.text() == key));
        let entries: Vec<_> =
            out.entries().filter(|(key, _)| kept(key)).map(|(k, v)| (k.to_owned(), v.clone())).collect();
        out = Value::map(entries.iter().map(|(key, value)| (&**key, value.clone())));
    }
    for (key, value) in patch.entries().filter(|(key, _)| !key.starts_with('$')) {
        if value.is_null() {
            out.remove(key);
            continue;
        }
        let new = match (out.entry(key), value) {
            (_, Value::Map(_)) if value.text(&["$patch"]).is_some_and(|p| p == "delete") => {
                out.remove(key);
                continue;
            }
            (Some(there @ Value::Map(_)), Value::Map(_)) => patched(there, value),
            (_, value) => without_directives(value),
        };
        out.insert(key, new);
    }
    out
}

/// What a patch adds where there was nothing: directives and nulls go.
fn without_directives(value: &Value) -> Value {
    match value {
        Value::Map(map) => {
            let kept = map.iter().filter(|(key, value)| !key.starts_with('$') && !value.is_null());
            Value::map(kept.map(|(key, value)| (&**key, without_directives(value))))
        }
        other => other.clone(),
    }
}

/// Lays a JSON merge patch over a value (RFC 7386).
pub(super) fn json_merged(base: &Value, patch: &Value) -> Value {
    let Value::Map(map) = patch else { return patch.clone() };
    let mut out = if matches!(base, Value::Map(_)) { base.clone() } else { Value::empty() };
    for (key, value) in map.iter() {
        if value.is_null() {
            out.remove(key);
        } else {
            let new = json_merged(out.entry(key).unwrap_or(&Value::empty()), value);
            out.insert(key, new);
        }
    }
    out
}

//! How helmfile lays texts and values over each other.
//!
//! Sources: `pkg/maputil/maputil.go` (`MergeMaps`) of helmfile, and dario.cat/mergo, with which it merges its own files.

use crate::deploy::value::Value;

/// Lays one file, or part of a file, over another: mappings are merged, what says something counts, lists are replaced or
/// put behind each other.
pub(super) fn laid(base: &Value, over: &Value, append: bool) -> Value {
    let mut out = base.clone();
    for (key, value) in over.entries() {
        let value = match (out.get(key), value) {
            (Some(there @ Value::Map(_)), Value::Map(_)) => laid(there, value, append),
            (Some(Value::List(there)), Value::List(more)) if append => {
                Value::list(there.iter().chain(more.iter()).cloned().collect())
            }
            (Some(_), value) if is_empty(value) => continue,
            _ => value.clone(),
        };
        out.insert(key, value);
    }
    out
}

/// Lays values over values (`MergeMaps`): a null changes nothing, and a list with nulls in it is laid item by item.
pub(super) fn over(base: &Value, new: &Value) -> Value {
    let mut out = base.clone();
    for (key, value) in new.entries() {
        let value = match (out.entry(key), value) {
            (Some(_), value) if value.is_null() => continue,
            (Some(there @ Value::Map(_)), Value::Map(_)) => over(there, value),
            (Some(Value::List(there)), Value::List(items)) if items.iter().any(Value::is_null) => {
                Value::list(sparse(there, items))
            }
            _ => value.clone(),
        };
        out.insert(key, value);
    }
    out
}

fn sparse(base: &[Value], items: &[Value]) -> Vec<Value> {
    let longest = base.len().max(items.len());
    let one = |n: usize| match (base.get(n), items.get(n)) {
        (Some(there), Some(item)) if item.is_null() => there.clone(),
        (Some(there @ Value::Map(_)), Some(item @ Value::Map(_))) => over(there, item),
        (there, item) => item.or(there).cloned().unwrap_or_else(Value::empty),
    };
    (0..longest).map(one).collect()
}

/// What mergo takes for nothing said.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Map(map) => map.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Scalar(text) => text.is_null() || text.text().is_empty(),
    }
}

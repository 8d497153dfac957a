//! JSON patches (RFC 6902), as kustomize, Flux and Argo CD apply them (evanphx/json-patch v4).
//!
//! In: an object, operations. Out: the object after them, what is moved or copied with its origins; each value that `test`
//! reads beside what it is held against, since one cannot change without the other.

use std::borrow::Cow;

use super::{
    typed::{Typed, typed},
    value::{Scalar, Value},
};

/// Where what is said of an object that is not here has the values that `test` holds against it.
pub const TESTED: &str = "op: test";
/// The most values that an object may grow to.
const VALUES: usize = 200_000;
/// The deepest nesting that an object may grow to.
const DEPTH: usize = 200;

/// A text that must be what another is: if the value moves and the guard stays, the deployer fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The text that is compared.
    pub guard: Scalar,
    /// The value that it is compared with.
    pub value: Scalar,
}

/// Operations that cannot be applied: the author's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// There is no such place in the object.
    #[error("operation {0} names a place that is not there")]
    Missing(usize),
    /// `test` does not hold.
    #[error("operation {0} tests for something else than what is there")]
    Test(usize),
    /// No operation.
    #[error("operation {0} is none of `add`, `remove`, `replace`, `move`, `copy`, `test`")]
    Operation(usize),
    /// The object grows beyond what is followed.
    #[error("operation {0} makes more than {VALUES} values of the object, or nests them deeper than {DEPTH}")]
    Grows(usize),
}

/// Applies operations in order, and notes what they test.
///
/// # Errors
/// At the first operation that does not apply, counted from 1; the object is as it was then.
pub fn apply(object: &Value, operations: &[Value], guards: &mut Vec<Guard>) -> Result<Value, PatchError> {
    let mut patched = object.clone();
    let before = guards.len();
    for (at, operation) in operations.iter().enumerate() {
        let at = at + 1;
        if let Err(error) = step(&mut patched, operation, at, guards) {
            guards.truncate(before);
            return Err(error);
        }
        if !is_bounded(&patched) {
            guards.truncate(before);
            return Err(PatchError::Grows(at));
        }
    }
    Ok(patched)
}

/// Tells whether a list of documents' first item looks like an operation, and not like an object.
pub fn is_patch(document: &Value) -> bool {
    matches!(document, Value::List(items) if items.iter().all(|item| item.entry("op").is_some()))
}

/// Tells whether a value is within what is followed.
pub(super) fn is_bounded(value: &Value) -> bool {
    fn walk(value: &Value, left: &mut usize, depth: usize) -> bool {
        let Some((values, depth)) = left.checked_sub(1).zip(depth.checked_sub(1)) else { return false };
        *left = values;
        match value {
            Value::Scalar(_) => true,
            Value::List(items) => items.iter().all(|item| walk(item, left, depth)),
            Value::Map(map) => map.values().all(|value| walk(value, left, depth)),
        }
    }
    walk(value, &mut VALUES.clone(), DEPTH)
}

fn step(object: &mut Value, operation: &Value, at: usize, guards: &mut Vec<Guard>) -> Result<(), PatchError> {
    let missing = PatchError::Missing(at);
    let pointer = |key: &str| {
        let text = operation.scalar(&[key]).map(Scalar::text).ok_or(missing)?;
        Ok(steps(&text))
    };
    let null = || Value::Scalar(Scalar::made("null").as_plain());
    let value = || operation.entry("value").cloned().unwrap_or_else(null);
    let path = pointer("path")?;
    match operation.text(&["op"]).as_deref() {
        Some("add") => add(object, &path, value()).ok_or(missing),
        Some("remove") => remove(object, &path).map(drop).ok_or(missing),
        Some("replace") => replace(object, &path, value()).ok_or(missing),
        Some("move") => {
            let moved = remove(object, &pointer("from")?).ok_or(missing)?;
            add(object, &path, moved).ok_or(missing)
        }
        Some("copy") => {
            let from = pointer("from")?;
            // What is not in a mapping is copied as null, as json-patch v4 does.
            let none =
                || parent(object, &from).filter(|value| matches!(value, Value::Map(_))).map(|_| null());
            let copied = find(object, &from).cloned().or_else(none).ok_or(missing)?;
            add(object, &path, copied).ok_or(missing)
        }
        Some("test") => match (find(object, &path), operation.get("value")) {
            (Some(found), Some(wanted)) if compare(wanted, found, guards) => Ok(()),
            (None, None) if parent(object, &path).is_some() => Ok(()),
            (Some(found), None) if found.is_null() => Ok(()),
            _ => Err(PatchError::Test(at)),
        },
        _ => Err(PatchError::Operation(at)),
    }
}

/// Finds what a JSON pointer leads to.
pub(super) fn pointed<'v>(object: &'v Value, pointer: &str) -> Option<&'v Value> {
    find(object, &steps(pointer))
}

/// Takes a JSON pointer apart.
pub(super) fn steps(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(unescape).map(Cow::into_owned).collect()
}

fn unescape(part: &str) -> Cow<'_, str> {
    if part.contains('~') { part.replace("~1", "/").replace("~0", "~").into() } else { part.into() }
}

fn find<'v>(object: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(object, |value, key| match value {
        Value::Map(map) => map.get(key.as_str()),
        Value::List(items) => items.get(index(key, items.len())?),
        Value::Scalar(_) => None,
    })
}

fn parent<'v>(object: &'v Value, path: &[String]) -> Option<&'v Value> {
    find(object, path.split_last()?.1).filter(|value| value.as_scalar().is_none())
}

fn find_mut<'v>(object: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(object, |value, key| match value {
        Value::Map(_) => value.entry_mut(key),
        Value::List(items) => {
            let at = index(key, items.len())?;
            value.make_list().get_mut(at)
        }
        Value::Scalar(_) => None,
    })
}

fn add(object: &mut Value, path: &[String], new: Value) -> Option<()> {
    let (key, parents) = path.split_last()?;
    let parent = find_mut(object, parents)?;
    match parent {
        Value::Map(_) => parent.insert(key, new),
        Value::List(items) => {
            let len = items.len();
            let at = if key == "-" { len } else { index(key, len + 1)? };
            parent.make_list().insert(at, new);
        }
        Value::Scalar(_) => return None,
    }
    Some(())
}

fn remove(object: &mut Value, path: &[String]) -> Option<Value> {
    let (key, parents) = path.split_last()?;
    let parent = find_mut(object, parents)?;
    match parent {
        Value::Map(_) => parent.remove(key),
        Value::List(items) => {
            let at = index(key, items.len())?;
            Some(parent.make_list().remove(at))
        }
        Value::Scalar(_) => None,
    }
}

fn replace(object: &mut Value, path: &[String], new: Value) -> Option<()> {
    let Some((key, parents)) = path.split_last() else {
        *object = Some(new).filter(|new| new.as_scalar().is_none())?;
        return Some(());
    };
    let parent = find_mut(object, parents)?;
    match parent {
        // A key that is not there is set all the same, as json-patch v4 does.
        Value::Map(_) => parent.insert(key, new),
        Value::List(items) => {
            let at = index(key, items.len())?;
            *parent.make_list().get_mut(at)? = new;
        }
        Value::Scalar(_) => return None,
    }
    Some(())
}

/// Reads an index, which may count from the end.
fn index(key: &str, len: usize) -> Option<usize> {
    let at: isize = key.parse().ok()?;
    let at = if at < 0 { at.checked_add(isize::try_from(len).ok()?)? } else { at };
    usize::try_from(at).ok().filter(|at| *at < len)
}

/// Compares what is wanted with what is found, and notes each pair of scalars.
fn compare(wanted: &Value, found: &Value, guards: &mut Vec<Guard>) -> bool {
    match (wanted, found) {
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| compare(a, b, guards)))
        }
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| compare(a, b, guards))
        }
        (Value::Scalar(a), Value::Scalar(b)) => {
            guards.push(Guard { guard: a.clone(), value: b.clone() });
            a.unknown_to().is_some() || b.unknown_to().is_some() || same(&typed(a), &typed(b))
        }
        _ => false,
    }
}

fn same(a: &Typed, b: &Typed) -> bool {
    match (a, b) {
        (Typed::Int(int), Typed::Float(float)) | (Typed::Float(float), Typed::Int(int)) => {
            *int as f64 == *float
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::{files::Files, testing::files, value::Part};

    fn patched(operations: &str) -> Result<(Value, Vec<Guard>), PatchError> {
        let tree = files(&[("a.yaml", "a: {b: [1, x, {c: d}], e/f: g}\nh: 'i'\n"), ("p.yaml", operations)]);
        let mut guards = Vec::new();
        let operations = tree.documents("p.yaml").unwrap();
        let value = apply(&tree.documents("a.yaml").unwrap()[0], operations[0].items(), &mut guards)?;
        Ok((value, guards))
    }

    fn at(value: &Value, path: &[&str]) -> String {
        let path: Vec<String> = path.iter().map(|s| (*s).to_owned()).collect();
        format!("{:?}", find(value, &path))
    }

    #[test]
    fn operations_keep_the_origins_of_what_they_move() {
        let (value, _) = patched(
            "- {op: add, path: /a/b/1, value: new}\n- {op: move, from: /h, path: /a/h}\n- {op: copy, from: /a/b/3/c, path: /a/b/-}\n- {op: remove, path: /a/e~1f}\n- {op: replace, path: /a/b/-5, value: {k: v}}\n",
        )
        .unwrap();
        assert_eq!(
            format!("{value:?}"),
            r#"{"a": {"b": [{"k": ["v"@p.yaml:188]}, ["new"@p.yaml:33], ["x"@a.yaml:11], {"c": ["d"@a.yaml:18]}, ["d"@a.yaml:18]], "h": ["i"@a.yaml:35]}}"#
        );
    }

    #[test]
    fn a_test_is_a_guard_of_each_scalar_that_it_reads() {
        let (_, guards) = patched("- {op: test, path: /a/b, value: [1, 'x', {c: d}]}\n").unwrap();
        let files = |guard: &Guard| {
            [&guard.guard, &guard.value].map(|scalar| match &scalar.parts()[0] {
                Part::Written(origin) => format!("{}:{}", origin.source.path, origin.text()),
                other => format!("{other:?}"),
            })
        };
        let found: Vec<_> = guards.iter().map(files).collect();
        assert_eq!(found, [["p.yaml:1", "a.yaml:1"], ["p.yaml:x", "a.yaml:x"], ["p.yaml:d", "a.yaml:d"]]);
    }

    #[test]
    fn what_does_not_apply_is_refused() {
        let error = |text: &str| patched(text).unwrap_err();
        assert_eq!(error("- {op: test, path: /h, value: j}"), PatchError::Test(1));
        assert_eq!(error("- {op: test, path: /a/b/0, value: '1'}"), PatchError::Test(1));
        assert_eq!(
            error("- {op: add, path: /x, value: 1}\n- {op: add, path: /y/z, value: 1}"),
            PatchError::Missing(2)
        );
        assert_eq!(error("- {op: remove, path: /x}"), PatchError::Missing(1));
        assert_eq!(error("- {op: add, path: /a/b/4, value: 1}"), PatchError::Missing(1));
        assert_eq!(error("- {op: increase, path: /a}"), PatchError::Operation(1));
        assert_eq!(
            at(&patched("- {op: add, path: /a/b/3, value: z}").unwrap().0, &["a", "b", "3"]),
            r#"Some(["z"@p.yaml:33])"#
        );
    }

    #[test]
    fn copies_of_copies_are_bounded() {
        let bomb = "- {op: copy, from: /a, path: /a/x}\n- {op: copy, from: /a, path: /a/y}\n".repeat(40);
        assert!(matches!(patched(&bomb), Err(PatchError::Grows(_))));
    }
}

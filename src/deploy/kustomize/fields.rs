//! Fields of objects by the paths of kustomize's configuration: `spec/template/spec/containers[]/image`.
//!
//! A step names a field of a mapping; lists on the way are gone through item by item.

use std::sync::Arc;

use super::gvk::Gvk;
use crate::deploy::{
    typed::is_true,
    value::{Scalar, Value, list_with},
};

/// The longest path that is followed.
const STEPS: usize = 50;

/// Where a transformer looks, and in which objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldSpec {
    pub gvk: Gvk,
    pub path: String,
    /// Whether what is missing on the way is made.
    pub create: bool,
}

/// What is made where the last field of a path is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Create {
    Nothing,
    Scalar,
    Map,
}

// === impl FieldSpec ===

impl FieldSpec {
    /// A path in objects of all kinds, made where it is missing.
    pub fn made(path: &str) -> Self {
        Self { gvk: Gvk::default(), path: path.to_owned(), create: true }
    }

    /// Reads one of a list in a file.
    pub fn of(value: &Value) -> Self {
        let create = is_true(value, &["create"]);
        Self {
            gvk: Gvk::of_fields(value),
            path: value.text(&["path"]).unwrap_or_default().into_owned(),
            create,
        }
    }

    /// Changes the fields of an object that the path leads to; tells whether any changed.
    pub fn change(
        &self,
        object: &mut Value,
        gvk: &Gvk,
        create: Create,
        change: &mut dyn FnMut(&Value) -> Option<Value>,
    ) -> bool {
        let steps = split(&self.path, '/');
        if !gvk.is_selected(&self.gvk) || steps.len() > STEPS {
            return false;
        }
        let create = if self.create { create } else { Create::Nothing };
        let new = walk(object, &steps, create, change);
        let changed = new.is_some();
        if let Some(new) = new {
            *object = new;
        }
        changed
    }
}

/// A place in an object: keys, and numbers of items.
pub(super) type KeyPath = Vec<Arc<str>>;

impl FieldSpec {
    /// Lists the places in an object that the path leads to.
    pub fn places(&self, object: &Value, gvk: &Gvk) -> Vec<KeyPath> {
        fn walk(value: &Value, steps: &[String], at: &KeyPath, found: &mut Vec<KeyPath>) {
            let with = |key: &str| at.iter().cloned().chain([key.into()]).collect();
            match (value, steps.split_first()) {
                (_, None) => found.push(at.clone()),
                (Value::List(items), _) => items
                    .iter()
                    .enumerate()
                    .for_each(|(number, item)| walk(item, steps, &with(&number.to_string()), found)),
                (_, Some((step, rest))) => {
                    let key = step.strip_suffix("[]").unwrap_or(step);
                    if let Some(field) = value.get(key) {
                        walk(field, rest, &with(key), found);
                    }
                }
            }
        }
        let steps = split(&self.path, '/');
        let mut found = Vec::new();
        if gvk.is_selected(&self.gvk) && steps.len() <= STEPS {
            walk(object, &steps, &Vec::new(), &mut found);
        }
        found
    }
}

/// Returns what is at a place.
pub(super) fn at<'v>(object: &'v Value, place: &[Arc<str>]) -> Option<&'v Value> {
    place.iter().try_fold(object, |value, key| match value {
        Value::List(items) => items.get(key.parse::<usize>().ok()?),
        _ => value.entry(key),
    })
}

/// Puts a value at a place that is there.
pub(super) fn put(object: &mut Value, place: &[Arc<str>], new: &Value) {
    let found = place.iter().try_fold(object, |value, key| match value {
        Value::List(_) => value.make_list().get_mut(key.parse::<usize>().ok()?),
        _ => value.entry_mut(key),
    });
    if let Some(found) = found {
        *found = new.clone();
    }
}

fn walk(
    value: &Value,
    steps: &[String],
    create: Create,
    change: &mut dyn FnMut(&Value) -> Option<Value>,
) -> Option<Value> {
    let Some((step, rest)) = steps.split_first() else { return change(value) };
    match value {
        Value::Scalar(_) => None,
        Value::List(items) => list_with(items, |_, item| walk(item, steps, create, change)),
        Value::Map(map) => {
            let (field, is_list) =
                step.strip_suffix("[]").map_or((step.as_str(), false), |field| (field, true));
            let made = match create {
                _ if is_list => None,
                Create::Nothing => None,
                Create::Scalar if rest.is_empty() => Some(Value::Scalar(Scalar::made("").as_plain())),
                _ => Some(Value::empty()),
            };
            let found =
                map.get(field).filter(|value| !value.is_null() || (made.is_none() && rest.is_empty()));
            let new = walk(found.or(made.as_ref())?, rest, create, change)?;
            let mut object = value.clone();
            object.insert(field, new);
            Some(object)
        }
    }
}

/// Splits a path; a backslash before the delimiter keeps it.
pub(super) fn split(path: &str, delimiter: char) -> Vec<String> {
    let path = path.strip_prefix(delimiter).unwrap_or(path);
    let mut parts: Vec<String> = Vec::new();
    for part in path.split(delimiter) {
        match parts.last_mut().filter(|last| last.ends_with('\\')) {
            Some(last) => {
                last.pop();
                last.push(delimiter);
                last.push_str(part);
            }
            None => parts.push(part.to_owned()),
        }
    }
    parts
}

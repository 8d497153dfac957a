//! Step 7, render: a path to one field of an object, found again in other renderings of the same object.
//!
//! In: values and nodes. Out: the field in them. An item of a list is found by its name where it has one, since its place
//! may change between two versions.

use std::fmt;

use serde_json::Value;

use crate::yaml::Node;

/// A path from an object to a field.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Field(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Key(String),
    Item { place: usize, name: Option<String> },
}

// === impl Field ===

impl Field {
    /// Makes a path of keys.
    pub(super) fn keys<K: AsRef<str>>(keys: &[K]) -> Self {
        Self(keys.iter().map(|key| Step::Key(key.as_ref().to_owned())).collect())
    }

    /// Steps into a mapping.
    pub(super) fn key(&self, key: &str) -> Self {
        self.then(Step::Key(key.to_owned()))
    }

    /// Returns its keys; an item of a list has none.
    pub(super) fn path(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Item { .. } => None,
        })
    }

    /// Steps to an item of a list.
    pub(super) fn item(&self, place: usize, item: &Value) -> Self {
        let name = item.get("name").and_then(Value::as_str).map(str::to_owned);
        self.then(Step::Item { place, name })
    }

    fn then(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// Tells whether its last step is into a mapping, by this key.
    pub(super) fn is_under(&self, key: &str) -> bool {
        matches!(self.0.last(), Some(Step::Key(last)) if last == key)
    }

    /// Finds the field in an object.
    pub(super) fn find<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(root, |value, step| match step {
            Step::Key(key) => value.get(key),
            Step::Item { place, name } => {
                let items = value.as_array()?;
                let named = |item: &&Value| {
                    name.is_some() && item.get("name").and_then(Value::as_str) == name.as_deref()
                };
                items.iter().find(named).or_else(|| items.get(*place))
            }
        })
    }

    /// Finds the field in an object's text.
    pub(super) fn node<'a>(&self, root: Node<'a>) -> Option<Node<'a>> {
        self.0.iter().try_fold(root, |node, step| match step {
            Step::Key(key) => node.get(key),
            Step::Item { place, name } => {
                let named = |item: &Node<'_>| name.is_some() && item.text(&["name"]) == name.as_deref();
                node.items().find(named).or_else(|| node.items().nth(*place))
            }
        })
    }

    /// Writes another value to the field, where it is there.
    pub(super) fn set(&self, root: &mut Value, new: Value) {
        let field = self.0.iter().try_fold(root, |value, step| match step {
            Step::Key(key) => value.get_mut(key),
            Step::Item { place, name } => {
                let items = value.as_array_mut()?;
                let named = |item: &Value| {
                    name.is_some() && item.get("name").and_then(Value::as_str) == name.as_deref()
                };
                let place = items.iter().position(named).unwrap_or(*place);
                items.get_mut(place)
            }
        });
        if let Some(field) = field {
            *field = new;
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if key.contains(['.', '/', ' ']) => write!(f, "[\"{}\"]", key.escape_debug())?,
                Step::Key(key) if n == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Item { name: Some(name), .. } => write!(f, "[name={name}]")?,
                Step::Item { place, .. } => write!(f, "[{place}]")?,
            }
        }
        Ok(())
    }
}

/// Tells whether two values are the same to Kubernetes: numbers by value, a null as if it were not there.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let known = |value: &&Value| !value.is_null();
            a.values().filter(known).count() == b.values().filter(known).count()
                && a.iter()
                    .filter(|(_, v)| !v.is_null())
                    .all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

/// Puts keys in order and leaves nulls out: neither makes a difference to Kubernetes.
pub(super) fn ordered(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().filter(|(_, value)| !value.is_null()).collect();
            entries.sort_by_key(|(key, _)| *key);
            Value::Object(entries.into_iter().map(|(key, value)| (key.clone(), ordered(value))).collect())
        }
        Value::Array(items) => items.iter().map(ordered).collect(),
        other => other.clone(),
    }
}

/// Lists the fields in which two values differ, as deep as they can be named.
pub(super) fn differing(a: &Value, b: &Value) -> Vec<Field> {
    let mut found = Vec::new();
    compare(a, b, &Field::default(), &mut found);
    found
}

fn compare(a: &Value, b: &Value, at: &Field, found: &mut Vec<Field>) {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                compare(value, b.get(key).unwrap_or(&Value::Null), &at.key(key), found);
            }
            let only_there = b.iter().filter(|(key, value)| !a.contains_key(*key) && !value.is_null());
            found.extend(only_there.map(|(key, _)| at.key(key)));
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (place, (a, b)) in a.iter().zip(b).enumerate() {
                compare(a, b, &at.item(place, a), found);
            }
        }
        _ if same(a, b) => {}
        _ => found.push(at.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_item_is_found_by_its_name_and_named_so() {
        let old = json!({"webhooks": [{"name": "a", "x": {"ca.crt": 1}}, {"name": "b", "x": 2}]});
        let new = json!({"webhooks": [{"name": "b", "x": 2}, {"name": "a", "x": {"ca.crt": 3}}]});
        let first = json!({"webhooks": [{"name": "a", "x": {"ca.crt": 4}}, {"name": "b", "x": 2}]});
        let fields = differing(&old, &first);
        assert_eq!(fields.len(), 1);
        assert_eq!(fields[0].to_string(), "webhooks[name=a].x[\"ca.crt\"]");
        assert_eq!(fields[0].find(&new), Some(&json!(3)));
        let mut changed = new.clone();
        fields[0].set(&mut changed, json!(4));
        assert_eq!(changed["webhooks"][1]["x"]["ca.crt"], json!(4));
    }

    #[test]
    fn nulls_and_the_writing_of_numbers_make_no_difference() {
        assert!(differing(&json!({"a": null, "n": 1}), &json!({"n": 1.0})).is_empty());
        assert!(same(&json!({"a": null}), &json!({})) && !same(&json!({"a": ""}), &json!({})));
        let shown: Vec<String> = differing(&json!({"a": [1], "b": 1}), &json!({"a": [1, 2], "c": 1}))
            .iter()
            .map(Field::to_string)
            .collect();
        assert_eq!(shown, ["a", "b", "c"]);
    }
}

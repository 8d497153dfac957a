//! Step 7, render: the values that a set carries, without what somebody may have edited in them.
//!
//! In: an attempt with the values of the ConfigMap `linkerd-config` that does not prove. Out: the same values with single
//! ones as the other objects have them. An edit of the ConfigMap alone reaches no object; taken for the values, it would.

use serde_json::Value;

use super::{
    candidate::Candidate,
    field::{Field, differing},
    placed::Placed,
};
use crate::render::{Chart, Manifest, value};

/// So many are tried, each by two renderings.
const TRIED: usize = 6;

/// Returns the candidates, each named by the value that differs.
pub(super) fn edited(best: &Candidate, old: &Manifest, placed: &Placed, chart: &Chart) -> Vec<Candidate> {
    let user = best.user_values(chart);
    // What is still the chart's default was not edited.
    let mut leaves = Vec::new();
    collect(&user, &Field::default(), &mut leaves);
    let mut changes: Vec<(Field, Value)> = Vec::new();
    for (committed, rendered) in pairs(old, placed) {
        let is_it = |leaf: &Value| text(leaf).is_some_and(|leaf| leaf == rendered);
        let matching = leaves.iter().filter(|(_, leaf)| is_it(leaf));
        for (field, leaf) in matching {
            let change = (field.clone(), like(leaf, &committed));
            if !changes.contains(&change) {
                changes.push(change);
            }
        }
    }
    let with = |(field, value): &(Field, Value)| {
        let mut user = user.clone();
        set(&mut user, field, value.clone());
        best.with(&user, format!("{}, but for `{field}`", best.what))
    };
    changes.iter().take(TRIED).map(with).collect()
}

/// Lists the words in which the objects differ from the rendering, the ConfigMap aside: committed, rendered.
fn pairs(old: &Manifest, placed: &Placed) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for object in old.objects.iter().filter(|o| o.key.name != "linkerd-config") {
        let Some((_, committed)) = placed.get(&object.key) else { continue };
        for field in differing(&committed.value, &object.value) {
            let (a, b) =
                (field.find(&committed.value).and_then(text), field.find(&object.value).and_then(text));
            let (Some(a), Some(b)) = (a, b) else { continue };
            let words =
                |text: &str| text.split(['=', ',', ':', ' ', '"']).map(str::to_owned).collect::<Vec<_>>();
            let (a, b) = (words(&a), words(&b));
            let differ = a.iter().zip(&b).filter(|(a, b)| a != b && a.len() < 100);
            let new = differ.map(|(a, b)| (a.clone(), b.clone())).filter(|_| a.len() == b.len());
            new.for_each(|pair| {
                if !found.contains(&pair) {
                    found.push(pair)
                }
            });
        }
    }
    found
}

/// Returns a scalar as a template prints it.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Reads a printed scalar as the type that another has.
fn like(model: &Value, text: &str) -> Value {
    let typed = || value::read(text).ok().filter(|v| v.is_number() || v.is_boolean());
    match model {
        Value::String(_) => Value::String(text.to_owned()),
        _ => typed().unwrap_or_else(|| Value::String(text.to_owned())),
    }
}

fn collect(value: &Value, at: &Field, found: &mut Vec<(Field, Value)>) {
    match value.as_object() {
        Some(map) => map.iter().for_each(|(key, below)| collect(below, &at.key(key), found)),
        None => found.push((at.clone(), value.clone())),
    }
}

/// Writes a value at a path of keys, with what is missing above it.
fn set(root: &mut Value, field: &Field, new: Value) {
    let mut at = root;
    for key in field.path() {
        if !at.is_object() {
            *at = Value::Object(serde_json::Map::new());
        }
        let Some(map) = at.as_object_mut() else { return };
        at = map.entry(key).or_insert(Value::Null);
    }
    *at = new;
}

//! Properties of the object diff over generated objects.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::json;

use super::{tests::*, *};

/// A value that no generated object has.
const NEW: &str = "a value of its own";

fn any_value() -> impl Strategy<Value = Value> {
    let text = select(vec!["", "a", "b", "proxy", "TCP", "0123", "x: 1\ny: [2]\n"]).prop_map(Value::from);
    let leaf = prop_oneof![text, (0..4_i64).prop_map(Value::from), any::<bool>().prop_map(Value::from)];
    let key = select(vec![
        "name",
        "spec",
        "containers",
        "rules",
        "verbs",
        "args",
        "env",
        "ports",
        "containerPort",
        "webhooks",
        "a",
        "b.c",
    ]);
    leaf.prop_recursive(5, 40, 5, move |inner| {
        let map = vec((key.clone(), inner.clone()), 0..5);
        prop_oneof![
            vec(inner, 0..5).prop_map(Value::Array),
            map.prop_map(|entries| entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

fn any_object() -> impl Strategy<Value = Object> {
    let kind = select(vec!["Deployment", "Pod", "ClusterRole", "MutatingWebhookConfiguration", "Thing"]);
    (kind, any_value(), any_value()).prop_map(|(kind, spec, rules)| {
        named(kind, "x", json!({"spec": spec, "rules": rules, "webhooks": rules}))
    })
}

/// Every leaf's way from the root, in JSON pointers.
fn leaves(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, v)| leaves(v, &format!("{at}/{n}"), out))
        }
        Value::Object(map) => map.iter().for_each(|(key, v)| leaves(v, &format!("{at}/{key}"), out)),
        _ => out.push(at.to_owned()),
    }
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(map) => map.iter().rev().map(|(key, v)| (key.clone(), reversed(v))).collect(),
        Value::Array(items) => items.iter().map(reversed).collect(),
        other => other.clone(),
    }
}

/// Follows a path through a value.
fn follow<'v>(value: &'v Value, path: &FieldPath) -> Option<&'v Value> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    path.0.iter().try_fold(value, |value, segment| match segment {
        Segment::Key(key) => value.get(key),
        Segment::Index(at) => value.get(at),
        Segment::Item(keys) => value.as_array()?.iter().find(|item| {
            let has = |(name, wanted): &(String, String)| match item.get(name) {
                Some(found) => text(found) == *wanted,
                None => name == "protocol" && wanted == "TCP",
            };
            keys.iter().all(has)
        }),
        Segment::Member(member) => value.as_array()?.iter().find(|item| text(item) == *member),
        Segment::Inside => None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn nothing_differs_from_itself_whatever_the_order_of_keys(object in any_object()) {
        let turned = Object { value: reversed(&object.value), ..object.clone() };
        let found = diff(&[&object], &[&turned]);
        prop_assert!(found.is_empty() && found.same == 1, "{found:?}");
    }

    #[test]
    fn a_changed_value_is_reported_at_exactly_its_path(object in any_object(), pick in any::<prop::sample::Index>()) {
        let mut all = Vec::new();
        leaves(&object.value, "", &mut all);
        let pointer = &all[pick.index(all.len())];
        let mut after = object.clone();
        let old = std::mem::replace(after.value.pointer_mut(pointer).unwrap(), json!(NEW));
        let found = diff(&[&object], &[&after]);
        let fields: Vec<&FieldChange> = found.fields().map(|(_, field)| field).collect();
        let shown = || format!("{pointer}: {fields:?}");
        for field in &fields {
            prop_assert_eq!(follow(&object.value, &field.path).filter(|_| field.before.is_some()), field.before.as_ref(), "{}", shown());
            prop_assert_eq!(follow(&after.value, &field.path).filter(|_| field.after.is_some()), field.after.as_ref(), "{}", shown());
        }
        let holds_new = |field: &&&FieldChange| field.after.as_ref().is_some_and(|v| v.to_string().contains(NEW));
        prop_assert_eq!(fields.iter().filter(holds_new).count(), 1, "{}", shown());
        match fields.as_slice() {
            // The value itself, or what it replaced.
            [field] if field.before.is_some() => {
                prop_assert_eq!(field.before.as_ref(), Some(&old));
                prop_assert_eq!(field.after.as_ref(), Some(&json!(NEW)));
            }
            // A member of a set that was there twice is not gone.
            [field] => prop_assert!(matches!(field.path.0.last(), Some(Segment::Member(_))), "{}", shown()),
            // What tells an item from others makes it another item.
            [one, other] => prop_assert!(one.before.is_some() != other.before.is_some(), "{}", shown()),
            _ => prop_assert!(false, "{}", shown()),
        }
    }

    #[test]
    fn what_differs_is_never_called_the_same(before in any_value(), after in any_value()) {
        let (before, after) = (named("Thing", "x", json!({"of": before})), named("Thing", "x", json!({"of": after})));
        prop_assert_eq!(diff(&[&before], &[&after]).is_empty(), before.value == after.value);
    }

    #[test]
    fn the_order_of_objects_means_nothing(objects in vec(any_object(), 0..6), rotation in 0..6_usize) {
        let numbered: Vec<Object> = objects
            .into_iter()
            .enumerate()
            .map(|(n, mut object)| {
                object.key.name = format!("o{n}");
                object
            })
            .collect();
        let (old, new) = numbered.split_at(numbered.len() / 2);
        let before: Vec<&Object> = numbered.iter().collect();
        let after: Vec<&Object> = new.iter().chain(old.iter().skip(1)).collect();
        let mut turned = before.clone();
        turned.rotate_left(rotation.min(before.len()));
        let backwards: Vec<&Object> = after.iter().rev().copied().collect();
        prop_assert_eq!(diff(&before, &after), diff(&turned, &backwards));
    }
}

//! Step 7, render: changes by hand that stay in the new rendering (`drift: keep`).
//!
//! In: the objects as the old version gives them, as they are committed, and as the new version gives them. Out: the new
//! rendering with what was changed by hand, object by object and field by field; or the first field that both changed.
//! Items of a list are told apart as Kubernetes does it, texts of several lines are merged by line.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    field::{Field, ordered, same},
    placed::Placed,
};
use crate::{
    render::{
        Manifest, Object, ObjectKey,
        list_match::keyed,
        merge_keys::{self, Merge},
    },
    repo::git::merge,
};

/// The new rendering with the changes by hand.
pub(super) struct Kept {
    /// All objects that the chart gives.
    pub(super) new: Manifest,
    /// Those that hold a change by hand: their text is nobody's, they can only be changed where they stand.
    pub(super) changed: BTreeSet<ObjectKey>,
    /// Those that somebody took away.
    pub(super) without: BTreeSet<ObjectKey>,
}

/// What somebody changed by hand, and the release changes too.
pub(super) struct Clash {
    /// The object.
    pub(super) key: ObjectKey,
    /// The field; `None` for an object that one of them took away.
    pub(super) field: Option<Field>,
}

/// The same field in the old rendering, in Git, and in the new rendering.
#[derive(Clone, Copy)]
struct Sides<'v> {
    base: Option<&'v Value>,
    ours: Option<&'v Value>,
    theirs: Option<&'v Value>,
}

/// Merges one object.
struct Merging<'k> {
    kind: &'k str,
}

/// What is kept, and of what.
pub(super) struct Keeping<'k> {
    /// The old rendering.
    pub(super) old: &'k Manifest,
    /// What is committed.
    pub(super) placed: &'k Placed,
    /// The new rendering.
    pub(super) new: &'k Manifest,
    /// Tells whether an object is committed at all.
    pub(super) wanted: &'k dyn Fn(&Object) -> bool,
    /// Tells whether the release leaves an object as it is, but for its own name.
    pub(super) untouched: &'k dyn Fn(&Object, &Object) -> bool,
}

/// Puts the changes by hand into the new rendering; `None` where the result cannot be read back.
pub(super) fn keep(keeping: &Keeping<'_>) -> Option<Result<Kept, Clash>> {
    let Keeping { old, placed, new, wanted, untouched } = *keeping;
    let mut values: BTreeMap<&ObjectKey, Value> = BTreeMap::new();
    let mut without = BTreeSet::new();
    let clash = |key: &ObjectKey, field| Some(Err(Clash { key: key.clone(), field }));
    for object in new.objects.iter().filter(|object| wanted(object)) {
        let key = &object.key;
        let was = old.get(key);
        let base = was.map(|object| &object.value);
        match (base, placed.get(key).map(|(_, object)| &object.value)) {
            // It comes with this release.
            (None, None) => {}
            (Some(_), None) if was.is_some_and(|was| untouched(was, object)) => {
                without.insert(key.clone());
            }
            (Some(_), None) => return clash(key, None),
            (base, Some(ours)) if base.is_some_and(|base| same(base, ours)) => {}
            (base, ours) => {
                let merging = Merging { kind: &key.kind };
                let sides = Sides { base, ours, theirs: Some(&object.value) };
                match merging.field(sides, &Field::default()) {
                    Ok(Some(merged)) if same(&merged, &object.value) => {}
                    Ok(Some(merged)) => drop(values.insert(key, merged)),
                    Ok(None) => return clash(key, None),
                    Err(field) => return clash(key, Some(field)),
                }
            }
        }
    }
    // The release takes away what somebody changed.
    let gone = old.objects.iter().filter(|object| new.get(&object.key).is_none());
    for object in gone.filter(|object| wanted(object)) {
        let ours = placed.get(&object.key).map(|(_, ours)| &ours.value);
        if ours.is_some_and(|ours| !same(ours, &object.value)) {
            return clash(&object.key, None);
        }
    }
    let text = with_values(new, &values)?;
    let new = Manifest::parse(text).ok()?;
    Some(Ok(Kept { new, changed: values.into_keys().cloned().collect(), without }))
}

/// Writes a rendering with other values of some objects; an item of a `List` cannot be given one.
fn with_values(new: &Manifest, values: &BTreeMap<&ObjectKey, Value>) -> Option<String> {
    let mut text = String::with_capacity(new.text.len());
    let mut written = None;
    for object in &new.objects {
        match values.get(&object.key) {
            Some(_) if object.item.is_some() => return None,
            Some(value) => {
                let source = object.source.iter().map(|source| format!("# Source: {source}\n"));
                text.push_str(&format!("---\n{}{value}\n", source.collect::<String>()));
            }
            // A `List` has one document for all of its items.
            None if written == Some(object.document) => {}
            None => text.push_str(&format!("---\n{}", new.document(object))),
        }
        written = Some(object.document);
    }
    Some(text)
}

// === impl Merging ===

impl Merging<'_> {
    /// Merges a field; the field that both changed where it cannot be.
    fn field(&self, sides: Sides<'_>, at: &Field) -> Result<Option<Value>, Field> {
        let Sides { base, ours, theirs } = sides;
        let taken = |value: Option<&Value>| Ok(value.cloned());
        match () {
            () if alike(ours, base) || alike(ours, theirs) => return taken(theirs),
            () if alike(theirs, base) => return taken(ours),
            () => {}
        }
        match (base, ours, theirs) {
            (base, Some(Value::Object(ours)), Some(Value::Object(theirs))) => {
                let base = base.and_then(Value::as_object);
                self.mapping(base.unwrap_or(&Map::new()), ours, theirs, at)
            }
            (Some(Value::Array(base)), Some(Value::Array(ours)), Some(Value::Array(theirs))) => {
                self.list([base, ours, theirs], at)
            }
            (Some(Value::String(base)), Some(Value::String(ours)), Some(Value::String(theirs))) => {
                let lines = base.contains('\n').then(|| merged_lines([base, ours, theirs])).flatten();
                lines.map(|text| Some(Value::String(text))).ok_or_else(|| at.clone())
            }
            _ => Err(at.clone()),
        }
    }

    fn mapping(
        &self,
        base: &Map<String, Value>,
        ours: &Map<String, Value>,
        theirs: &Map<String, Value>,
        at: &Field,
    ) -> Result<Option<Value>, Field> {
        let mut merged = Map::new();
        let added = ours.keys().filter(|key| !theirs.contains_key(*key));
        for key in theirs.keys().chain(added) {
            let sides = Sides { base: base.get(key), ours: ours.get(key), theirs: theirs.get(key) };
            if let Some(value) = self.field(sides, &at.key(key))? {
                merged.insert(key.clone(), value);
            }
        }
        Ok(Some(Value::Object(merged)))
    }

    fn list(&self, lists: [&[Value]; 3], at: &Field) -> Result<Option<Value>, Field> {
        let path: Vec<&str> = at.path().collect();
        let merged = match merge_keys::merge(self.kind, &path) {
            Merge::Keys { fields, .. } => self.by_keys(lists, fields, at),
            Merge::Set => Some(Ok(members(lists))),
            Merge::Content { .. } => None,
        };
        let merged = merged.unwrap_or_else(|| as_lines(lists).ok_or_else(|| at.clone()))?;
        Ok(Some(Value::Array(merged)))
    }

    /// Merges items that have keys; `None` where one has none. They stand as in the new rendering, and what was added by hand
    /// stands behind what it stands behind now.
    fn by_keys(
        &self,
        [base, ours, theirs]: [&[Value]; 3],
        fields: &[(&str, Option<&str>)],
        at: &Field,
    ) -> Option<Result<Vec<Value>, Field>> {
        let (in_base, in_ours, in_theirs) =
            (keyed(base, fields)?, keyed(ours, fields)?, keyed(theirs, fields)?);
        let mut order = by_place(&in_theirs);
        let mut behind = 0;
        for key in by_place(&in_ours) {
            match order.iter().position(|known| *known == key) {
                Some(place) => behind = place + 1,
                None => {
                    order.insert(behind, key);
                    behind += 1;
                }
            }
        }
        let one = |key: &ItemKey| {
            let places = (in_base.get(key), in_ours.get(key), in_theirs.get(key));
            let item = |list: &'_ [Value], place: Option<&usize>| place.and_then(|n| list.get(*n)).cloned();
            let (base, ours, theirs) = (item(base, places.0), item(ours, places.1), item(theirs, places.2));
            let place = places.1.or(places.2).or(places.0).copied().unwrap_or_default();
            let named = ours.as_ref().or(theirs.as_ref()).cloned().unwrap_or_default();
            let sides = Sides { base: base.as_ref(), ours: ours.as_ref(), theirs: theirs.as_ref() };
            self.field(sides, &at.item(place, &named))
        };
        Some(order.into_iter().filter_map(|key| one(key).transpose()).collect())
    }
}

/// What tells an item of a list from its siblings.
type ItemKey = Vec<(String, String)>;

fn by_place(keys: &BTreeMap<ItemKey, usize>) -> Vec<&ItemKey> {
    let mut all: Vec<(&usize, &ItemKey)> = keys.iter().map(|(key, place)| (place, key)).collect();
    all.sort();
    all.into_iter().map(|(_, key)| key).collect()
}

/// Merges a list whose order means nothing: the new one, without what was taken away and with what was added by hand.
fn members([base, ours, theirs]: [&[Value]; 3]) -> Vec<Value> {
    let stays = theirs.iter().filter(|item| !base.contains(item) || ours.contains(item));
    let added = ours.iter().filter(|item| !base.contains(item) && !theirs.contains(item));
    stays.chain(added).cloned().collect()
}

/// Merges any other list as a text whose lines are its items.
fn as_lines(lists: [&[Value]; 3]) -> Option<Vec<Value>> {
    let text = |list: &[Value]| list.iter().map(|item| format!("{}\n", ordered(item))).collect::<String>();
    let texts = lists.map(text);
    let merged = merged_lines(texts.each_ref().map(String::as_str))?;
    merged.lines().map(|line| serde_json::from_str(line).ok()).collect()
}

fn merged_lines([base, ours, theirs]: [&str; 3]) -> Option<String> {
    let merged = merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes()).ok()??;
    String::from_utf8(merged).ok()
}

/// Tells whether two sides are the same, a null being nothing.
fn alike(one: Option<&Value>, other: Option<&Value>) -> bool {
    let known = |value: Option<&Value>| value.filter(|value| !value.is_null()).cloned();
    match (known(one), known(other)) {
        (Some(one), Some(other)) => same(&one, &other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn merged(kind: &str, base: Value, ours: Value, theirs: Value) -> Result<Value, String> {
        let sides = Sides { base: Some(&base), ours: Some(&ours), theirs: Some(&theirs) };
        let merged = Merging { kind }.field(sides, &Field::default());
        merged.map(Option::unwrap_or_default).map_err(|field| field.to_string())
    }

    #[test]
    fn what_each_side_changed_stays_and_what_both_changed_is_named() {
        let object = |replicas: u32, image: &str, more: Value| json!({"spec": {"replicas": replicas, "image": image, "more": more}});
        let (base, theirs) = (object(1, "a", json!({"x": 1})), object(1, "b", json!({"x": 1, "y": 2})));
        let ours = object(3, "a", json!({"z": 1}));
        let want = object(3, "b", json!({"y": 2, "z": 1}));
        assert_eq!(merged("Deployment", base.clone(), ours, theirs.clone()), Ok(want));
        let both = object(1, "c", json!({"x": 1}));
        assert_eq!(merged("Deployment", base.clone(), both, theirs.clone()), Err("spec.image".to_owned()));
        let taken = json!({"spec": {"replicas": 1, "image": "a"}});
        assert_eq!(merged("Deployment", base.clone(), taken, theirs.clone()), Err("spec.more".to_owned()));
        assert_eq!(merged("Deployment", base.clone(), theirs.clone(), theirs.clone()), Ok(theirs));
    }

    #[test]
    fn items_are_told_apart_as_kubernetes_does_it() {
        let pod = |containers: Value| json!({"spec": {"containers": containers}});
        let one = |name: &str, image: &str, args: Value| json!({"name": name, "image": image, "args": args});
        let base = pod(json!([one("proxy", "a", json!(["-x"])), one("app", "a", json!([]))]));
        let ours = pod(json!([
            one("proxy", "a", json!(["-x"])),
            one("mine", "m", json!([])),
            one("app", "a", json!(["-debug"]))
        ]));
        let theirs = pod(json!([
            one("new", "n", json!([])),
            one("proxy", "b", json!(["-x", "-y"])),
            one("app", "b", json!([]))
        ]));
        let want = pod(json!([
            one("new", "n", json!([])),
            one("proxy", "b", json!(["-x", "-y"])),
            one("mine", "m", json!([])),
            one("app", "b", json!(["-debug"]))
        ]));
        assert_eq!(merged("Pod", base.clone(), ours, theirs.clone()), Ok(want));
        let without = pod(json!([one("app", "a", json!([]))]));
        let clash = merged("Pod", base, without, theirs).unwrap_err();
        assert!(clash.starts_with("spec.containers["), "{clash}");
    }

    #[test]
    fn other_lists_and_texts_are_merged_by_line() {
        let args = |all: &[&str]| json!({"spec": {"args": all}});
        let (base, theirs) = (args(&["-a", "-b", "-c", "-d"]), args(&["-a", "-b", "-c", "-D"]));
        let want = args(&["-A", "-b", "-c", "-D"]);
        assert_eq!(merged("Pod", base.clone(), args(&["-A", "-b", "-c", "-d"]), theirs.clone()), Ok(want));
        assert_eq!(merged("Pod", base, args(&["-a", "-b", "-c", "-e"]), theirs), Err("spec.args".to_owned()));
        let config = |text: &str| json!({"data": {"values": text}});
        let text = merged(
            "ConfigMap",
            config("a: 1\nb: 1\nc: 1\n"),
            config("a: 2\nb: 1\nc: 1\n"),
            config("a: 1\nb: 1\nc: 2\n"),
        );
        assert_eq!(text, Ok(config("a: 2\nb: 1\nc: 2\n")));
        let verbs = |all: &[&str]| json!({"rules": [{"verbs": all}]});
        let role = merged(
            "Role",
            verbs(&["get", "list"]),
            verbs(&["get", "list", "watch"]),
            verbs(&["get", "list"]),
        );
        assert_eq!(role, Ok(verbs(&["get", "list", "watch"])));
        let finalizers = |all: &[&str]| json!({"metadata": {"finalizers": all}});
        let set =
            merged("Pod", finalizers(&["a", "b"]), finalizers(&["b", "mine"]), finalizers(&["a", "b", "c"]));
        assert_eq!(set, Ok(finalizers(&["b", "c", "mine"])));
    }
}

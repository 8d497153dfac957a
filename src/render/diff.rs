//! Step 7, render: what differs between two sets of Kubernetes objects.
//!
//! In: objects. Out: an [`ObjectDiff`], by object and field. Objects are the same by group, kind, namespace and name,
//! also where the version of their API moved; items of a list by Kubernetes' merge keys. YAML inside the texts of a
//! ConfigMap is compared as values. The work grows with the objects and not with pairs of them, whatever is in them.

use std::fmt;

use serde_json::{Map, Value};

use super::{
    field_path::{FieldPath, Segment},
    list_match::{Pairs, match_items},
    mask::shown,
    merge_keys::{self, Merge},
    object::{Object, ObjectKey},
    value,
};
use crate::yaml::Stream;

/// How two sets of objects differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectDiff {
    /// Objects that are only in the second, ordered.
    pub added: Vec<ObjectKey>,
    /// Objects that are only in the first, ordered.
    pub removed: Vec<ObjectKey>,
    /// Objects in both that differ, ordered.
    pub changed: Vec<ObjectChange>,
    /// How many objects mean the same in both.
    pub same: usize,
}

/// How one object differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectChange {
    /// The object.
    pub key: ObjectKey,
    /// Its fields that differ, in the order of their names.
    pub fields: Vec<FieldChange>,
    /// Lists whose order means something and whose items changed places.
    pub reordered: Vec<FieldPath>,
}

/// One field that differs. Shown, it keeps private keys and the data of Secrets to itself.
#[derive(Clone, PartialEq, Eq)]
pub struct FieldChange {
    /// Where it is.
    pub path: FieldPath,
    /// What was there; `None` where nothing was.
    pub before: Option<Value>,
    /// What is there; `None` where it is gone.
    pub after: Option<Value>,
    /// Whether it is the data of a Secret.
    pub secret: bool,
}

/// Compares two sets of objects.
pub fn diff(before: &[&Object], after: &[&Object]) -> ObjectDiff {
    let mut before = before.to_vec();
    let mut after = after.to_vec();
    before.sort_by(|a, b| a.key.cmp(&b.key));
    after.sort_by(|a, b| a.key.cmp(&b.key));
    let mut diff = ObjectDiff::default();
    let (mut old, mut new) = (before.into_iter().peekable(), after.into_iter().peekable());
    loop {
        match (old.peek(), new.peek()) {
            (Some(b), Some(a)) if b.key == a.key => {
                match compare(b, a) {
                    Some(change) => diff.changed.push(change),
                    None => diff.same += 1,
                }
                old.next();
                new.next();
            }
            (Some(b), Some(a)) if b.key < a.key => diff.removed.extend(old.next().map(|o| o.key.clone())),
            (Some(_), None) => diff.removed.extend(old.next().map(|o| o.key.clone())),
            (_, Some(_)) => diff.added.extend(new.next().map(|o| o.key.clone())),
            (None, None) => return diff,
        }
    }
}

/// Compares two versions of one object; `None` where they mean the same.
fn compare(before: &Object, after: &Object) -> Option<ObjectChange> {
    let mut walk = Walk {
        kind: &after.key.kind,
        core: after.key.group.is_empty(),
        path: Vec::new(),
        fields: Vec::new(),
        reordered: Vec::new(),
    };
    walk.values(&before.value, &after.value);
    let Walk { fields, reordered, .. } = walk;
    let differs = !fields.is_empty() || !reordered.is_empty();
    differs.then(|| ObjectChange { key: after.key.clone(), fields, reordered })
}

/// A walk through two versions of one object at once.
struct Walk<'a> {
    kind: &'a str,
    /// Whether the object is of the core group.
    core: bool,
    path: Vec<Segment>,
    fields: Vec<FieldChange>,
    reordered: Vec<FieldPath>,
}

// === impl ObjectDiff ===

impl ObjectDiff {
    /// Tells whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    /// Returns every changed field with its object.
    pub fn fields(&self) -> impl Iterator<Item = (&ObjectKey, &FieldChange)> {
        self.changed.iter().flat_map(|change| change.fields.iter().map(|field| (&change.key, field)))
    }

    /// Returns the change of an object.
    pub fn change(&self, key: &ObjectKey) -> Option<&ObjectChange> {
        let at = self.changed.binary_search_by(|change| change.key.cmp(key)).ok()?;
        self.changed.get(at)
    }
}

// === impl FieldChange ===

impl FieldChange {
    /// Returns what was there as it may be shown.
    pub fn shown_before(&self) -> Option<String> {
        self.before.as_ref().map(|value| shown(value, self.secret))
    }

    /// Returns what is there as it may be shown.
    pub fn shown_after(&self) -> Option<String> {
        self.after.as_ref().map(|value| shown(value, self.secret))
    }
}

impl fmt::Display for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.shown_before(), self.shown_after()) {
            (Some(before), Some(after)) => write!(f, "{}: {before} -> {after}", self.path),
            (None, Some(after)) => write!(f, "{}: added {after}", self.path),
            (Some(before), None) => write!(f, "{}: removed {before}", self.path),
            (None, None) => write!(f, "{}", self.path),
        }
    }
}

impl fmt::Debug for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

// === impl Walk ===

impl Walk<'_> {
    /// Compares without asking first whether all is equal, which would look at deep values once for each level.
    fn values(&mut self, before: &Value, after: &Value) {
        match (before, after) {
            (Value::Object(before), Value::Object(after)) => self.mappings(before, after),
            (Value::Array(before), Value::Array(after)) => self.lists(before, after),
            _ if before == after => {}
            (Value::String(old), Value::String(new)) if self.may_hold_yaml() && self.texts(old, new) => {}
            _ => self.record(Some(before), Some(after)),
        }
    }

    fn mappings(&mut self, before: &Map<String, Value>, after: &Map<String, Value>) {
        let mut keys: Vec<&String> = before.keys().collect();
        keys.extend(after.keys().filter(|key| !before.contains_key(*key)));
        keys.sort_unstable();
        for key in keys {
            self.path.push(Segment::Key(key.clone()));
            self.either(before.get(key), after.get(key));
            self.path.pop();
        }
    }

    fn lists(&mut self, before: &[Value], after: &[Value]) {
        let Pairs { items, reordered } = match_items(before, after, self.merge());
        for (segment, old, new) in items {
            self.path.push(segment);
            self.either(old, new);
            self.path.pop();
        }
        if reordered {
            self.reordered.push(FieldPath(self.path.clone()));
        }
    }

    /// Compares the YAML in two texts; `false` where that does not tell how they differ.
    fn texts(&mut self, before: &str, after: &str) -> bool {
        let (Some(before), Some(after)) = (embedded(before), embedded(after)) else { return false };
        let found = (self.fields.len(), self.reordered.len());
        self.path.push(Segment::Inside);
        self.values(&before, &after);
        self.path.pop();
        (self.fields.len(), self.reordered.len()) != found
    }

    fn either(&mut self, before: Option<&Value>, after: Option<&Value>) {
        match (before, after) {
            (Some(before), Some(after)) => self.values(before, after),
            (None, None) => {}
            _ => self.record(before, after),
        }
    }

    fn record(&mut self, before: Option<&Value>, after: Option<&Value>) {
        let path = FieldPath(self.path.clone());
        let secret = self.is_secret(&path);
        self.fields.push(FieldChange { path, before: before.cloned(), after: after.cloned(), secret });
    }

    fn merge(&self) -> Merge {
        if self.path.contains(&Segment::Inside) {
            return merge_keys::UNKNOWN;
        }
        let keys: Vec<&str> = self
            .path
            .iter()
            .filter_map(|segment| match segment {
                Segment::Key(key) => Some(key.as_str()),
                _ => None,
            })
            .collect();
        merge_keys::merge(self.kind, &keys)
    }

    fn may_hold_yaml(&self) -> bool {
        let under_data =
            matches!(self.path.as_slice(), [Segment::Key(data), Segment::Key(_)] if data == "data");
        under_data && self.core && self.kind == "ConfigMap"
    }

    /// All of a Secret but what only names it; a copy of its data may stand in an annotation.
    fn is_secret(&self, path: &FieldPath) -> bool {
        let plain: [&[&str]; 5] = [&["apiVersion"], &["kind"], &["type"], &["immutable"], &["metadata"]];
        let copy = ["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"];
        let names_it = plain.iter().any(|keys| path.starts_with(keys)) && !path.starts_with(&copy);
        self.core && self.kind == "Secret" && !names_it
    }
}

/// Reads a text that is one document with a mapping or a list in it.
fn embedded(text: &str) -> Option<Value> {
    let stream = Stream::parse(text).ok()?;
    let mut roots = stream.roots();
    let root = roots.next().filter(|root| root.is_mapping() || root.is_sequence())?;
    match roots.next() {
        Some(_) => None,
        None => value::of(root).ok(),
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

//! Step 7, render: which item of one list is which of another.
//!
//! In: two lists and how their items are told apart. Out: pairs. Each item is looked at a fixed number of times, so
//! that a hostile list costs no more than its length.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
};

use serde_json::Value;

use super::{field_path::Segment, merge_keys::Merge};

/// The items of two lists, side by side.
pub(super) struct Pairs<'v> {
    /// Items that differ or stand alone, each with its step in the path.
    pub(super) items: Vec<(Segment, Option<&'v Value>, Option<&'v Value>)>,
    /// Whether the order means something and items that are in both changed places.
    pub(super) reordered: bool,
}

/// Matches the items of two lists.
pub(super) fn match_items<'v>(before: &'v [Value], after: &'v [Value], merge: Merge) -> Pairs<'v> {
    let (ordered, alike) = match merge {
        Merge::Keys { fields, ordered } => match by_keys(before, after, fields, ordered) {
            Some(pairs) => return pairs,
            None => (ordered, &[][..]),
        },
        Merge::Set => match by_members(before, after) {
            Some(pairs) => return pairs,
            None => (false, &[][..]),
        },
        Merge::Content { ordered, alike } => (ordered, alike),
    };
    Matching::of(before, after).pairs(ordered, alike)
}

/// Matches by fields; `None` where an item lacks one or two items have the same.
fn by_keys<'v>(
    before: &'v [Value],
    after: &'v [Value],
    fields: &[(&str, Option<&str>)],
    ordered: bool,
) -> Option<Pairs<'v>> {
    let (old, new) = (keyed(before, fields)?, keyed(after, fields)?);
    let all: BTreeSet<&Vec<(String, String)>> = old.keys().chain(new.keys()).collect();
    let places = |key: &Vec<(String, String)>| Some((*old.get(key)?, *new.get(key)?));
    let mut in_both: Vec<(usize, usize)> = all.iter().filter_map(|key| places(key)).collect();
    let item = |list: &'v [Value], at: Option<&usize>| at.and_then(|at| list.get(*at));
    let items = all.iter().map(|key| {
        let key: &Vec<(String, String)> = key;
        (Segment::Item(key.clone()), item(before, old.get(key)), item(after, new.get(key)))
    });
    Some(Pairs { items: items.collect(), reordered: ordered && changed_places(&mut in_both) })
}

pub(super) fn keyed(
    list: &[Value],
    fields: &[(&str, Option<&str>)],
) -> Option<BTreeMap<Vec<(String, String)>, usize>> {
    let mut places = BTreeMap::new();
    for (at, item) in list.iter().enumerate() {
        let field = |(name, default): &(&str, Option<&str>)| {
            let text = match item.get(name) {
                None | Some(Value::Null) => (*default)?.to_owned(),
                Some(value) => scalar(value)?,
            };
            Some(((*name).to_owned(), text))
        };
        let key = fields.iter().map(field).collect::<Option<Vec<_>>>()?;
        if places.insert(key, at).is_some() {
            return None;
        }
    }
    Some(places)
}

/// Matches scalars as a set; `None` where an item is no scalar.
fn by_members<'v>(before: &'v [Value], after: &'v [Value]) -> Option<Pairs<'v>> {
    let members =
        |list: &'v [Value]| list.iter().map(|v| Some((scalar(v)?, v))).collect::<Option<BTreeMap<_, _>>>();
    let (old, new) = (members(before)?, members(after)?);
    let all: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let alone = all.into_iter().filter(|text| !(old.contains_key(*text) && new.contains_key(*text)));
    let item =
        |text: &String| (Segment::Member(text.clone()), old.get(text).copied(), new.get(text).copied());
    Some(Pairs { items: alone.map(item).collect(), reordered: false })
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// A matching by content in the making.
struct Matching<'v> {
    before: &'v [Value],
    after: &'v [Value],
    /// Places of items that are in both.
    equal: Vec<(usize, usize)>,
    /// Places of items of the first that have no like in the second, in order.
    old: Vec<usize>,
    /// The same of the second.
    new: Vec<usize>,
}

// === impl Matching ===

impl<'v> Matching<'v> {
    fn of(before: &'v [Value], after: &'v [Value]) -> Self {
        let prefix = before.iter().zip(after).take_while(|(b, a)| b == a).count();
        let (rest_before, rest_after) = (&before[prefix..], &after[prefix..]);
        let suffix =
            rest_before.iter().rev().zip(rest_after.iter().rev()).take_while(|(b, a)| b == a).count();
        let ends = (before.len() - suffix, after.len() - suffix);
        let mut equal: Vec<(usize, usize)> = (0..prefix).map(|at| (at, at)).collect();
        equal.extend((ends.0..before.len()).zip(ends.1..after.len()));
        let mut matching =
            Self { before, after, equal, old: (prefix..ends.0).collect(), new: (prefix..ends.1).collect() };
        // Two items that are left alone are each other's, and need not be hashed.
        if matching.old.len() <= 1 && matching.new.len() <= 1 {
            return matching;
        }
        if ends.0 == ends.1 {
            matching.take(|at, _| at, |at, _| at, |b, a| b == a);
        }
        matching.take(|_, v| content(v), |_, v| content(v), |b, a| b == a);
        matching
    }

    /// Takes out the items whose marks agree, in order, as equal.
    fn take<M: Hash + Eq>(
        &mut self,
        old: impl Fn(usize, &Value) -> M,
        new: impl Fn(usize, &Value) -> M,
        agree: impl Fn(&Value, &Value) -> bool,
    ) {
        let found = self.marked(old, new, agree);
        self.equal.extend(found);
    }

    /// Takes out the items whose marks agree, in order, and returns their places.
    fn marked<M: Hash + Eq>(
        &mut self,
        old: impl Fn(usize, &Value) -> M,
        new: impl Fn(usize, &Value) -> M,
        agree: impl Fn(&Value, &Value) -> bool,
    ) -> Vec<(usize, usize)> {
        let mut waiting: HashMap<M, VecDeque<usize>> = HashMap::new();
        for at in &self.old {
            waiting.entry(old(*at, &self.before[*at])).or_default().push_back(*at);
        }
        let mut found = Vec::new();
        let mut alone = Vec::new();
        for at in &self.new {
            let queue = waiting.get_mut(&new(*at, &self.after[*at]));
            let first = queue.and_then(|queue| {
                let first = *queue.front()?;
                agree(&self.before[first], &self.after[*at]).then(|| queue.pop_front())?
            });
            match first {
                Some(first) => found.push((first, *at)),
                None => alone.push(*at),
            }
        }
        let gone: BTreeSet<usize> = found.iter().map(|(old, _)| *old).collect();
        self.old.retain(|at| !gone.contains(at));
        self.new = alone;
        found
    }

    fn pairs(mut self, ordered: bool, alike: &[&str]) -> Pairs<'v> {
        let mut changed = Vec::new();
        if !alike.is_empty() {
            let mark = |value: &Value| alike.iter().map(|f| value.get(f).map(content)).collect::<Vec<_>>();
            changed = self.marked(|_, v| mark(v), |_, v| mark(v), |_, _| true);
        }
        if self.old.len() == self.new.len() {
            changed.extend(std::mem::take(&mut self.old).into_iter().zip(std::mem::take(&mut self.new)));
        }
        changed.sort_unstable_by_key(|(_, new)| *new);
        let (before, after) = (self.before, self.after);
        let removed = self.old.iter().map(|at| (Segment::Index(*at), before.get(*at), None));
        let both = changed.iter().map(|(old, new)| (Segment::Index(*new), before.get(*old), after.get(*new)));
        let added = self.new.iter().map(|at| (Segment::Index(*at), None, after.get(*at)));
        let items = removed.chain(both).chain(added).collect();
        Pairs { items, reordered: ordered && changed_places(&mut self.equal) }
    }
}

/// Tells whether pairs of places are not in the same order on both sides.
fn changed_places(pairs: &mut [(usize, usize)]) -> bool {
    pairs.sort_unstable();
    !pairs.is_sorted_by_key(|(_, after)| *after)
}

/// A number that equal values share, whatever the order of their keys.
fn content(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        Value::Null => 0_u8.hash(&mut hasher),
        Value::Bool(on) => (1_u8, on).hash(&mut hasher),
        Value::Number(number) => (2_u8, number.to_string()).hash(&mut hasher),
        Value::String(text) => (3_u8, text).hash(&mut hasher),
        Value::Array(items) => {
            (4_u8, items.len()).hash(&mut hasher);
            items.iter().for_each(|item| content(item).hash(&mut hasher));
        }
        Value::Object(map) => {
            let mut entries: Vec<(&String, u64)> = map.iter().map(|(key, v)| (key, content(v))).collect();
            entries.sort_unstable();
            (5_u8, entries).hash(&mut hasher);
        }
    }
    hasher.finish()
}

//! Values whose scalars know where they were written.
//!
//! A scalar is a row of [`Part`]s, each a piece of text with the bytes of the file that it stands in. Whatever a deployer
//! does with text (cut, join, fill in, parse again) is done with parts, so that what comes out still says where it came
//! from, and what is nowhere in the tree says who knows it.

mod code;
mod scalar;

use std::{borrow::Cow, fmt, sync::Arc};

use indexmap::IndexMap;

pub use scalar::{Cutter, Origin, Part, Reading, Scalar, Source, UNKNOWN, Unknown, Via};

/// A mapping, in order. Cheap to clone: what is not changed is shared.
pub type Map = Arc<IndexMap<Arc<str>, Value>>;

/// A value of an object, of a chart, of a generator. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// A mapping.
    Map(Map),
    /// A sequence.
    List(Arc<Vec<Value>>),
    /// A scalar.
    Scalar(Scalar),
}

// === impl Value ===

impl Value {
    /// An empty mapping.
    pub fn empty() -> Self {
        Self::Map(Map::default())
    }

    /// A mapping of these entries.
    pub fn map<'k>(entries: impl IntoIterator<Item = (&'k str, Self)>) -> Self {
        Self::Map(Arc::new(entries.into_iter().map(|(key, value)| (key.into(), value)).collect()))
    }

    /// A sequence.
    pub fn list(items: Vec<Self>) -> Self {
        Self::List(Arc::new(items))
    }

    /// A text that a deployer makes.
    pub fn made(text: &str) -> Self {
        Self::Scalar(Scalar::made(text))
    }

    /// Returns what is under a key; nulls are returned too.
    pub fn entry(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(map) => map.get(key),
            _ => None,
        }
    }

    /// Returns what is under a key, where it is not null.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).filter(|value| !value.is_null())
    }

    /// Walks down a path of keys.
    pub fn path(&self, keys: &[&str]) -> Option<&Self> {
        keys.iter().try_fold(self, |value, key| value.get(key))
    }

    /// Returns the scalar under a path of keys.
    pub fn scalar(&self, keys: &[&str]) -> Option<&Scalar> {
        self.path(keys)?.as_scalar()
    }

    /// Returns the text under a path of keys, where all of it is known.
    pub fn text(&self, keys: &[&str]) -> Option<Cow<'_, str>> {
        self.scalar(keys)?.known()
    }

    /// Returns the scalar.
    pub fn as_scalar(&self) -> Option<&Scalar> {
        match self {
            Self::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// Returns the items of a sequence; of anything else none.
    pub fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// Returns the items of the sequence under a key.
    pub fn list_at(&self, key: &str) -> &[Self] {
        self.get(key).map_or(&[], Self::items)
    }

    /// Returns the entries of a mapping in order; of anything else none.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Self)> {
        let map = match self {
            Self::Map(map) => Some(map),
            _ => None,
        };
        map.into_iter().flat_map(|map| map.iter().map(|(key, value)| (&**key, value)))
    }

    /// Returns the mapping to change it; what is no mapping becomes an empty one.
    pub fn make_map(&mut self) -> &mut IndexMap<Arc<str>, Self> {
        loop {
            match self {
                Self::Map(map) => return Arc::make_mut(map),
                _ => *self = Self::empty(),
            }
        }
    }

    /// Returns the sequence to change it; what is no sequence becomes an empty one.
    pub fn make_list(&mut self) -> &mut Vec<Self> {
        loop {
            match self {
                Self::List(items) => return Arc::make_mut(items),
                _ => *self = Self::list(Vec::new()),
            }
        }
    }

    /// Returns what is under a key to change it, nulls too.
    pub fn entry_mut(&mut self, key: &str) -> Option<&mut Self> {
        match self {
            Self::Map(map) if map.contains_key(key) => Arc::make_mut(map).get_mut(key),
            _ => None,
        }
    }

    /// Puts a value under a key; an entry that is there keeps its place.
    pub fn insert(&mut self, key: &str, value: Self) {
        self.make_map().insert(key.into(), value);
    }

    /// Takes an entry out; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Self> {
        match self {
            Self::Map(map) if map.contains_key(key) => Arc::make_mut(map).shift_remove(key),
            _ => None,
        }
    }

    /// Tells whether this is a null.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Scalar(scalar) if scalar.is_null())
    }

    /// Returns all scalars, keys excepted.
    pub fn scalars(&self) -> Vec<&Scalar> {
        let mut found = Vec::new();
        let mut todo = vec![self];
        while let Some(value) = todo.pop() {
            match value {
                Self::Scalar(scalar) => found.push(scalar),
                Self::List(items) => todo.extend(items.iter()),
                Self::Map(map) => todo.extend(map.values()),
            }
        }
        found
    }

    /// Makes new scalars of all scalars, keys excepted; `None` where `change` leaves all as they are.
    pub fn with_scalars(&self, change: &mut dyn FnMut(&Scalar) -> Option<Scalar>) -> Option<Self> {
        match self {
            Self::Scalar(scalar) => change(scalar).map(Self::Scalar),
            Self::List(items) => list_with(items, |_, item| item.with_scalars(change)),
            Self::Map(map) => {
                let mut new: Option<IndexMap<Arc<str>, Self>> = None;
                for (at, value) in map.values().enumerate() {
                    if let Some(value) = value.with_scalars(change) {
                        new.get_or_insert_with(|| IndexMap::clone(map))[at] = value;
                    }
                }
                new.map(|map| Self::Map(Arc::new(map)))
            }
        }
    }
}

/// Makes a list in which some items are new, each told with its number; `None` where `change` leaves all as they are.
pub fn list_with(items: &[Value], mut change: impl FnMut(usize, &Value) -> Option<Value>) -> Option<Value> {
    let mut new: Option<Vec<Value>> = None;
    for (at, item) in items.iter().enumerate() {
        if let Some(item) = change(at, item) {
            new.get_or_insert_with(|| items.to_vec())[at] = item;
        }
    }
    new.map(Value::list)
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Map(map) => f.debug_map().entries(map.iter()).finish(),
            Self::List(items) => f.debug_list().entries(items.iter()).finish(),
            Self::Scalar(scalar) => write!(f, "{scalar:?}"),
        }
    }
}

//! Reading nodes of which one may be of the wrong type without losing the rest of the document.
//!
//! In: a serde deserializer. Out: the shape that was asked for, or its absence. Syntax errors stay errors.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// A value that takes the nodes it understands and is absent for all others.
pub(super) trait Shape: Sized {
    /// The value for a node that is not understood.
    fn absent() -> Self;

    /// The value for a text.
    fn text(_text: &str) -> Self {
        Self::absent()
    }

    /// The value for a list.
    fn list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::absent())
    }

    /// The value for a mapping.
    fn map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::absent())
    }
}

/// Deserializes a [`Shape`].
pub(super) struct Lenient<T>(pub T);

struct ShapeVisitor<T>(PhantomData<T>);

// === impl Lenient ===

impl<'de, T: Shape> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor(PhantomData)).map(Self)
    }
}

// === impl ShapeVisitor ===

impl<'de, T: Shape> Visitor<'de> for ShapeVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any node")
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::map(map)
    }

    fn visit_bool<E>(self, _: bool) -> Result<T, E> {
        Ok(T::absent())
    }

    fn visit_i64<E>(self, _: i64) -> Result<T, E> {
        Ok(T::absent())
    }

    fn visit_i128<E>(self, _: i128) -> Result<T, E> {
        Ok(T::absent())
    }

    fn visit_u64<E>(self, _: u64) -> Result<T, E> {
        Ok(T::absent())
    }

    fn visit_u128<E>(self, _: u128) -> Result<T, E> {
        Ok(T::absent())
    }

    fn visit_f64<E>(self, _: f64) -> Result<T, E> {
        Ok(T::absent())
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::absent())
    }
}

// === impl Shape ===

impl Shape for Option<String> {
    fn absent() -> Self {
        None
    }

    fn text(text: &str) -> Self {
        Some(text.to_owned())
    }
}

impl<T> Shape for Vec<T>
where
    Option<T>: Shape,
{
    fn absent() -> Self {
        Self::new()
    }

    fn list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut all = Self::new();
        while let Some(Lenient(item)) = list.next_element::<Lenient<Option<T>>>()? {
            all.extend(item);
        }
        Ok(all)
    }
}

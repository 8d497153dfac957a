//! The merge generator: the elements of the first generator, each with what later ones say of the same keys.
//!
//! Source: `applicationset/generators/merge.go` of argo-cd. Of clusters that the tree does not have it does not say which of
//! them two generators both mean: then the elements of the first stay, and each may have what the other says beside them.

use std::collections::{HashMap, HashSet};

use super::{
    ELEMENTS,
    element::{Element, overridden},
    generators::Reader,
};
use crate::{
    deploy::{go_template::Stop, object::Labels, typed::typed, value::Value},
    repo::RepoPath,
};

/// What is said of one merge key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    /// It is this.
    Known(String),
    /// The tree does not say what it is, and who knows it.
    Unknown(Option<String>),
}

/// A Secret of the tree by which a cluster is known: its file, and its labels.
type Secret = (RepoPath, Labels);

/// An element's merge keys, by which two are one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key(Vec<Part>);

// === impl Key ===

impl Key {
    fn of(element: &Element, names: &[String]) -> Self {
        let part = |name: &String| match element.parameters.entry(name) {
            // Who knows all that the tree does not say of an element is one Secret, of one cluster.
            Some(Value::Scalar(scalar)) if scalar.unknown_to().is_some() => {
                let one = scalar.unknown_to().filter(|_| element.open.is_none());
                Part::Unknown(one.map(ToString::to_string))
            }
            Some(value) => Part::Known(texts(value)),
            None if element.open.is_some() => Part::Unknown(None),
            None => Part::Known(String::new()),
        };
        Self(names.iter().map(part).collect())
    }

    /// Whether the tree tells it from any other.
    fn is_certain(&self) -> bool {
        !self.0.contains(&Part::Unknown(None))
    }

    /// Whether two that differ may be one all the same.
    fn may_be(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(one, two)| match (one, two) {
            (Part::Known(one), Part::Known(two)) => one == two,
            // What two objects know is not the same.
            (Part::Unknown(Some(one)), Part::Unknown(Some(two))) => one == two,
            _ => true,
        })
    }
}

// === impl Reader ===

impl Reader<'_> {
    pub(super) fn merge(&mut self, body: &Value, depth: usize) -> Result<Vec<Element>, Stop> {
        let keys = body.list_at("mergeKeys").iter().filter_map(Value::as_scalar);
        let names: Vec<String> = keys.map(|key| key.text().into_owned()).collect();
        let generators = body.list_at("generators");
        let (Some((first, others)), false) =
            (generators.split_first(), names.is_empty() || generators.len() < 2)
        else {
            return Err(Stop::Refused("Merge requires two or more generators and a merge key".to_owned()));
        };
        let mut all = self.keyed(first, &names, depth)?;
        for generator in others {
            let over = self.keyed(generator, &names, depth)?;
            self.lay_over(&mut all, &over);
        }
        Ok(all.into_iter().map(|(_, element)| element).collect())
    }

    /// The elements of a generator by their keys, of which no two may be one. Two Secrets of one cluster are those of two Argo CDs:
    /// which of them a later generator means the tree does not say.
    fn keyed(
        &mut self,
        generator: &Value,
        names: &[String],
        depth: usize,
    ) -> Result<Vec<(Key, Element)>, Stop> {
        let elements = self.nested(generator, depth)?.into_iter();
        let mut all: Vec<_> = elements.map(|element| (Key::of(&element, names), element)).collect();
        let mut known: HashMap<Key, HashSet<Option<Secret>>> = HashMap::new();
        for (key, element) in all.iter().filter(|(key, _)| key.is_certain()) {
            let (secrets, own) = (known.entry(key.clone()).or_default(), secret(element));
            let may_be_apart = secrets.is_empty() || own.is_some() && !secrets.contains(&None);
            if !may_be_apart || !secrets.insert(own) {
                return Err(Stop::Refused(
                    "the parameters from a generator were not unique by the given mergeKeys".to_owned(),
                ));
            }
        }
        for (key, _) in &mut all {
            if known.get(key).is_some_and(|secrets| secrets.len() > 1) {
                key.0.fill(Part::Unknown(None));
            }
        }
        Ok(all)
    }

    fn lay_over(&mut self, all: &mut Vec<(Key, Element)>, over: &[(Key, Element)]) {
        let certain = |of: &[(Key, Element)]| -> HashSet<Key> {
            of.iter().filter(|(key, _)| key.is_certain()).map(|(key, _)| key.clone()).collect()
        };
        let there = certain(all);
        // Of those the tree says whom they are laid over; of the others it may be anybody.
        let (sure, loose): (Vec<_>, Vec<_>) = over.iter().partition(|(key, _)| there.contains(key));
        let sure: HashMap<&Key, &Element> = sure.into_iter().map(|(key, element)| (key, element)).collect();
        let mut fits = vec![false; loose.len()];
        let mut more = Vec::new();
        for (key, element) in all.iter_mut() {
            if let Some(other) = sure.get(key) {
                let parameters = self.laid(element, other);
                self.overridden.extend(replaced(&element.parameters, &parameters));
                *element = element.with(other, parameters);
                continue;
            }
            let may_be = |(of, other): &(Key, Element)| key.may_be(of) && !at_odds(element, other);
            for ((_, other), fits) in loose.iter().zip(&mut fits).filter(|(other, _)| may_be(other)) {
                *fits = true;
                if more.len() <= ELEMENTS {
                    more.push((key.clone(), element.with(other, self.laid(element, other))));
                }
            }
        }
        for ((key, element), _) in loose.into_iter().zip(fits).filter(|(_, fits)| !fits) {
            match key.is_certain() {
                true => self.overridden.push(element.parameters.clone()),
                // It is of a cluster that the tree does not have, as the others may be.
                false => more.push((key.clone(), element.clone())),
            }
        }
        all.extend(more);
    }

    fn laid(&self, element: &Element, over: &Element) -> Value {
        if self.language.go {
            return overridden(&element.parameters, &over.parameters);
        }
        let mut parameters = element.parameters.clone();
        over.parameters.entries().for_each(|(key, value)| parameters.insert(key, value.clone()));
        parameters
    }
}

/// Returns the Secret of the tree that an element is of.
fn secret(element: &Element) -> Option<Secret> {
    let file = element.file.clone().filter(|_| !element.chosen_by.is_empty())?;
    Some((file, element.chosen_by.clone()))
}

/// Whether two were chosen by a label of which one cluster has but one.
fn at_odds(one: &Element, other: &Element) -> bool {
    let differ = |(key, value): &(String, String)| {
        other.chosen_by.iter().any(|(name, other)| name == key && other != value)
    };
    one.chosen_by.iter().any(differ)
}

/// What stands under a key of the old parameters and no longer under that of the new ones.
fn replaced<'v>(old: &'v Value, new: &'v Value) -> impl Iterator<Item = Value> + use<'v> {
    old.entries().filter(|(key, value)| new.entry(key) != Some(value)).map(|(_, value)| value.clone())
}

/// What a key is compared by.
fn texts(value: &Value) -> String {
    match value {
        Value::Scalar(scalar) => format!("{:?}", typed(scalar)),
        Value::List(items) => items.iter().map(texts).collect::<Vec<_>>().join(","),
        Value::Map(map) => map.iter().map(|(k, v)| format!("{k}={}", texts(v))).collect::<Vec<_>>().join(","),
    }
}

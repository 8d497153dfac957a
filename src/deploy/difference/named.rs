//! What objects of a root name of one another.
//!
//! In: the objects of a root before and after. Out: what one of them names by a release that moves, and which nobody has made
//! anew by that name. What other roots bring is not looked for.

use std::collections::{BTreeMap, BTreeSet};

use super::DEPTH;
use crate::deploy::{
    kustomize::without_hash,
    object::Object,
    reads::shape,
    value::{Scalar, Value},
};

/// The kind that others name most.
const SECRET: &str = "Secret";
/// Kinds of which a controller makes a Secret of the same name.
const SEALED: [&str; 2] = ["ExternalSecret", "SealedSecret"];

/// A kind and a name, in whatever namespace.
type Name = (String, String);

/// What the objects of a root are called.
pub(super) struct Named(BTreeSet<Name>);

// === impl Named ===

impl Named {
    pub fn of(objects: &[Object]) -> Self {
        let called = |object: &Object| {
            let kind = object.kind();
            let kind = if SEALED.contains(&&*kind) { SECRET.to_owned() } else { kind.into_owned() };
            Some((kind, without_hash(&object.name().and_then(Scalar::known)?).to_owned()))
        };
        Self(objects.iter().filter_map(called).collect())
    }
}

/// Finds what an object found by a name before, and by its new name finds no more; returns both.
pub(super) fn lost([(was, brought), (is, brings)]: [(&Object, &Named); 2]) -> Option<(String, String)> {
    let [old, new] = [was, is].map(|object| {
        let mut names = BTreeSet::new();
        gather(&object.value, None, DEPTH, &mut names);
        names
    });
    // An object may name thousands, and what each is called anew is looked up.
    let alike = |(kind, name): &Name| (kind.clone(), shape(name));
    let left: BTreeMap<Name, &Name> = old
        .difference(&new)
        .filter(|name| brought.0.contains(*name))
        .map(|name| (alike(name), name))
        .collect();
    let shown = |(kind, name): &Name| format!("{kind} {name}");
    let mut missing = new.difference(&old).filter(|name| !brings.0.contains(*name));
    missing.find_map(|now| Some((shown(left.get(&alike(now)).copied()?), shown(now))))
}

/// Lists what a value names: by kind and name, or under a key that says the kind (`secretRef`, `configMap`, `secretName`).
fn gather(value: &Value, said: Option<&str>, depth: usize, found: &mut BTreeSet<Name>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match value {
        Value::Scalar(name) => {
            let name = name.known().map(|name| without_hash(&name).to_owned());
            found.extend(said.map(str::to_owned).zip(name));
        }
        Value::List(items) => items.iter().for_each(|item| gather(item, said, depth, found)),
        Value::Map(_) => {
            let own = value.text(&["kind"]);
            for (key, inner) in value.entries() {
                let kind = match key {
                    "name" => own.as_deref().or(said),
                    _ => kind_in(key),
                };
                gather(inner, kind, depth, found);
            }
        }
    }
}

fn kind_in(key: &str) -> Option<&'static str> {
    let key = key.to_ascii_lowercase();
    let is_map = || key.contains("configmap").then_some("ConfigMap");
    key.contains("secret").then_some(SECRET).or_else(is_map)
}

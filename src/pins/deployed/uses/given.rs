//! Step 5, pins: what a release gives to its chart.
//!
//! In: layers of values. Out: texts and single values as Helm is given them, in order. What is not known of a layer
//! follows it, each with its path.

use std::{collections::HashSet, sync::Arc};

use super::kept;
use crate::{
    deploy::{
        ChartRelease, Layer, Origin, Value,
        chart::layered,
        go_yaml,
        value::{UNKNOWN, Via},
    },
    pins::{Parameter, ValuesPart},
    repo::RepoPath,
};

/// Lists what a release gives to its chart, in order.
pub(super) fn given(
    release: &ChartRelease,
    texts: &mut HashSet<Arc<str>>,
) -> (Vec<ValuesPart>, Vec<Parameter>) {
    let mut given = Given { release, texts, values: Vec::new(), parameters: Vec::new() };
    let last = release.layers.iter().rposition(|l| matches!(l, Layer::Values(_) | Layer::InChart { .. }));
    for (n, layer) in release.layers.iter().enumerate() {
        given.layer(layer, last.filter(|last| n < *last).map(|_| n));
    }
    (given.values, given.parameters)
}

struct Given<'a> {
    release: &'a ChartRelease,
    texts: &'a mut HashSet<Arc<str>>,
    values: Vec<ValuesPart>,
    parameters: Vec<Parameter>,
}

// === impl Given ===

impl Given<'_> {
    /// Takes a layer; of one that others follow its number, since single values come last where Helm is given them.
    fn layer(&mut self, layer: &Layer, followed: Option<usize>) {
        match layer {
            Layer::Values(value) => self.mapping(value),
            Layer::InChart { file, optional } => match file.withheld_by() {
                None => match RepoPath::resolve("", file.text().trim_start_matches('/')) {
                    Some(inside) => {
                        let file = inside.as_str().to_owned();
                        self.values.push(ValuesPart::InChart { file, optional: *optional });
                    }
                    None => self.outside(file.text().into_owned(), None, *optional),
                },
                Some(who) => self.outside(format!("the values file of {who}"), None, *optional),
            },
            Layer::Outside { who, target, optional, .. } => {
                let target = target.as_ref().filter(|target| target.withheld_by().is_none());
                self.outside(who.clone(), target.map(|target| target.text().into_owned()), *optional);
            }
            Layer::Set(set) => {
                let name = set.name.text().into_owned();
                match (set.name.withheld_by(), set.value.withheld_by(), followed) {
                    (Some(who), _, _) => self.outside(who.to_owned(), None, false),
                    (None, Some(who), _) => self.outside(who.to_owned(), Some(name), false),
                    (None, None, None) => {
                        let value = set.value.text().into_owned();
                        self.parameters.push(Parameter { name, value, kind: set.kind });
                    }
                    (None, None, Some(n)) => {
                        let mut own = Value::empty();
                        match set.lay(&mut own) {
                            Ok(()) if !name.contains('[') => self.mapping(&own),
                            // What goes into a list depends on what is there.
                            Ok(()) => self
                                .mapping(&layered(self.release.layers.get(..=n).unwrap_or_default()).value),
                            Err(error) => {
                                self.outside(format!("`{name}`, which Helm refuses: {error}"), None, false)
                            }
                        }
                    }
                }
            }
        }
    }

    fn outside(&mut self, what: String, target: Option<String>, optional: bool) {
        self.values.push(ValuesPart::Outside { what, target, optional });
    }

    /// Takes a mapping; what of it is not known follows it.
    fn mapping(&mut self, value: &Value) {
        let mut holes = Vec::new();
        let value = settled(value, "", &mut holes).unwrap_or_else(Value::empty);
        if value != Value::empty() {
            let path = self.path_of(&value);
            let text = kept(self.texts, &go_yaml::document(&value).text());
            self.values.push(ValuesPart::Text { text, path });
        }
        for (target, who) in holes {
            self.outside(who, Some(target).filter(|target| !target.is_empty()), false);
        }
    }

    /// Returns the file that values stand in, whatever they were filled with: that of the release, where any of them does.
    fn path_of(&self, value: &Value) -> RepoPath {
        let own = &self.release.file;
        let scalars = value.scalars();
        let standing = |at: &&Origin| at.via.is_none_or(Via::is_of_values);
        let mut paths = scalars.iter().flat_map(|s| s.origins()).filter(standing).map(|at| &at.source.path);
        let first = paths.next().unwrap_or(own);
        if first == own || paths.any(|path| path == own) { own.clone() } else { first.clone() }
    }
}

/// Takes out of a value what is not known, each with its path in Helm's syntax and who knows it.
fn settled(value: &Value, path: &str, holes: &mut Vec<(String, String)>) -> Option<Value> {
    match value {
        Value::Scalar(scalar) => {
            let sealed = scalar.is_sealed().then_some("a value that SOPS encrypts");
            match scalar.withheld_by().or(sealed) {
                Some(who) => {
                    holes.push((path.to_owned(), who.to_owned()));
                    None
                }
                None => Some(value.clone()),
            }
        }
        Value::List(items) => {
            let item = |(n, item)| {
                // A list keeps its length, so that the paths of the others hold.
                settled(item, &format!("{path}[{n}]"), holes).unwrap_or_else(|| Value::made(""))
            };
            Some(Value::list(items.iter().enumerate().map(item).collect()))
        }
        Value::Map(map) => {
            let mut known = Value::empty();
            for (key, value) in map.iter() {
                if key.contains(UNKNOWN) {
                    holes.push((path.to_owned(), "a key that the tree does not know".to_owned()));
                    continue;
                }
                let below = if path.is_empty() { escaped(key) } else { format!("{path}.{}", escaped(key)) };
                if let Some(value) = settled(value, &below, holes) {
                    known.insert(key, value);
                }
            }
            Some(known)
        }
    }
}

/// Writes a key as a part of a path in Helm's syntax.
fn escaped(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    for c in key.chars() {
        if matches!(c, '.' | ',' | '[' | ']' | '=' | '\\' | '{' | '}') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

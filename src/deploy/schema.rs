//! What Kubernetes' OpenAPI says of lists: which of them a strategic merge patch merges, and by which keys.
//!
//! In: the table of the kinds that kustomize has built in, or an OpenAPI document of the tree. Out: a [`Shape`] for each field
//! that leads to such a list. A list that is not in it is replaced as a whole.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use super::value::Value;

/// The table; its head says what a line means.
const BUILT_IN: &str = include_str!("../../data/kubernetes-merge.txt");

/// Inline types nest no deeper in a document that is followed.
const DEPTH: usize = 40;

/// The kinds that are known.
#[derive(Debug, Default)]
pub struct Schema {
    types: Vec<Type>,
    /// By `apiVersion`, then `kind`.
    kinds: HashMap<String, HashMap<String, usize>>,
    /// `apiVersion` and `kind` of what lives in no namespace.
    cluster: HashMap<String, HashSet<String>>,
}

#[derive(Debug, Default)]
struct Type {
    fields: HashMap<String, Shape>,
    /// Of every other field.
    other: Option<Shape>,
}

/// What a field is, as far as a merge needs to know.
#[derive(Clone, Debug)]
pub enum Shape {
    /// A mapping of a type.
    Map(TypeId),
    /// A list.
    List(ListShape),
}

/// A type of a [`Schema`].
#[derive(Clone, Copy, Debug)]
pub struct TypeId(usize);

/// How a list is merged.
#[derive(Clone, Debug)]
pub struct ListShape {
    /// The fields by which items are matched; none where they are matched by their whole value. `None` for a list that is
    /// replaced.
    pub keys: Option<Vec<String>>,
    items: Option<Box<Shape>>,
}

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::of_table(BUILT_IN));

// === impl Schema ===

impl Schema {
    /// Returns the kinds of Kubernetes that kustomize knows by itself.
    pub fn built_in() -> &'static Self {
        &SCHEMA
    }

    /// Reads the definitions of an OpenAPI document, as `openapi.path` of a kustomization names one.
    pub fn of_document(document: &Value) -> Self {
        let mut schema = Self::default();
        let Some(definitions) = document.get("definitions") else { return schema };
        let names: HashMap<&str, usize> =
            definitions.entries().enumerate().map(|(n, (k, _))| (k, n)).collect();
        schema.types.resize_with(names.len(), Type::default);
        for (at, (_, definition)) in definitions.entries().enumerate() {
            for kind in definition.list_at("x-kubernetes-group-version-kind") {
                let text = |key: &str| kind.text(&[key]).unwrap_or_default().into_owned();
                let (group, version) = (text("group"), text("version"));
                let api_version = if group.is_empty() { version } else { format!("{group}/{version}") };
                schema.kinds.entry(api_version).or_default().insert(text("kind"), at);
            }
            let filled = Document { names: &names, types: &mut schema.types }.fields(definition, DEPTH);
            schema.types[at] = filled;
        }
        schema
    }

    /// Returns what is known of a kind.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<Shape> {
        self.kinds.get(api_version)?.get(kind).map(|at| Shape::Map(TypeId(*at)))
    }

    /// Tells whether objects of a kind live in no namespace, as far as that is known.
    pub fn is_cluster_scoped(api_version: &str, kind: &str) -> bool {
        SCHEMA.cluster.get(api_version).is_some_and(|kinds| kinds.contains(kind))
    }

    /// Returns what a field of a mapping is.
    pub fn field<'s>(&'s self, shape: Option<&Shape>, key: &str) -> Option<&'s Shape> {
        let Some(Shape::Map(TypeId(at))) = shape else { return None };
        let of = self.types.get(*at)?;
        of.fields.get(key).or(of.other.as_ref())
    }

    fn of_table(table: &str) -> Self {
        let lines = || table.lines().filter(|line| !line.starts_with('#'));
        let names: HashMap<&str, usize> = lines()
            .filter_map(|line| line.strip_prefix("type "))
            .enumerate()
            .map(|(n, name)| (name, n))
            .collect();
        let mut schema = Self::default();
        for line in lines() {
            let shape = |name: &str| names.get(name).map(|at| Shape::Map(TypeId(*at)));
            let words: Vec<&str> = line.split_whitespace().collect();
            let last = schema.types.len().saturating_sub(1);
            match *words.as_slice() {
                ["type", _] => schema.types.push(Type::default()),
                ["kind", api_version, kind] => {
                    schema.kinds.entry(api_version.into()).or_default().insert(kind.into(), last);
                }
                ["map", field, name] => {
                    schema.types[last].fields.extend(shape(name).map(|shape| (field.to_owned(), shape)));
                }
                ["list", field, keys, name] => {
                    let keys = keys.split(',').filter(|key| *key != "=").map(str::to_owned).collect();
                    let list = ListShape { keys: Some(keys), items: shape(name).map(Box::new) };
                    schema.types[last].fields.insert(field.to_owned(), Shape::List(list));
                }
                [api_version, kind] => {
                    schema.cluster.entry(api_version.into()).or_default().insert(kind.into());
                }
                _ => {}
            }
        }
        schema
    }
}

// === impl ListShape ===

impl ListShape {
    /// Returns what each item is.
    pub fn items(&self) -> Option<&Shape> {
        self.items.as_deref()
    }
}

/// Reads types of an OpenAPI document.
struct Document<'d> {
    names: &'d HashMap<&'d str, usize>,
    types: &'d mut Vec<Type>,
}

impl Document<'_> {
    fn fields(&mut self, definition: &Value, depth: usize) -> Type {
        let mut of = Type::default();
        for (name, property) in definition.get("properties").into_iter().flat_map(Value::entries) {
            of.fields.extend(self.shape(property, depth).map(|shape| (name.to_owned(), shape)));
        }
        of.other = definition.get("additionalProperties").and_then(|other| self.shape(other, depth));
        of
    }

    fn shape(&mut self, property: &Value, depth: usize) -> Option<Shape> {
        let depth = depth.checked_sub(1)?;
        if let Some(reference) = property.text(&["$ref"]) {
            let name = reference.rsplit('/').next().unwrap_or_default();
            return self.names.get(name).map(|at| Shape::Map(TypeId(*at)));
        }
        if property.text(&["type"]).as_deref() == Some("array") || property.get("items").is_some() {
            let strategy = property.text(&["x-kubernetes-patch-strategy"]).unwrap_or_default();
            let text = |value: &Value| value.as_scalar().map(|scalar| scalar.text().into_owned());
            let many = property.get("x-kubernetes-list-map-keys");
            let keys = match (many, property.get("x-kubernetes-patch-merge-key")) {
                (Some(many), _) => many.items().iter().filter_map(text).collect(),
                (None, Some(one)) => text(one).into_iter().collect(),
                (None, None) => Vec::new(),
            };
            let merged = strategy.split(',').any(|word| word == "merge");
            let items = property.get("items").and_then(|items| self.shape(items, depth)).map(Box::new);
            return Some(Shape::List(ListShape { keys: merged.then_some(keys), items }));
        }
        let inline = self.fields(property, depth);
        self.types.push(inline);
        Some(Shape::Map(TypeId(self.types.len() - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::{files::Files, testing::files};

    fn keys(schema: &Schema, api_version: &str, kind: &str, path: &[&str]) -> Option<Vec<String>> {
        let mut shape = schema.kind(api_version, kind);
        for key in path {
            let list = match &shape {
                Some(Shape::List(list)) => list.items().cloned(),
                other => other.clone(),
            };
            shape = schema.field(list.as_ref(), key).cloned();
        }
        match shape {
            Some(Shape::List(list)) => list.keys,
            _ => None,
        }
    }

    #[test]
    fn the_lists_of_kubernetes_are_known() {
        let built_in = Schema::built_in();
        let pod = ["spec", "template", "spec", "containers"];
        assert_eq!(keys(built_in, "apps/v1", "Deployment", &pod).unwrap(), ["name"]);
        let ports = ["spec", "template", "spec", "containers", "ports"];
        assert_eq!(keys(built_in, "apps/v1", "Deployment", &ports).unwrap(), ["containerPort", "protocol"]);
        assert_eq!(keys(built_in, "v1", "ConfigMap", &["metadata", "finalizers"]).unwrap(), [""; 0]);
        assert_eq!(keys(built_in, "v1", "Pod", &["spec", "containers", "args"]), None);
        assert!(Schema::is_cluster_scoped("v1", "Namespace") && !Schema::is_cluster_scoped("v1", "Pod"));
    }

    #[test]
    fn a_document_of_the_tree_says_it_of_kinds_of_its_own() {
        let text = "definitions:\n  x.Thing:\n    properties:\n      parts: {type: array, x-kubernetes-patch-strategy: merge, x-kubernetes-patch-merge-key: id, items: {$ref: '#/definitions/x.Part'}}\n      all: {type: array, items: {type: string}}\n      in:\n        properties:\n          parts: {type: array, x-kubernetes-patch-strategy: merge, x-kubernetes-list-map-keys: [a, b], items: {}}\n    x-kubernetes-group-version-kind: [{group: x.io, version: v1, kind: Thing}]\n  x.Part: {properties: {self: {$ref: '#/definitions/x.Part'}}}\n";
        let tree = files(&[("a.yaml", text)]);
        let schema = Schema::of_document(&tree.documents("a.yaml").unwrap()[0]);
        assert_eq!(keys(&schema, "x.io/v1", "Thing", &["parts"]).unwrap(), ["id"]);
        assert_eq!(keys(&schema, "x.io/v1", "Thing", &["in", "parts"]).unwrap(), ["a", "b"]);
        assert_eq!(keys(&schema, "x.io/v1", "Thing", &["all"]), None);
    }
}

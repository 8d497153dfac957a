//! Step 7, render: Kubernetes objects in manifest text.
//!
//! In: text of one or more documents. Out: objects with their identity, their value, and the bytes that they stand in.

use std::{collections::BTreeMap, fmt, ops::Range, sync::Arc};

use serde_json::Value;

use super::value;
use crate::yaml::{Document, Node, Stream, YamlError};

/// A manifest and the objects in it, in the order of the text.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The text.
    pub text: Arc<str>,
    /// The text as a tree.
    pub stream: Stream,
    /// The objects; an item of a `List` is one, the list is none.
    pub objects: Vec<Object>,
    /// Where its lines end: of a large file each object is asked for its line.
    ends: Arc<[usize]>,
}

/// One Kubernetes object in a manifest.
#[derive(Clone, Debug)]
pub struct Object {
    /// What it is called.
    pub key: ObjectKey,
    /// `apiVersion`.
    pub api_version: String,
    /// All of it, typed as Kubernetes reads it.
    pub value: Value,
    /// Its document in the stream, from 0.
    pub document: usize,
    /// Its place in the document's `List`, where it stands in one.
    pub item: Option<usize>,
    /// The bytes of its document: from behind the `---` line to the next one, comments included.
    pub span: Range<usize>,
    /// Helm's `# Source:` of its document, such as `linkerd-viz/templates/tap.yaml`.
    pub source: Option<String>,
}

/// What makes an object the same one in two manifests: not the version of its API.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// The API group; empty for the core.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The namespace as written; `None` for objects of the cluster, and where none is written.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

/// A manifest that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// Not YAML, or over a ceiling.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// A document that is no Kubernetes object.
    #[error("line {line}: this document is no Kubernetes object: it has no `{missing}`")]
    NoObject {
        /// From 1.
        line: usize,
        /// The field.
        missing: &'static str,
    },
    /// The same object twice.
    #[error("line {line}: {key} is written twice")]
    Twice {
        /// From 1, of the second.
        line: usize,
        /// The object.
        key: ObjectKey,
    },
}

// === impl Manifest ===

impl Manifest {
    /// Parses a text in which every document with content is an object; `List`s are opened.
    pub fn parse(text: impl Into<Arc<str>>) -> Result<Self, ManifestError> {
        let text = text.into();
        let stream = Stream::parse(&text)?;
        let ends: Arc<[usize]> = memchr::memchr_iter(b'\n', text.as_bytes()).collect();
        let mut objects = Vec::new();
        for (document, span) in stream.documents.iter().zip(spans(&text, &stream)) {
            let Some(root) = document.root().filter(|r| !is_empty(*r)) else { continue };
            let source = source(&text, &stream, &span);
            let line = line_of(&ends, root.span().start);
            let listed = list(root).is_some();
            for (n, node) in opened(root).into_iter().enumerate() {
                let object = Object::read(node, document, span.clone(), source.clone());
                let object = object.map_err(|e| e.at(line))?;
                objects.push(Object { item: listed.then_some(n), ..object });
            }
        }
        let mut seen = BTreeMap::new();
        for object in &objects {
            if seen.insert(&object.key, ()).is_some() {
                let line = line_of(&ends, object.span.start);
                return Err(ManifestError::Twice { line, key: object.key.clone() });
            }
        }
        Ok(Self { text, stream, objects, ends })
    }

    /// Finds an object.
    pub fn get(&self, key: &ObjectKey) -> Option<&Object> {
        self.objects.iter().find(|o| o.key == *key)
    }

    /// Returns the root of an object's document.
    pub fn root(&self, object: &Object) -> Option<Node<'_>> {
        self.stream.documents.get(object.document)?.root()
    }

    /// Returns the mapping of an object: its document's root, or its item of a `List`.
    pub fn node(&self, object: &Object) -> Option<Node<'_>> {
        match object.item {
            Some(item) => self.list(object)?.item(item),
            None => self.root(object),
        }
    }

    /// Returns the items of the `List` that an object stands in.
    pub fn list(&self, object: &Object) -> Option<Node<'_>> {
        list(self.root(object)?).filter(|_| object.item.is_some())
    }

    /// Returns the text of an object's document, from behind its `---` line to the next one.
    pub fn document(&self, object: &Object) -> &str {
        self.text.get(object.span.clone()).unwrap_or_default()
    }

    /// Returns the line on which an object begins, from 1.
    pub fn line(&self, object: &Object) -> usize {
        self.line_of(self.node(object).map_or(object.span.start, |node| node.span().start))
    }

    /// Returns the line of a place in the text, from 1.
    pub fn line_of(&self, at: usize) -> usize {
        line_of(&self.ends, at)
    }
}

// === impl Object ===

enum Fault {
    Missing(&'static str),
    Yaml(YamlError),
}

impl Fault {
    fn at(self, line: usize) -> ManifestError {
        match self {
            Self::Missing(missing) => ManifestError::NoObject { line, missing },
            Self::Yaml(error) => ManifestError::Yaml(error),
        }
    }
}

impl Object {
    fn read(
        node: Node<'_>,
        document: &Document,
        span: Range<usize>,
        source: Option<String>,
    ) -> Result<Self, Fault> {
        let text = |keys: &[&str]| node.text(keys).filter(|t| !t.is_empty()).map(str::to_owned);
        let api_version = text(&["apiVersion"]).ok_or(Fault::Missing("apiVersion"))?;
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group).to_owned();
        let key = ObjectKey {
            group,
            kind: text(&["kind"]).ok_or(Fault::Missing("kind"))?,
            namespace: text(&["metadata", "namespace"]),
            name: text(&["metadata", "name"]).ok_or(Fault::Missing("metadata.name"))?,
        };
        let value = value::of(node).map_err(Fault::Yaml)?;
        Ok(Self { key, api_version, value, document: document.index, item: None, span, source })
    }

    /// Returns the value under a path of keys.
    pub fn at(&self, keys: &[&str]) -> Option<&Value> {
        keys.iter().try_fold(&self.value, |value, key| value.get(key))
    }

    /// Returns the text under a path of keys.
    pub fn text(&self, keys: &[&str]) -> Option<&str> {
        self.at(keys)?.as_str()
    }

    /// Returns an annotation.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.text(&["metadata", "annotations", name])
    }

    /// Returns a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.text(&["metadata", "labels", name])
    }
}

// === impl ObjectKey ===

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

fn is_empty(root: Node<'_>) -> bool {
    root.as_str().is_some_and(|text| text.is_empty() || text == "null" || text == "~")
}

/// Returns the items of a `List`, else the object itself.
fn opened(root: Node<'_>) -> Vec<Node<'_>> {
    list(root).map_or_else(|| vec![root], |items| items.items().collect())
}

fn list(root: Node<'_>) -> Option<Node<'_>> {
    let list = root.text(&["kind"]).is_some_and(|kind| kind.ends_with("List"));
    root.get("items").filter(|items| list && items.is_sequence())
}

/// Returns the bytes of each document: between the lines of `---`.
fn spans(text: &str, stream: &Stream) -> Vec<Range<usize>> {
    let behind = |at: usize| text[at..].find('\n').map_or(text.len(), |n| at + n + 1);
    let starts: Vec<(usize, usize)> =
        stream.documents.iter().map(|d| d.marker().map_or((0, 0), |m| (m.start, behind(m.start)))).collect();
    let ends = starts.iter().skip(1).map(|(marker, _)| *marker).chain([text.len()]);
    starts.iter().zip(ends).map(|((_, start), end)| *start..end.max(*start)).collect()
}

fn source(text: &str, stream: &Stream, span: &Range<usize>) -> Option<String> {
    let first = stream.comments.partition_point(|c| c.span.start < span.start);
    let comment = stream.comments.get(first).filter(|c| c.span.start < span.end)?;
    let before = text.get(span.start..comment.span.start)?;
    let path = comment.text.trim().strip_prefix("Source:")?.trim();
    before.trim().is_empty().then(|| path.to_owned())
}

fn line_of(ends: &[usize], at: usize) -> usize {
    ends.partition_point(|end| *end < at) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_know_their_text_and_where_they_come_from() {
        let text = "---\n# Source: c/templates/a.yaml\n# more\napiVersion: v1\nkind: A\nmetadata: {name: a, namespace: n}\n\n---\n# nothing\n---\n# Source: c/templates/b.yaml\nkind: B\napiVersion: g.io/v1beta1\nmetadata: {name: b}\n";
        let manifest = Manifest::parse(text).unwrap();
        let shown: Vec<String> = manifest.objects.iter().map(|o| o.key.to_string()).collect();
        assert_eq!(shown, ["A n/a", "B b"]);
        assert_eq!(manifest.objects[0].source.as_deref(), Some("c/templates/a.yaml"));
        assert_eq!(manifest.objects[1].key.group, "g.io");
        assert!(manifest.document(&manifest.objects[0]).starts_with("# Source: c/templates/a.yaml\n"));
        assert!(manifest.document(&manifest.objects[0]).ends_with("namespace: n}\n\n"));
        assert_eq!(manifest.line(&manifest.objects[1]), 12);
        let whole: String = manifest.objects.iter().map(|o| manifest.document(o)).collect();
        assert_eq!(whole.matches("---").count(), 0);
    }

    #[test]
    fn lists_are_opened_and_what_is_no_object_is_named() {
        let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: a}}\n- {apiVersion: v1, kind: A, metadata: {name: b}}\n";
        assert_eq!(Manifest::parse(list).unwrap().objects.len(), 2);
        let fault = |text: &str| Manifest::parse(text).unwrap_err().to_string();
        assert_eq!(fault("a: 1\n"), "line 1: this document is no Kubernetes object: it has no `apiVersion`");
        let twice = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n";
        assert_eq!(fault(twice), "line 5: A a is written twice");
        assert!(Manifest::parse("").unwrap().objects.is_empty());
    }
}

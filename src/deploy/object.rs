//! Kubernetes objects, as a deployer hands them to the cluster.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use super::{
    files::Files,
    schema::Schema,
    value::{Scalar, Value},
};
use crate::repo::RepoPath;

/// Lists nest no deeper than this in any cluster.
const LISTS: usize = 8;

/// Labels: keys with their values.
pub type Labels = BTreeSet<(String, String)>;

/// One Kubernetes object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its mapping.
    pub value: Value,
    /// The file that it was written in; of a generated object, the one that says what to generate.
    pub file: RepoPath,
    /// The file of the outermost that took it in: a kustomization, a Flux Kustomization, an Application. `None` for an
    /// object that is as its file has it.
    pub by: Option<RepoPath>,
    /// The labels by which its cluster was chosen.
    pub chosen_by: Labels,
    /// The HelmReleases that whoever makes it waits for before it is applied, by `name` or `namespace/name`.
    pub waits_for: Arc<[String]>,
}

// === impl Object ===

impl Object {
    /// Takes a mapping as an object that somebody has deployed.
    pub fn new(value: Value, file: RepoPath, by: Option<RepoPath>) -> Self {
        Self { value, file, by, chosen_by: Labels::new(), waits_for: Arc::default() }
    }

    /// Reads a document as objects: those inside a `List` or a bare sequence each by itself; what has no `kind` is none.
    pub fn all(document: &Value, file: &RepoPath) -> Vec<Self> {
        let mut found = Vec::new();
        collect(document, LISTS, &mut |value| {
            found.push(Self::new(value.clone(), file.clone(), None));
        });
        found
    }

    /// Reads the objects of a file; of one that is not read there are none.
    pub fn of_file(files: &dyn Files, path: &RepoPath) -> Vec<Self> {
        let documents = files.documents(path.as_str());
        documents.iter().flat_map(|all| all.iter()).flat_map(|document| Self::all(document, path)).collect()
    }

    /// Lists the files by which its cluster is known: its own, and that of the outermost that took it in.
    pub fn known_by(&self) -> impl Iterator<Item = &RepoPath> {
        std::iter::once(&self.file).chain(&self.by)
    }

    /// The same at once.
    pub fn files(&self) -> Vec<&RepoPath> {
        self.known_by().collect()
    }

    /// Returns `apiVersion`, `""` where there is none.
    pub fn api_version(&self) -> Cow<'_, str> {
        self.value.text(&["apiVersion"]).unwrap_or_default()
    }

    /// Returns `apiVersion` without its version: `apps` of `apps/v1`.
    pub fn group(&self) -> Cow<'_, str> {
        group_version(self.api_version()).0
    }

    /// Returns `apiVersion` without its group: `v1` of `apps/v1`.
    pub fn version(&self) -> Cow<'_, str> {
        group_version(self.api_version()).1
    }

    /// Returns `kind`.
    pub fn kind(&self) -> Cow<'_, str> {
        self.value.text(&["kind"]).unwrap_or_default()
    }

    /// Returns `metadata.name`.
    pub fn name(&self) -> Option<&Scalar> {
        self.value.scalar(&["metadata", "name"])
    }

    /// Returns `metadata.namespace`, where it is not empty.
    pub fn namespace(&self) -> Option<&Scalar> {
        self.value.scalar(&["metadata", "namespace"]).filter(|s| !s.text().is_empty())
    }

    /// Puts an object without a namespace into one, where its kind has one, as far as that is known.
    pub fn default_namespace(&mut self, namespace: &Scalar) {
        if self.namespace().is_some() || Schema::is_cluster_scoped(&self.api_version(), &self.kind()) {
            return;
        }
        if let Some(metadata) = self.value.entry_mut("metadata") {
            metadata.insert("namespace", Value::Scalar(namespace.clone()));
        }
    }

    /// Returns an annotation.
    pub fn annotation(&self, key: &str) -> Option<&Scalar> {
        self.value.scalar(&["metadata", "annotations", key])
    }

    /// Returns a label.
    pub fn label(&self, key: &str) -> Option<&Scalar> {
        self.value.scalar(&["metadata", "labels", key])
    }

    /// Returns its labels, and those by which its cluster was chosen, as far as the tree tells them.
    pub fn labels(&self) -> Labels {
        let own = self.value.path(&["metadata", "labels"]).into_iter().flat_map(labels_of);
        own.chain(self.chosen_by.iter().cloned()).collect()
    }

    /// Tells whether the object is of that group and kind, of whatever version.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.kind() == kind && self.group() == group
    }
}

/// Reads a mapping of labels, without those whose value the tree does not tell.
pub(super) fn labels_of(mapping: &Value) -> impl Iterator<Item = (String, String)> {
    let known = |(key, value): (&str, &Value)| {
        let value = value.as_scalar().filter(|value| value.unknown_to().is_none())?;
        Some((key.to_owned(), value.text().into_owned()))
    };
    mapping.entries().filter_map(known)
}

/// Cuts `apiVersion` into group and version.
fn group_version(text: Cow<'_, str>) -> (Cow<'_, str>, Cow<'_, str>) {
    let Some(slash) = text.find('/') else { return (Cow::Borrowed(""), text) };
    match text {
        Cow::Borrowed(text) => (Cow::Borrowed(&text[..slash]), Cow::Borrowed(&text[slash + 1..])),
        Cow::Owned(text) => (Cow::Owned(text[..slash].to_owned()), Cow::Owned(text[slash + 1..].to_owned())),
    }
}

fn collect(value: &Value, lists: usize, found: &mut dyn FnMut(&Value)) {
    let Some(inner) = lists.checked_sub(1) else { return };
    let Some(kind) = value.scalar(&["kind"]) else {
        // A file of bare objects in a sequence is no manifest, but JSON tools write it.
        return value.items().iter().for_each(|item| collect(item, inner, found));
    };
    match value.get("items") {
        Some(Value::List(items)) if kind.text().ends_with("List") => {
            items.iter().for_each(|item| collect(item, inner, found));
        }
        _ => found(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::{files::Files, testing::files};

    #[test]
    fn lists_are_taken_apart() {
        let tree = files(&[(
            "a.yaml",
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}\n- {kind: X}\n",
        )]);
        let document = &tree.documents("a.yaml").unwrap()[0];
        let objects = Object::all(document, &RepoPath::new("a.yaml").unwrap());
        assert_eq!(objects.iter().map(|o| o.kind().into_owned()).collect::<Vec<_>>(), ["Deployment", "X"]);
        assert!(objects[0].is("apps", "Deployment") && objects[0].version() == "v1");
        assert_eq!(objects[0].name().unwrap().text(), "a");
        assert_eq!((objects[1].group(), objects[1].name()), ("".into(), None));
    }
}

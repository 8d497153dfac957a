//! An object on its way through kustomizations: what it is called now, and what it was called before.

use std::sync::Arc;

use super::fields::{KeyPath, at, put};
use super::gvk::Gvk;
use crate::{
    deploy::{
        typed::{Typed, plain},
        value::{Scalar, Value},
    },
    repo::RepoPath,
};

/// The namespace of what lives in none.
const NOT_A_NAMESPACE: &str = "_non_namespaceable_";

/// What an object is known by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Id {
    pub gvk: Gvk,
    pub name: String,
    /// The effective one: `default` where none is written.
    pub namespace: String,
}

/// What a generated object does where another of its name exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Behavior {
    #[default]
    Create,
    Replace,
    Merge,
}

/// An object and its history.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub value: Value,
    pub file: RepoPath,
    /// What it was known by, the oldest first.
    pub previous: Vec<Id>,
    /// What was put before its name, and behind it, the innermost first.
    pub prefixes: Vec<Arc<str>>,
    pub suffixes: Vec<Arc<str>>,
    /// Whether its name gets a hash of its content.
    pub hashed: bool,
    pub behavior: Behavior,
    /// Whether it comes from a generator.
    pub generated: bool,
    /// The plain texts of a generated Secret, beside their base64 form.
    pub plain: Vec<(Arc<str>, Scalar, Scalar)>,
    /// The variables that read it.
    pub variables: Vec<String>,
    /// Places that share one text, since one transformer made them: what changes one of them changes all.
    shared: Vec<Vec<KeyPath>>,
}

// === impl Id ===

impl Id {
    /// Reads what an object says.
    pub fn of(value: &Value) -> Self {
        let gvk = Gvk::of(value);
        let text = |key: &str| text_of(value.path(&["metadata", key]));
        let namespace = effective(&gvk, &text("namespace"));
        Self { gvk, name: text("name"), namespace }
    }

    /// Reads the fields of a reference.
    pub fn of_fields(value: &Value) -> Self {
        let gvk = Gvk::of_fields(value);
        let text = |key: &str| text_of(value.get(key));
        let namespace = effective(&gvk, &text("namespace"));
        Self { gvk, name: text("name"), namespace }
    }
}

// === impl Resource ===

impl Resource {
    /// An object as its file has it.
    pub fn new(value: &Value, file: &RepoPath) -> Self {
        Self {
            value: value.with_scalars(&mut untyped).unwrap_or_else(|| value.clone()),
            file: file.clone(),
            previous: Vec::new(),
            prefixes: Vec::new(),
            suffixes: Vec::new(),
            hashed: false,
            behavior: Behavior::Create,
            generated: false,
            plain: Vec::new(),
            variables: Vec::new(),
            shared: Vec::new(),
        }
    }

    /// Returns what it is known by now.
    pub fn id(&self) -> Id {
        Id::of(&self.value)
    }

    /// Returns what it was known by first.
    pub fn first_id(&self) -> Id {
        self.previous.first().map_or_else(|| self.id(), |id| Id { gvk: self.past(id), ..id.clone() })
    }

    /// Returns all that it was known by, and is.
    pub fn ids(&self) -> Vec<Id> {
        let past = self.previous.iter().map(|id| Id { gvk: self.past(id), ..id.clone() });
        past.chain([self.id()]).collect()
    }

    /// Of what it was only the kind is remembered; group and version are those of now.
    fn past(&self, id: &Id) -> Gvk {
        Gvk { kind: id.gvk.kind.clone(), ..Gvk::of(&self.value) }
    }

    /// Remembers what it is known by, before that changes.
    pub fn remember(&mut self) {
        self.previous.push(self.id());
    }

    /// Tells whether kustomize keeps notes of its own among the annotations, so that there are some.
    pub fn has_notes(&self) -> bool {
        self.generated || !(self.previous.is_empty() && self.prefixes.is_empty() && self.suffixes.is_empty())
    }

    /// Returns the namespace as it is written.
    pub fn namespace(&self) -> String {
        text_of(self.value.path(&["metadata", "namespace"]))
    }

    /// Notes places that were made as one.
    pub fn share(&mut self, places: Vec<KeyPath>) {
        if places.len() > 1 {
            self.shared.push(places);
        }
    }

    /// Forgets which places were made as one, as kustomize does where it writes an object and reads it again.
    pub fn part(&mut self) {
        self.shared.clear();
    }

    /// Changes all places that were made as one where one of them has changed.
    pub fn settle(&mut self, before: &Value) {
        for places in &mut self.shared {
            places.retain(|place| at(&self.value, place).is_some());
            let is_new = |place: &&KeyPath| at(&self.value, place) != at(before, place);
            let Some(new) =
                places.iter().filter(is_new).max().and_then(|place| at(&self.value, place)).cloned()
            else {
                continue;
            };
            places.iter().for_each(|place| put(&mut self.value, place, &new));
        }
    }

    /// Puts a scalar under `metadata`; an empty one goes.
    pub fn set_metadata(&mut self, key: &str, new: Option<&Scalar>) {
        let metadata = self.value.make_map().entry("metadata".into()).or_insert_with(Value::empty);
        match new.filter(|scalar| !scalar.text().is_empty()) {
            Some(scalar) => metadata.insert(key, Value::Scalar(scalar.clone())),
            None => drop(metadata.remove(key)),
        }
    }
}

/// Returns a scalar's text, `""` for anything else.
pub(super) fn text_of(value: Option<&Value>) -> String {
    let scalar = value.filter(|value| !value.is_null()).and_then(Value::as_scalar);
    scalar.map(|scalar| scalar.text().into_owned()).unwrap_or_default()
}

fn effective(gvk: &Gvk, namespace: &str) -> String {
    if gvk.is_cluster_scoped() {
        return NOT_A_NAMESPACE.to_owned();
    }
    if namespace.is_empty() { "default".to_owned() } else { namespace.to_owned() }
}

/// kustomize reads objects as YAML 1.2, and writes what YAML 1.1 would type otherwise in quotes.
fn untyped(scalar: &Scalar) -> Option<Scalar> {
    let text = scalar.text();
    (scalar.plain && is_word(&text)).then(|| scalar.clone().as_string())
}

/// Tells whether kustomize takes a scalar for a text.
pub(super) fn is_text(scalar: &Scalar) -> bool {
    let text = scalar.text();
    !scalar.plain || is_word(&text) || matches!(plain(&text), Typed::Text(_))
}

/// Takes the quotes away that no text needs: kustomize reads and writes an object as JSON where a JSON patch changes it.
pub(super) fn unquoted(object: Value) -> Value {
    let needs_none =
        |text: &str| !is_word(text) && !text.contains('\n') && matches!(plain(text), Typed::Text(_));
    let bare = &mut |scalar: &Scalar| {
        (!scalar.plain && needs_none(&scalar.text())).then(|| scalar.clone().as_plain())
    };
    object.with_scalars(bare).unwrap_or(object)
}

/// Types a scalar by its looks, as kustomize does with what it makes.
pub(super) fn by_looks(scalar: Scalar) -> Scalar {
    if is_word(&scalar.text()) { scalar.as_string() } else { scalar.as_plain() }
}

/// The words for booleans that YAML 1.2 knows no more.
fn is_word(text: &str) -> bool {
    text.len() <= 3 && matches!(text.to_ascii_lowercase().as_str(), "y" | "yes" | "on" | "n" | "no" | "off")
}

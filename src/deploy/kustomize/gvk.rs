//! Group, version and kind of an object, and what a selector asks of them.

use crate::deploy::{schema::Schema, value::Value};

/// Group, version and kind; an empty one in a selector means any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Gvk {
    pub group: String,
    pub version: String,
    pub kind: String,
}

// === impl Gvk ===

impl Gvk {
    /// Reads what an object says.
    pub fn of(value: &Value) -> Self {
        let api_version = value.text(&["apiVersion"]).unwrap_or_default();
        let kind = value.text(&["kind"]).unwrap_or_default().into_owned();
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        Self { group: group.to_owned(), version: version.to_owned(), kind }
    }

    /// Reads the fields of a selector or a field specification.
    pub fn of_fields(value: &Value) -> Self {
        let text = |key: &str| value.text(&[key]).unwrap_or_default().into_owned();
        Self { group: text("group"), version: text("version"), kind: text("kind") }
    }

    /// Tells whether it has what the selector asks for.
    pub fn is_selected(&self, by: &Self) -> bool {
        let same = |own: &str, asked: &str| asked.is_empty() || own == asked;
        same(&self.kind, &by.kind) && same(&self.group, &by.group) && same(&self.version, &by.version)
    }

    /// Returns `apiVersion`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Tells whether it is known to live in no namespace.
    pub fn is_cluster_scoped(&self) -> bool {
        Schema::is_cluster_scoped(&self.api_version(), &self.kind)
    }
}

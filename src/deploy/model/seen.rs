//! The roots that the model has met.

use std::collections::HashMap;

use crate::{
    deploy::{object::Object, value::Value},
    repo::RepoPath,
};

/// The roots that are known: an Application that comes of itself is built once.
#[derive(Default)]
pub(super) struct Seen(HashMap<(RepoPath, String), Vec<Value>>);

// === impl Seen ===

impl Seen {
    /// Tells whether a root is known.
    pub fn knows(&self, root: &Object) -> bool {
        let name = root.name().map(|name| name.text().into_owned()).unwrap_or_default();
        self.0.get(&(root.file.clone(), name)).is_some_and(|same| same.contains(&root.value))
    }

    /// Tells whether a root of that name is known, whatever it was filled with.
    pub fn has(&self, root: &Object) -> bool {
        let name = root.name().map(|name| name.text().into_owned()).unwrap_or_default();
        self.0.contains_key(&(root.file.clone(), name))
    }

    /// Notes a root; tells whether it was not known.
    pub fn is_new(&mut self, root: &Object) -> bool {
        let name = root.name().map(|name| name.text().into_owned()).unwrap_or_default();
        let same = self.0.entry((root.file.clone(), name)).or_default();
        let is_new = !same.contains(&root.value);
        if is_new {
            same.push(root.value.clone());
        }
        is_new
    }
}

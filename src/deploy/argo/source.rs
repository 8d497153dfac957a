//! One source of an Application, and what comes of all of them.

use super::environment::Environment;
use crate::{
    deploy::{
        chart::Installed,
        files::Files,
        note::{About, Note},
        object::Object,
        repositories,
        value::{Scalar, Value},
    },
    repo::RepoPath,
};

/// One source of an Application.
pub(super) struct Source<'a> {
    pub application: &'a Object,
    pub value: &'a Value,
    pub part: String,
    pub environment: Environment,
    pub files: &'a dyn Files,
}

// === impl Source ===

impl Source<'_> {
    /// Returns the source's folder, where it is one of this tree.
    pub fn folder(&self) -> Option<String> {
        let written = self.value.text(&["path"]).unwrap_or(".".into());
        let clean = written.trim_start_matches('/');
        let folder = RepoPath::resolve_folder("", clean)?;
        let url = self.value.scalar(&["repoURL"]).and_then(Scalar::known);
        let is_here = match folder.is_empty() {
            true => url.is_none_or(|url| self.files.has_root_of(&repositories::address(&url))),
            false => self.files.has_folder(&folder),
        };
        is_here.then_some(folder)
    }

    /// Says how what a chart gives is brought to the cluster.
    pub fn installed(&self) -> Installed {
        let policy = self.application.value.path(&["spec", "syncPolicy"]);
        let mut options = policy.map_or(&[][..], |policy| policy.list_at("syncOptions")).iter();
        let is_told = |option: &Value| option.as_scalar().is_some_and(|text| text.text() == "Prune=false");
        Installed::Argo { prunes: !options.any(is_told) }
    }

    /// Notes something about the Application.
    pub fn note(&self, notes: &mut Vec<Note>, about: About) {
        notes.push(Note::new(&self.application.file, about));
    }
}

//! One source of an Application, and what comes of all of them.

use super::environment::Environment;
use crate::{
    deploy::{
        chart::ChartRelease,
        files::Files,
        json_patch::Guard,
        note::{About, Note},
        object::Object,
        value::Value,
    },
    repo::RepoPath,
};

/// What an Application deploys.
#[derive(Clone, Debug, Default)]
pub struct Deployed {
    /// Charts that Helm renders.
    pub charts: Vec<ChartRelease>,
    /// Objects of directories and kustomizations.
    pub objects: Vec<Object>,
    /// What must move together with what it is compared with.
    pub guards: Vec<Guard>,
    /// What is said of objects that are not known here: parts of objects.
    pub strays: Vec<Object>,
    /// What was not followed.
    pub notes: Vec<Note>,
}

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
        let folder = RepoPath::resolve("", &format!("{clean}/.x"))?.folder().to_owned();
        (folder.is_empty() || self.files.has_folder(&folder)).then_some(folder)
    }

    /// Notes something about the Application.
    pub fn note(&self, notes: &mut Vec<Note>, about: About) {
        notes.push(Note::new(&self.application.file, about));
    }
}

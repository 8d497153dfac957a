//! What a build gathers on its way, and what it may use.

use std::{collections::HashSet, sync::Arc};

use indexmap::IndexSet;

use super::{config::Config, resource::Resource, variables::Variable};
use crate::{
    deploy::{
        chart::ChartRelease,
        files::{FileError, Files},
        json_patch::Guard,
        note::{About, Bound, Note},
        object::Object,
        schema::Schema,
        value::{Source, Value},
    },
    repo::RepoPath,
};

/// Looks at an object that one build takes.
const LOOKS: usize = 10_000_000;

/// What is gathered on the way.
pub(super) struct Builder<'f> {
    pub files: &'f dyn Files,
    pub notes: IndexSet<Note>,
    /// Whether what generators merge over others gives way: what these say is seen so.
    pub gives_way: bool,
    /// Whether a generator is merged over a key that another one has.
    pub lays_over: bool,
    /// The files of objects that are deleted.
    pub deleted: Vec<RepoPath>,
    pub guards: Vec<Guard>,
    pub strays: Vec<Object>,
    pub idle: Vec<Object>,
    pub unmatched: Vec<Object>,
    /// Objects as they are before a patch lays another version over theirs.
    pub unpatched: Vec<Object>,
    pub images: Vec<Value>,
    /// Those of layers of which all objects are known.
    pub images_of_known: Vec<Value>,
    /// What the first kustomization that names one has for lists; kustomize reads one alone.
    pub schema: Option<Arc<Schema>>,
    /// The folders that are being worked off, the outermost first.
    pub open: Vec<String>,
    pub taken: usize,
    pub looks: usize,
}

/// A kustomization, for what it names.
#[derive(Clone, Debug)]
pub(super) struct Here {
    /// Its folder.
    pub folder: String,
    /// Its file.
    pub path: RepoPath,
}

/// What a kustomization has come to so far.
#[derive(Clone, Default)]
pub(super) struct Layer {
    pub resources: Vec<Resource>,
    pub config: Config,
    pub variables: Vec<Variable>,
    pub charts: Vec<ChartRelease>,
    /// Whether there are objects that are not known here: of a remote base, of a chart, of a file that is not read.
    pub outside: bool,
}

// === impl Builder ===

impl<'f> Builder<'f> {
    /// Begins a build.
    pub fn new(files: &'f dyn Files) -> Self {
        Self {
            files,
            notes: IndexSet::new(),
            gives_way: false,
            lays_over: false,
            deleted: Vec::new(),
            guards: Vec::new(),
            strays: Vec::new(),
            idle: Vec::new(),
            unmatched: Vec::new(),
            unpatched: Vec::new(),
            images: Vec::new(),
            images_of_known: Vec::new(),
            schema: None,
            open: Vec::new(),
            taken: 0,
            looks: 0,
        }
    }

    /// Adds a note.
    pub fn note(&mut self, here: &Here, about: About) {
        self.notes.insert(Note::new(&here.path, about));
    }

    /// Notes what kustomize would fail at.
    pub fn fails(&mut self, here: &Here, what: &str, why: &str) {
        self.note(here, About::Fails { what: what.to_owned(), why: why.to_owned() });
    }

    /// Notes a file that is not read.
    pub fn unread(&mut self, here: &Here, path: &str, error: &FileError) {
        self.note(here, About::Unread { what: path.to_owned(), why: error.to_string() });
    }

    /// Takes looks from what a build may have; says so where none are left.
    pub fn spend(&mut self, here: &Here, looks: usize) -> bool {
        self.looks = self.looks.saturating_add(looks.max(1));
        let enough = self.looks <= LOOKS;
        if !enough {
            self.note(here, About::Bound(Bound::Looks(LOOKS)));
        }
        enough
    }

    /// Takes all looks that are left: an object has grown beyond what is followed.
    pub fn exhaust(&mut self) {
        self.looks = LOOKS;
    }

    /// Notes objects that are known by the same.
    pub fn apart(&mut self, here: &Here, resources: &[Resource]) {
        let mut known = HashSet::with_capacity(resources.len());
        for id in resources.iter().map(Resource::id) {
            if known.contains(&id) {
                self.note(here, About::Twice(format!("{} {}", id.gvk.kind, id.name)));
            }
            known.insert(id);
        }
    }

    /// Returns what is known of lists.
    pub fn schema(&self) -> &Schema {
        self.schema.as_deref().unwrap_or_else(|| Schema::built_in())
    }

    /// Reads a file that a kustomization names.
    pub fn try_file(&self, here: &Here, path: &str) -> Result<Arc<Source>, FileError> {
        let resolved = RepoPath::resolve(&here.folder, path).ok_or(FileError::Absent)?;
        self.files.file(resolved.as_str())
    }

    /// Reads a file that a kustomization names; notes why it cannot.
    pub fn file(&mut self, here: &Here, path: &str) -> Option<Arc<Source>> {
        self.try_file(here, path).map_err(|error| self.unread(here, path, &error)).ok()
    }

    /// Reads the documents of a file that a kustomization names.
    pub fn try_documents(&self, here: &Here, path: &str) -> Result<Arc<[Value]>, FileError> {
        let resolved = RepoPath::resolve(&here.folder, path).ok_or(FileError::Absent)?;
        self.files.documents(resolved.as_str())
    }

    /// Reads the documents of a file that a kustomization names; notes why it cannot.
    pub fn documents(&mut self, here: &Here, path: &str) -> Option<Arc<[Value]>> {
        self.try_documents(here, path).map_err(|error| self.unread(here, path, &error)).ok()
    }
}

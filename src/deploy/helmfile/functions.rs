//! What helmfile adds to the functions of Go's templates and sprig (`pkg/tmpl/context_funcs.go`, `get_or_nil.go`).
//!
//! Nothing is run and nothing is asked: what a command, the environment or a store of secrets would say is not known.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
};

use crate::{
    deploy::{
        files::{FileError, Files},
        go_template::{BRANCHES, Filled, Functions, Scope, Stop, Templates},
        note::{About, Bound, Note},
        read,
        value::{Scalar, Value, Via},
    },
    repo::RepoPath,
};

/// Files that are put together and releases, each as often as an environment has it.
const LOOKS: usize = 50_000;
/// What all templates cost together, in bytes and steps.
const COST: usize = 512 << 20;
/// Templates in templates.
const DEPTH: usize = 16;
/// Who knows a value that no file gives.
const ELSEWHERE: &str = "helmfile's command line (`--state-values-set`), or the environment's secrets";

/// What all helmfiles of a tree may use together.
#[derive(Debug)]
pub(super) struct Bounds {
    /// Files that are put together, and releases.
    looks: Cell<usize>,
    /// Bytes and steps of templates.
    cost: Cell<usize>,
}

/// What one walk over a helmfile may use, and what it has met.
pub(super) struct Run<'f> {
    pub files: &'f dyn Files,
    bounds: &'f Bounds,
    /// Which branch is taken where the tree does not decide.
    pub outcome: usize,
    /// How many there are.
    pub outcomes: Cell<usize>,
    /// Which of the values that are laid over each other lies over all others: so what these are laid over comes up.
    pub top: Option<usize>,
    /// How many are laid over each other, where these are most.
    pub layers: Cell<usize>,
    /// Everything that was read.
    pub read: RefCell<BTreeSet<RepoPath>>,
    pub notes: RefCell<Vec<Note>>,
}

/// The functions of a template in one folder.
struct Own<'r, 'f> {
    run: &'r Run<'f>,
    folder: &'r str,
    path: &'r RepoPath,
    depth: usize,
}

// === impl Bounds ===

impl Bounds {
    pub fn new() -> Self {
        Self { looks: Cell::new(LOOKS), cost: Cell::new(COST) }
    }

    pub fn spend(&self, cost: usize) -> Result<(), Stop> {
        let left = self.cost.get().checked_sub(cost);
        self.cost.set(left.unwrap_or_default());
        left.map(|_| ()).ok_or(Stop::Bound(Bound::Bytes(COST)))
    }
}

// === impl Run ===

impl<'f> Run<'f> {
    pub fn new(files: &'f dyn Files, bounds: &'f Bounds, outcome: usize) -> Self {
        Self {
            files,
            bounds,
            outcome,
            outcomes: Cell::new(1),
            top: None,
            layers: Cell::new(0),
            read: RefCell::default(),
            notes: RefCell::default(),
        }
    }

    /// Of values that are laid over each other lays one over all others.
    pub fn topped(self, top: usize) -> Self {
        Self { top: Some(top), ..self }
    }

    /// Counts a file or a release; `false` where there have been too many, which is noted.
    pub fn look(&self, path: &RepoPath) -> bool {
        let left = self.bounds.looks.get().checked_sub(1);
        self.bounds.looks.set(left.unwrap_or_default());
        if left.is_none() {
            self.note(path, About::Bound(Bound::Looks(LOOKS)));
        }
        left.is_some()
    }

    /// Notes something once.
    pub fn note(&self, path: &RepoPath, about: About) {
        let note = Note::new(path, about);
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Reads a file as text; one that cannot be read is noted.
    pub fn text(&self, path: &RepoPath, by: &RepoPath) -> Option<Scalar> {
        match self.files.file(path.as_str()) {
            Ok(source) => {
                self.read.borrow_mut().insert(path.clone());
                Some(Scalar::file(&source))
            }
            Err(FileError::Absent) => {
                self.note(
                    by,
                    About::Fails { what: format!("`{path}`"), why: "there is no such file".to_owned() },
                );
                None
            }
            Err(error) => {
                self.note(path, About::Unread { what: "the file".to_owned(), why: error.to_string() });
                None
            }
        }
    }

    /// Reads a file that SOPS has encrypted; `None` for any other.
    pub fn sealed(&self, path: &RepoPath, by: &RepoPath) -> Option<Value> {
        let value = read::mapping(&self.text(path, by)?, self.files.ceilings()).ok()?;
        value.get("sops").is_some().then_some(value)
    }

    /// Fills a text of a file; `None` where nothing comes of it, which is noted.
    pub fn fill(&self, text: &Scalar, dot: &Value, folder: &str, path: &RepoPath) -> Option<Scalar> {
        let own = Own { run: self, folder, path, depth: DEPTH };
        match own.fill(text, dot) {
            Ok(filled) => Some(filled.text),
            Err(Stop::Refused(why) | Stop::Missing(why)) => {
                self.note(path, About::Unread { what: "its template".to_owned(), why });
                None
            }
            Err(Stop::Bound(bound)) => {
                self.note(path, About::Bound(bound));
                None
            }
        }
    }
}

// === impl Own ===

impl Own<'_, '_> {
    fn fill(&self, text: &Scalar, dot: &Value) -> Result<Filled, Stop> {
        let outcome = self.run.outcome;
        let scope =
            Scope { dot, inputs: None, own: Some(self), named: None, open: None, strict: false, outcome };
        self.run.bounds.spend(text.text().len())?;
        let filled = Templates::new("{{", "}}").fill(text, scope)?;
        self.run.bounds.spend(filled.cost)?;
        self.run.outcomes.set(self.run.outcomes.get().max(filled.outcomes.min(BRANCHES)));
        filled.notes.iter().for_each(|about| self.run.note(self.path, about.clone()));
        Ok(filled)
    }

    fn tpl(&self, text: &Scalar, data: &Value) -> Value {
        let Some(depth) = self.depth.checked_sub(1) else {
            self.run.note(self.path, About::Bound(Bound::Depth(DEPTH)));
            return unknown("a template in templates");
        };
        let inner = Own { depth, ..*self };
        let filled = inner.fill(text, data).map(|filled| filled.text);
        filled.map_or_else(|_| unknown("a template that helmfile refuses"), Value::Scalar)
    }

    fn file(&self, name: &Scalar) -> Value {
        let path = RepoPath::resolve(self.folder, &name.text());
        match path.and_then(|path| self.run.text(&path, self.path)) {
            Some(text) => Value::Scalar(text.via(Via::Decoded)),
            None => unknown(&format!("`{}`, which is not in this repository", name.text())),
        }
    }

    fn parsed(&self, text: &Scalar) -> Value {
        let documents = read::documents(text, self.run.files.ceilings());
        let first = documents.ok().and_then(|all| all.into_iter().next());
        first.unwrap_or_else(|| unknown("a text that is no YAML"))
    }
}

impl std::fmt::Debug for Own<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the functions of helmfile in {:?}", self.folder)
    }
}

impl Functions for Own<'_, '_> {
    fn call(&self, name: &str, arguments: &[Value]) -> Option<Value> {
        let text =
            |n: usize| arguments.get(n).and_then(Value::as_scalar).filter(|s| s.unknown_to().is_none());
        let exists = |is: &dyn Fn(&str) -> bool| {
            let path = text(0).and_then(|name| RepoPath::resolve(self.folder, &name.text()));
            Value::Scalar(
                Scalar::made(if path.is_some_and(|p| is(p.as_str())) { "true" } else { "false" }).as_plain(),
            )
        };
        Some(match (name, arguments) {
            ("requiredEnv" | "env", [_]) => unknown(&format!(
                "the environment variable `{}`",
                text(0).map(Scalar::text).unwrap_or_default()
            )),
            ("expandenv", [_]) => unknown("environment variables"),
            ("exec" | "envExec", told) => {
                let told = told.iter().flat_map(Value::scalars);
                Value::Scalar(Scalar::unknown_of("a command that helmfile runs", told))
            }
            ("fetchSecretValue" | "expandSecretRefs", _) => unknown("a store of secrets"),
            ("readFile", [_]) => self.file(text(0)?),
            ("isFile", [_]) => exists(&|path| self.run.files.has(path)),
            ("isDir", [_]) => exists(&|path| self.run.files.has_folder(path)),
            ("tpl", [_, data]) => self.tpl(text(0)?, data),
            ("fromYaml", [_]) => self.parsed(text(0)?),
            ("get", [Value::Scalar(_), value]) => {
                got(value, &text(0)?.text()).unwrap_or_else(|| unknown(self.who_knows_more()))
            }
            ("get", [Value::Scalar(_), default, value]) => {
                got(value, &text(0)?.text()).unwrap_or_else(|| default.clone())
            }
            ("getOrNil", [Value::Scalar(_), value]) => {
                got(value, &text(0)?.text()).unwrap_or_else(|| Value::Scalar(Scalar::made("null").as_plain()))
            }
            _ => return None,
        })
    }

    fn who_knows_more(&self) -> &str {
        ELSEWHERE
    }
}

/// Walks down a path with dots.
fn got(value: &Value, path: &str) -> Option<Value> {
    let mut value = value;
    for key in path.split('.').filter(|key| !key.is_empty()) {
        match value {
            Value::Scalar(scalar) if scalar.unknown_to().is_some() => return Some(value.clone()),
            _ => value = value.entry(key)?,
        }
    }
    Some(value.clone())
}

fn unknown(who: &str) -> Value {
    Value::Scalar(Scalar::unknown(who))
}

//! One helmfile: its parts, its bases, and the values of the environment.
//!
//! In: a file. Out: a [`State`], as `pkg/app/desired_state_file_loader.go` and `pkg/state/create.go` put it together. What
//! a base names is looked for beside the file that takes the base in.

use std::{cell::RefCell, collections::BTreeSet};

use super::{
    functions::Run,
    values::{laid, over},
};
use crate::{
    deploy::{
        chart::{merged, opened},
        json_patch::Guard,
        note::About,
        read,
        value::{Scalar, Value, Via},
    },
    repo::RepoPath,
};

/// The values of an environment.
#[derive(Clone, Debug)]
pub(super) struct Values {
    /// `values` of the helmfile.
    pub defaults: Value,
    /// `values` of the environment, and what another helmfile gives.
    pub own: Value,
}

/// A helmfile, put together for one environment.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// The file.
    pub path: RepoPath,
    /// What it says.
    pub value: Value,
    /// The values.
    pub values: Values,
}

/// Loads helmfiles for one environment.
pub(super) struct Loader<'f> {
    pub run: Run<'f>,
    /// The environment.
    pub name: String,
    /// The environments that are named anywhere.
    pub names: RefCell<BTreeSet<String>>,
    /// Helmfiles that were taken in by another.
    pub taken: RefCell<BTreeSet<RepoPath>>,
    /// Locked versions, with those that they have to agree with.
    pub guards: RefCell<Vec<Guard>>,
}

// === impl Values ===

impl Values {
    pub fn new() -> Self {
        Self { defaults: Value::empty(), own: Value::empty() }
    }

    /// Returns what `.Values` is.
    pub fn all(&self) -> Value {
        over(&self.defaults, &self.own)
    }
}

// === impl Loader ===

impl<'f> Loader<'f> {
    pub fn new(run: Run<'f>, name: &str) -> Self {
        let (names, taken, guards) = Default::default();
        Self { run, name: name.to_owned(), names, taken, guards }
    }

    /// Returns what templates read in the state.
    pub fn dot(&self, values: &Values) -> Value {
        let all = values.all();
        let environment = Value::map([
            ("Name", Value::made(&self.name)),
            ("Values", values.own.clone()),
            ("Defaults", values.defaults.clone()),
            ("KubeContext", Value::made("")),
        ]);
        Value::map([
            ("Environment", environment),
            ("Namespace", Value::made("")),
            ("StateValues", all.clone()),
            ("Values", all),
        ])
    }

    /// Loads a file with its bases. `given` is what another helmfile gives, over all else.
    pub fn load(&self, path: &RepoPath, inherited: &Values, given: &Value, by: &RepoPath) -> Option<State> {
        self.file(path, inherited, given, None, by)
    }

    /// Loads a file. `base` is, of one that another takes in as a base, the folder that its names are looked for in.
    fn file(
        &self,
        path: &RepoPath,
        inherited: &Values,
        given: &Value,
        base: Option<&str>,
        by: &RepoPath,
    ) -> Option<State> {
        let folder = base.unwrap_or(path.folder());
        let text = self.run.look(by).then(|| self.run.text(path, by))??;
        let mut state: Option<State> = None;
        let mut values = inherited.clone();
        values.own = over(&values.own, given);
        for part in parts(&text) {
            let whole = |values: &Values| {
                let own = self.part(path, folder, &part, values)?;
                let alone = base.is_some();
                Some(if alone { own } else { self.with_bases(path, folder, own, values, given) })
            };
            let Some(mut read) = whole(&values) else { continue };
            // Before 1.0 a part was filled twice, and read the environment that it has itself.
            let has_values = ["environments", "values"].iter().any(|key| read.get(key).is_some());
            if has_values && is_filled(path, &part.text()) {
                let known = self.environment(path, folder, &read, &values, given);
                read = whole(&known).unwrap_or(read);
            }
            let whole = read;
            let environments = whole.get("environments").into_iter().flat_map(Value::entries);
            self.names.borrow_mut().extend(environments.map(|(name, _)| name.to_owned()));
            values = self.environment(path, folder, &whole, &values, given);
            let value = match &state {
                Some(state) => laid(&state.value, &whole, false),
                None => whole,
            };
            state = Some(State { path: path.clone(), value, values: values.clone() });
        }
        state
    }

    /// Reads one part of a file.
    fn part(&self, path: &RepoPath, folder: &str, part: &Scalar, values: &Values) -> Option<Value> {
        let text = part.text();
        let filled = if is_filled(path, &text) {
            self.run.fill(part, &self.dot(values), folder, path)?
        } else {
            part.clone()
        };
        match read::documents(&filled, self.run.files.ceilings()) {
            Ok(documents) => {
                Some(documents.iter().fold(Value::empty(), |all, document| laid(&all, document, true)))
            }
            Err(error) => {
                self.run
                    .note(path, About::Unread { what: "a part of it".to_owned(), why: error.to_string() });
                None
            }
        }
    }

    /// Lays a part over its bases, lists put behind each other.
    fn with_bases(&self, path: &RepoPath, folder: &str, own: Value, values: &Values, given: &Value) -> Value {
        let mut all = Value::empty();
        for base in own.list_at("bases").iter().filter_map(Value::as_scalar) {
            let name = base.text();
            let Some(base) = RepoPath::resolve(folder, &name) else {
                self.run.note(path, About::Remote(name.into_owned()));
                continue;
            };
            self.taken.borrow_mut().insert(base.clone());
            if let Some(base) = self.file(&base, values, given, Some(folder), path) {
                all = laid(&all, &base.value, true);
            }
        }
        laid(&all, &own, true)
    }

    /// Adds the values that a state gives the environment.
    fn environment(
        &self,
        path: &RepoPath,
        folder: &str,
        state: &Value,
        before: &Values,
        given: &Value,
    ) -> Values {
        let spec = state.path(&["environments", &self.name]);
        let handler =
            |value: Option<&Value>| value.and_then(|v| v.text(&["missingFileHandler"]).map(|t| t == "Error"));
        let strict = handler(spec).or_else(|| handler(Some(state))).unwrap_or(true);
        let entries = spec.map_or(&[][..], |spec| spec.list_at("values"));
        let fallback = spec.is_some_and(|s| s.text(&["mergeStrategy"]).is_some_and(|t| t == "fallback"));
        let dot = self.dot(before);
        let mut own = self.listed(entries, path, folder, &dot, strict);
        let secrets = self.secrets(spec, path, folder);
        if let Some(top) = self.run.top {
            if fallback {
                own.reverse();
            }
            let defaults = self.listed(state.list_at("values"), path, folder, &dot, true);
            let last = own.into_iter().chain([secrets, given.clone()]);
            let layers = [before.all()].into_iter().chain(defaults).chain(last);
            return Values { defaults: Value::empty(), own: self.topped(top, layers) };
        }
        let own = own.iter().fold(Value::empty(), |all, value| match fallback {
            true => over(value, &all),
            false => merged(&all, value),
        });
        let defaults = self.entries(state.list_at("values"), path, folder, &dot);
        Values {
            defaults: laid(&before.defaults, &defaults, false),
            own: over(&over(&before.own, &laid(&own, &secrets, false)), given),
        }
    }

    /// Lays values over each other, one of them over all others.
    fn topped(&self, top: usize, layers: impl Iterator<Item = Value>) -> Value {
        let mut layers: Vec<Value> = layers.filter(|layer| layer.entries().next().is_some()).collect();
        self.run.layers.set(self.run.layers.get().max(layers.len()));
        if let Some(behind) = layers.get_mut(top..).filter(|behind| !behind.is_empty()) {
            behind.rotate_left(1);
        }
        layers.iter().fold(Value::empty(), |all, layer| over(&all, layer))
    }

    /// Reads a list of values, mappings and names of files, and lays each over those before it.
    pub fn entries(&self, entries: &[Value], path: &RepoPath, folder: &str, dot: &Value) -> Value {
        let all = self.listed(entries, path, folder, dot, true);
        all.iter().fold(Value::empty(), |all, value| merged(&all, value))
    }

    fn listed(
        &self,
        entries: &[Value],
        path: &RepoPath,
        folder: &str,
        dot: &Value,
        strict: bool,
    ) -> Vec<Value> {
        let mut all = Vec::new();
        for entry in entries {
            match entry {
                Value::Scalar(name) if name.unknown_to().is_none() => {
                    let files = self.found(&name.text(), path, folder, strict);
                    all.extend(files.iter().map(|file| self.values_file(file, path, dot)));
                }
                Value::Map(_) => all.push(named(entry)),
                Value::Scalar(_) | Value::List(_) => {}
            }
        }
        all
    }

    /// Returns the files that a name or a glob means.
    pub fn found(&self, name: &str, by: &RepoPath, folder: &str, strict: bool) -> Vec<RepoPath> {
        if name.contains("://") || name.contains("::") {
            self.run.note(by, About::Remote(name.to_owned()));
            return Vec::new();
        }
        let whole = RepoPath::resolve(folder, name);
        let found: Vec<RepoPath> = match &whole {
            Some(path) if self.run.files.has(path.as_str()) => vec![path.clone()],
            Some(path) => self.run.files.matching(path.as_str()).iter().map(|e| e.path.clone()).collect(),
            None => Vec::new(),
        };
        if found.is_empty() && strict {
            let what = format!("`{name}`");
            self.run.note(by, About::Fails { what, why: "there is no such file".to_owned() });
        }
        found
    }

    /// Reads the secrets of an environment as far as SOPS leaves them in plain text. What another tool hides is not known.
    fn secrets(&self, environment: Option<&Value>, path: &RepoPath, folder: &str) -> Value {
        let names = environment.map_or(&[][..], |environment| environment.list_at("secrets"));
        let names = names.iter().filter_map(Value::as_scalar);
        let files = names.flat_map(|name| self.found(&name.text(), path, folder, false));
        let read = files.filter_map(|file| self.run.sealed(&file, path));
        read.fold(Value::empty(), |all, value| laid(&all, &named(&opened(value)), false))
    }

    fn values_file(&self, file: &RepoPath, by: &RepoPath, dot: &Value) -> Value {
        if file.name().ends_with(".hcl") {
            self.run.note(by, About::Unfollowed("values in HCL"));
            return Value::empty();
        }
        let text = self.run.text(file, by).and_then(|text| match file.name().ends_with(".gotmpl") {
            true => self.run.fill(&text, dot, file.folder(), file),
            false => Some(text),
        });
        let value = text.map(|text| read::mapping(&text, self.run.files.ceilings()));
        match value {
            Some(Ok(value)) => named(&opened(value)),
            Some(Err(error)) => {
                self.run.note(file, About::Unread { what: "its values".to_owned(), why: error.to_string() });
                Value::empty()
            }
            None => Value::empty(),
        }
    }
}

/// Notes that the texts of a value have a name of their own, and takes out what a store of secrets says.
fn named(value: &Value) -> Value {
    secrets_out(value).with_scalars(&mut |s| Some(s.via(Via::Variable))).unwrap_or_else(|| value.clone())
}

/// Fills one text; what helmfile refuses is not known.
pub(super) fn expression(loader: &Loader<'_>, state: &State, text: &Scalar, dot: &Value) -> Scalar {
    if !text.text().contains("{{") {
        return text.clone();
    }
    let filled = loader.run.fill(text, dot, state.path.folder(), &state.path);
    let filled = filled.unwrap_or_else(|| Scalar::unknown("a template that helmfile refuses"));
    let whole = filled.text();
    let start = whole.len() - whole.trim_start().len();
    filled.cut(start..whole.trim_end().len().max(start))
}

/// Replaces references to stores of secrets (`ref+..`, helmfile/vals), which helmfile fills in.
pub(super) fn secrets_out(value: &Value) -> Value {
    let is_reference = |text: &str| text.starts_with("ref+") || text.starts_with("secretref+");
    let out =
        value.with_scalars(&mut |s| is_reference(&s.text()).then(|| Scalar::unknown("a store of secrets")));
    out.unwrap_or_else(|| value.clone())
}

/// Cuts a file at the lines that separate its parts, each of which reads the values of those before it.
fn parts(text: &Scalar) -> Vec<Scalar> {
    let whole = text.text();
    let (mut parts, mut from, mut at) = (Vec::new(), 0, 0);
    for line in whole.split_inclusive('\n') {
        if at > 0 && matches!(line, "---\n" | "---\r\n") {
            parts.push(text.cut(from..at));
            from = at + line.len();
        }
        at += line.len();
    }
    parts.push(text.cut(from..at));
    parts
}

/// Tells whether a part is a template: by the file's name, and before helmfile 1.0 always, which shows in actions that
/// stand where YAML has no text.
fn is_filled(path: &RepoPath, text: &str) -> bool {
    let bare = |line: &str| {
        let line = line.trim_start().trim_start_matches("- ").trim_start();
        let value = line.split_once(": ").map_or(line, |(_, value)| value.trim_start());
        line.starts_with("{{") || value.starts_with("{{")
    };
    // So does what is left for a second filling.
    let is_quoted = || text.contains("{{`") || text.contains("{{ `");
    path.name().ends_with(".gotmpl") || text.contains("{{") && (is_quoted() || text.lines().any(bare))
}

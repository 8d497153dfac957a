//! helmfile: the releases of what `helmfile apply` would put together from a tree.
//!
//! In: `helmfile.yaml`, `helmfile.yaml.gotmpl`, files of `helmfile.d/`, and what they take in. Out: their charts, in every
//! environment that they name. Templates are filled as far as the tree decides them; nothing is run, and what a command, an
//! environment variable or a store of secrets would say is known to those. Source: helmfile/helmfile, `pkg/app`,
//! `pkg/state`, `pkg/tmpl`.

mod functions;
mod lock;
mod patches;
mod release;
mod state;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    apply::{Applied, Apply},
    chart::{ChartRelease, suppose},
    files::Files,
    go_template::BRANCHES,
    json_patch::Guard,
    note::{About, Bound, Note},
    value::{Scalar, Value},
    watch::Watch,
};
use crate::repo::RepoPath;
use functions::{Bounds, Run};
use state::{Loader, State, Values};

/// Environments of one entry point.
const ENVIRONMENTS: usize = 200;
/// Values that are laid over the others of one environment.
const SHADOWED: usize = 20;
/// Helmfiles in helmfiles.
const DEPTH: usize = 16;

/// The charts of one environment, by the contexts of a kubeconfig that they are for.
type Contexts = BTreeMap<Option<String>, Vec<ChartRelease>>;

/// What the helmfiles of a tree come to.
#[derive(Debug, Default)]
pub struct Helmfile {
    /// The charts, each once for all environments in which it is the same.
    pub charts: Vec<ChartRelease>,
    /// The charts as they would be with the values that others are laid over.
    pub shadowed: Vec<ChartRelease>,
    /// The charts by the environments that helmfiles are applied in.
    pub applied: Applied,
    /// Versions in locks, with those that they have to agree with.
    pub guards: Vec<Guard>,
    /// The files that were read.
    pub read: BTreeSet<RepoPath>,
    /// What was not followed.
    pub notes: Vec<Note>,
}

/// Tells whether a file is the lock of a helmfile.
pub fn is_lock(path: &RepoPath) -> bool {
    let stem = path.as_str().strip_suffix(".lock").unwrap_or_default();
    let helmfile = |end: &str| RepoPath::new(format!("{stem}{end}"));
    !stem.is_empty() && helmfile(".yaml").is_some_and(|path| is_helmfile(&path))
}

/// Tells whether helmfile takes a file for a helmfile by its name, or people call one so.
pub fn is_helmfile(path: &RepoPath) -> bool {
    let name = path.name().strip_suffix(".gotmpl").unwrap_or(path.name());
    let yaml = name.ends_with(".yaml") || name.ends_with(".yml");
    let inside = path.folder() == "helmfile.d" || path.folder().ends_with("/helmfile.d");
    yaml && (name.starts_with("helmfile") || inside)
}

/// Evaluates every helmfile that no other one takes in.
pub fn helmfile(files: &dyn Files) -> Helmfile {
    let watch = Watch::new(files);
    let mut found = evaluated(&watch);
    found.applied.reads = watch.into_read().into_iter().filter_map(RepoPath::new).collect();
    found
}

fn evaluated(files: &dyn Files) -> Helmfile {
    let all = files.below("").iter().map(|entry| &entry.path);
    let entries: Vec<&RepoPath> = all.filter(|path| is_helmfile(path) && files.has(path.as_str())).collect();
    // What others are laid over has bounds of its own, so that it takes nothing from what counts.
    let bounds = [Bounds::new(), Bounds::new()];
    let mut found: Vec<Helmfile> = Vec::new();
    let mut takers: BTreeMap<RepoPath, BTreeSet<&RepoPath>> = BTreeMap::new();
    for entry in &entries {
        let (own, taken) = entry_point(files, &bounds, entry);
        found.push(own);
        for path in taken.into_iter().filter(|path| path != *entry) {
            takers.entry(path).or_default().insert(entry);
        }
    }
    // Those that take each other in leave one that is kept.
    let mut kept: BTreeSet<&RepoPath> =
        entries.iter().copied().filter(|e| !takers.contains_key(*e)).collect();
    for entry in &entries {
        if takers.get(*entry).is_some_and(|by| by.is_disjoint(&kept)) {
            kept.insert(entry);
        }
    }
    let mut whole = Helmfile::default();
    entries.iter().zip(found).filter(|(entry, _)| kept.contains(*entry)).for_each(|(_, one)| whole.take(one));
    whole
}

/// Evaluates one helmfile in each of its environments. Returns the helmfiles that it takes in too.
fn entry_point(files: &dyn Files, bounds: &[Bounds; 2], path: &RepoPath) -> (Helmfile, BTreeSet<RepoPath>) {
    let mut found = Helmfile::default();
    let (mut todo, mut done) = (vec!["default".to_owned()], BTreeSet::new());
    let mut taken = BTreeSet::new();
    while let Some(name) = todo.pop() {
        if done.len() == ENVIRONMENTS {
            found.notes.push(Note::new(path, About::Bound(Bound::Elements(ENVIRONMENTS))));
            break;
        }
        let (own, names) = environment((files, bounds), path, &name, &mut taken);
        done.insert(name.clone());
        todo.extend(names.iter().filter(|n| !done.contains(*n)).cloned());
        todo.sort();
        todo.dedup();
        // Without an environment of that name nobody means `default` who names others.
        if name != "default" || names.is_empty() || names.contains("default") {
            found.take(own);
        } else {
            found.read.extend(own.read);
        }
    }
    (found, taken)
}

/// Evaluates a helmfile in one environment, whatever the tree does not decide taken each way.
fn environment(
    (files, [bounds, spare]): (&dyn Files, &[Bounds; 2]),
    path: &RepoPath,
    name: &str,
    taken: &mut BTreeSet<RepoPath>,
) -> (Helmfile, BTreeSet<String>) {
    let mut found = Helmfile::default();
    let (mut names, mut contexts) = (BTreeSet::new(), Contexts::new());
    for outcome in 0..BRANCHES {
        let loader = Loader::new(Run::new(files, bounds, outcome), name);
        let charts = charts(&loader, path);
        let outcomes = loader.run.outcomes.get();
        names.extend(loader.names.take());
        taken.extend(loader.taken.take());
        for (context, chart) in charts {
            let own = contexts.entry(context).or_default();
            if !own.contains(&chart) {
                own.push(chart);
            }
        }
        let (read, notes, guards) = (loader.run.read.take(), loader.run.notes.take(), loader.guards.take());
        found.take(Helmfile { guards, read, notes, ..Helmfile::default() });
        if outcome + 1 >= outcomes {
            break;
        }
    }
    for charts in contexts.values_mut() {
        suppose(charts);
        // What it is in this cluster where nobody says otherwise is here.
        for release in charts.iter_mut().filter(|release| release.is_supposed) {
            release.version = release.version.as_ref().map(Scalar::unasked);
        }
    }
    found.take(Helmfile { charts: contexts.values().flatten().cloned().collect(), ..Helmfile::default() });
    found.applied.applies = applies(path, name, contexts, &found.guards);
    for top in 0..SHADOWED {
        let loader = Loader::new(Run::new(files, spare, 0).topped(top), name);
        found.shadowed.extend(without_contexts(charts(&loader, path)));
        // The last is over all others anyway.
        if top + 2 >= loader.run.layers.get() {
            break;
        }
    }
    (found, names)
}

/// Says what goes to each cluster of an environment. Several contexts tell clusters apart, and what names none may be for any
/// of them.
fn applies(path: &RepoPath, environment: &str, mut contexts: Contexts, guards: &[Guard]) -> Vec<Apply> {
    let open = contexts.remove(&None::<String>).unwrap_or_default();
    let apply = |context: Option<String>, charts: Vec<ChartRelease>| {
        let environment = Some(environment.to_owned()).filter(|name| name != "default");
        let names: Vec<String> = environment.into_iter().chain(context).collect();
        let cluster = (!names.is_empty()).then(|| names.join("-"));
        let is_its = |guard: &&Guard| charts.iter().any(|chart| chart.version.as_ref() == Some(&guard.value));
        let (file, guards) = (path.clone(), guards.iter().filter(is_its).cloned().collect());
        let (objects, left, notes) = Default::default();
        Apply { file, cluster, by_object: false, charts, objects, left, guards, notes }
    };
    if contexts.len() < 2 {
        return vec![apply(None, contexts.into_values().flatten().chain(open).collect())];
    }
    let one = |(context, own): (Option<String>, Vec<ChartRelease>)| {
        apply(context, own.into_iter().chain(open.iter().cloned()).collect())
    };
    contexts.into_iter().map(one).collect()
}

fn without_contexts(charts: Vec<(Option<String>, ChartRelease)>) -> Vec<ChartRelease> {
    charts.into_iter().map(|(_, chart)| chart).collect()
}

/// Walks over a helmfile. Returns its charts, each with the context of its cluster.
fn charts(loader: &Loader<'_>, path: &RepoPath) -> Vec<(Option<String>, ChartRelease)> {
    let mut walk = Walk { loader, charts: Vec::new(), above: Vec::new() };
    walk.file(path, &Parent { values: Values::new(), given: Value::empty(), inherits: Value::empty() }, path);
    walk.charts
}

/// What a helmfile hands to one that it takes in.
struct Parent {
    values: Values,
    given: Value,
    inherits: Value,
}

struct Walk<'w, 'f> {
    loader: &'w Loader<'f>,
    charts: Vec<(Option<String>, ChartRelease)>,
    above: Vec<RepoPath>,
}

// === impl Helmfile ===

impl Helmfile {
    /// Takes in what another one found; a release that is the same but for its environment counts once.
    fn take(&mut self, other: Self) {
        for chart in other.charts {
            let same =
                |there: &ChartRelease| *there == ChartRelease { part: there.part.clone(), ..chart.clone() };
            if !self.charts.iter().any(same) {
                self.charts.push(chart);
            }
        }
        self.applied.applies.extend(other.applied.applies);
        self.shadowed.extend(other.shadowed);
        self.guards.extend(
            other.guards.into_iter().filter(|guard| !self.guards.contains(guard)).collect::<Vec<_>>(),
        );
        self.read.extend(other.read);
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

// === impl Walk ===

impl Walk<'_, '_> {
    fn file(&mut self, path: &RepoPath, parent: &Parent, by: &RepoPath) {
        let run = &self.loader.run;
        if self.above.contains(path) {
            return run.note(by, About::Cycle(path.to_string()));
        }
        if self.above.len() == DEPTH {
            return run.note(by, About::Bound(Bound::Depth(DEPTH)));
        }
        let Some(mut state) = self.loader.load(path, &parent.values, &parent.given, by) else { return };
        state.value = inherit(&parent.inherits, &state.value);
        self.above.push(path.clone());
        for entry in state.value.list_at("helmfiles") {
            self.below(&state, entry);
        }
        self.above.pop();
        let charts = release::releases(self.loader, &state);
        lock::guards(self.loader, &state, charts.iter().map(|(_, chart)| chart));
        self.charts.extend(charts);
    }

    /// Takes in the helmfiles that an entry of `helmfiles` means.
    fn below(&mut self, state: &State, entry: &Value) {
        let path = entry.as_scalar().or_else(|| entry.scalar(&["path"]));
        let Some(path) = path.and_then(Scalar::known) else {
            return;
        };
        let folder = state.path.folder();
        let dot = self.loader.dot(&Values::new());
        let given = self.loader.entries(entry.list_at("values"), &state.path, folder, &dot);
        let inherits: Vec<String> = entry
            .list_at("inherits")
            .iter()
            .filter_map(Value::as_scalar)
            .map(|s| s.text().into_owned())
            .collect();
        let shared = state
            .value
            .entries()
            .filter(|(key, _)| inherits.iter().any(|i| i == key) && *key != "environments");
        let values =
            if inherits.iter().any(|i| i == "environments") { state.values.clone() } else { Values::new() };
        let parent =
            Parent { values, given, inherits: Value::map(shared.map(|(key, value)| (key, value.clone()))) };
        for file in self.meant(&path, state) {
            self.loader.taken.borrow_mut().insert(file.clone());
            self.file(&file, &parent, &state.path);
        }
    }

    /// Returns the helmfiles of a path, a glob or a folder.
    fn meant(&self, path: &str, state: &State) -> Vec<RepoPath> {
        let folder = state.path.folder();
        let files = self.loader.run.files;
        let below = RepoPath::resolve(folder, path).filter(|path| files.has_folder(path.as_str()));
        let Some(below) = below else { return self.loader.found(path, &state.path, folder, true) };
        let is_yaml = |path: &RepoPath| {
            let name = path.name().strip_suffix(".gotmpl").unwrap_or(path.name());
            name.ends_with(".yaml") || name.ends_with(".yml")
        };
        let inside = files.below(below.as_str()).iter().map(|entry| &entry.path);
        let direct = inside
            .filter(|path| path.folder() == below.as_str() && is_yaml(path) && files.has(path.as_str()));
        direct.cloned().collect()
    }
}

/// Adds what a helmfile inherits: its own counts, and repositories and templates of the other are there too.
fn inherit(parent: &Value, own: &Value) -> Value {
    values::laid(parent, own, true)
}

#[cfg(test)]
mod tests;

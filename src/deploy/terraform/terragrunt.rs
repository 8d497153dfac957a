//! Terragrunt: a `terragrunt.hcl` names a module, and gives it inputs.
//!
//! Followed are `terraform.source` in the tree, `inputs`, `locals`, `include` with what it exposes, `read_terragrunt_config`
//! and the functions that name folders. `dependency`, hooks and generated files are known to Terragrunt alone.
//! Source: `docs.terragrunt.com`, reference of blocks, attributes and built-in functions.

use std::{collections::BTreeMap, sync::Arc};

use hcl_edit::structure::Body;

use super::{
    Inputs, Modules,
    inputs::{self, VariableFile, read_inputs},
    module::{Module, parsed},
    named,
    scope::{Budget, NESTED, Scope},
};
use crate::{
    deploy::{
        files::Files,
        note::Note,
        value::{Source, Value},
        watch::Watch,
    },
    repo::RepoPath,
};

/// The name of the file that makes a folder a unit.
pub(super) const FILE: &str = "terragrunt.hcl";

/// A folder in which Terragrunt runs a module.
#[derive(Debug)]
pub(super) struct Unit {
    /// Its file.
    pub path: RepoPath,
    /// The folder of the module.
    pub module: String,
    /// What the module is given.
    pub inputs: Inputs,
    /// Its file, and those of Terragrunt's that this one takes in.
    pub reads: Vec<RepoPath>,
}

/// One file, as the unit that reads it has it.
struct Config {
    /// `terraform.source`.
    source: Option<String>,
    locals: Value,
    inputs: Value,
}

/// Reads the units of a tree, with the files that set variables beside them.
pub(super) fn units(files: &dyn Files, set: &[VariableFile], notes: &mut Vec<Note>) -> Vec<Unit> {
    let paths = files.below("").iter().map(|entry| &entry.path);
    let mut units = Vec::new();
    for path in paths.filter(|path| path.name() == FILE && files.has(path.as_str())) {
        let budget = Budget::of(path.folder());
        let watch = Watch::new(files);
        let reader = Reader { files: &watch, folder: path.folder(), budget: &budget };
        let Some(config) = reader.config(path, (NESTED, true), notes) else { continue };
        // Without a source it is the module that lies beside it.
        let module = match &config.source {
            Some(source) => reader.module(source),
            None => Some(path.folder().to_owned()),
        };
        let Some(module) = module else { continue };
        let inputs = config.inputs.entries().map(|(key, value)| (key.to_owned(), named(value.clone())));
        let mut inputs: Inputs = inputs.collect();
        // Terragrunt runs in a copy of its folder, and hands inputs on as the environment, which counts less.
        for file in inputs::always(set, path.folder()) {
            read_inputs(files, file, &mut inputs, notes);
        }
        let reads = watch.into_read().into_iter().filter_map(RepoPath::new);
        let reads = reads.filter(|path| path.name().ends_with(".hcl")).collect();
        units.push(Unit { path: path.clone(), module, inputs, reads });
    }
    units
}

/// Reads a configuration that another one names, for `read_terragrunt_config`.
pub(super) fn read(scope: &Scope<'_>, path: &RepoPath) -> Option<Value> {
    if let Some(known) = scope.budget.configs.borrow().get(path) {
        return known.clone();
    }
    // One that reads itself has nothing there.
    scope.budget.configs.borrow_mut().insert(path.clone(), None);
    let depth = scope.nested.checked_sub(1)?;
    let reader = Reader { files: scope.files, folder: path.folder(), budget: scope.budget };
    let config = reader.config(path, (depth, true), &mut Vec::new())?;
    let value = Value::map([("locals", config.locals), ("inputs", config.inputs)]);
    scope.budget.configs.borrow_mut().insert(path.clone(), Some(value.clone()));
    Some(value)
}

/// Returns the way from one folder to another; `None` where both are the same.
pub(super) fn way(from: &str, to: &str) -> Option<String> {
    let parts = |folder: &'_ str| {
        folder.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let (from, to) = (parts(from), parts(to));
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from.iter().skip(shared).map(|_| "..".to_owned());
    let way: Vec<String> = up.chain(to.iter().skip(shared).cloned()).collect();
    (!way.is_empty()).then(|| way.join("/"))
}

/// Returns the path of a file that lies above a folder, the nearest first.
pub(super) fn above(files: &dyn Files, folder: &str, name: &str) -> Option<RepoPath> {
    let mut folder = folder;
    while !folder.is_empty() {
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        let path = RepoPath::resolve(folder, name)?;
        if files.has(path.as_str()) {
            return Some(path);
        }
    }
    None
}

struct Reader<'r> {
    files: &'r dyn Files,
    /// The unit's folder, from which paths are counted also in what it takes in.
    folder: &'r str,
    budget: &'r Budget,
}

// === impl Reader ===

impl Reader<'_> {
    /// Reads a file. What one takes in takes in nothing itself.
    fn config(
        &self,
        path: &RepoPath,
        (nested, includes): (usize, bool),
        notes: &mut Vec<Note>,
    ) -> Option<Config> {
        self.budget.take(1)?;
        let (source, body) = parsed(self.files, path, notes)?;
        let config = Some(path.folder().to_owned());
        let mut module = Module { folder: self.folder.to_owned(), config, ..Module::default() };
        module.take(&source, body.clone());
        let (mut included, mut source_above, mut inputs) = (BTreeMap::new(), None, Value::empty());
        for block in body.get_blocks("include").filter(|_| includes) {
            let name = block.labels.first().map(|label| label.as_str()).unwrap_or_default();
            let written = block.body.get_attribute("path").map(|path| &path.value);
            let path = written.and_then(|path| {
                let text = self.with(&module, &source, nested, |scope| scope.text(&scope.eval(path)))?;
                self.resolved(&text)
            });
            let Some(above) = path.and_then(|path| self.config(&path, (nested, false), notes)) else {
                continue;
            };
            above.inputs.entries().for_each(|(key, value)| inputs.insert(key, value.clone()));
            source_above = above.source.or(source_above);
            let exposed = Value::map([("locals", above.locals), ("inputs", above.inputs)]);
            included.insert(name.to_owned(), exposed);
        }
        // One without a name is known as `include` itself.
        let all = included
            .remove("")
            .unwrap_or_else(|| Value::map(included.iter().map(|(k, v)| (k.as_str(), v.clone()))));
        module.roots.insert("include".to_owned(), all);
        self.with(&module, &source, nested, |scope| {
            let own = |key| body.get_attribute(key).map(|attribute| scope.eval(&attribute.value));
            own("inputs")
                .iter()
                .flat_map(Value::entries)
                .for_each(|(key, value)| inputs.insert(key, value.clone()));
            let locals = module.locals.keys().filter_map(|name| Some((name.as_str(), scope.local(name)?)));
            let locals = Value::map(locals);
            Some(Config { source: module_source(scope, &body).or(source_above), locals, inputs })
        })
    }

    fn with<T>(
        &self,
        module: &Module,
        source: &Arc<Source>,
        nested: usize,
        read: impl FnOnce(&Scope<'_>) -> Option<T>,
    ) -> Option<T> {
        let (modules, none) = (Modules::new(), Inputs::new());
        let scope = Scope::new(
            (self.files, &modules),
            module,
            (&none, self.budget.frame()),
            source,
            self.budget,
            true,
        );
        read(&Scope { nested, ..scope })
    }

    /// Finds a file by its path from the top of the tree, or from the unit.
    fn resolved(&self, text: &str) -> Option<RepoPath> {
        let has = |path: &RepoPath| self.files.has(path.as_str());
        let of_tree = RepoPath::resolve("", text).filter(has);
        of_tree.or_else(|| RepoPath::resolve(self.folder, text).filter(has))
    }

    /// Returns the folder of a module in the tree. Two slashes divide what is copied from what is run in it.
    fn module(&self, source: &str) -> Option<String> {
        let path = source.split('?').next().unwrap_or_default().replace("//", "/");
        let folder = |base: &str| Some(RepoPath::resolve(base, &format!("{path}/.x"))?.folder().to_owned());
        let is_module = |folder: &String| {
            let mut own = self.files.below(folder).iter().map(|entry| &entry.path);
            own.any(|path| path.folder() == folder && super::is_terraform(path))
        };
        folder(self.folder).filter(is_module).or_else(|| folder("").filter(is_module))
    }
}

fn module_source(scope: &Scope<'_>, body: &Body) -> Option<String> {
    let block = body.get_blocks("terraform").next()?;
    scope.text(&scope.eval(&block.body.get_attribute("source")?.value))
}

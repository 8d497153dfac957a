//! Terragrunt: a `terragrunt.hcl` names a module, and gives it inputs.
//!
//! Followed are `terraform.source` in the tree, `inputs`, `locals`, `include` with what it exposes, `read_terragrunt_config`, stacks
//! and the functions that name folders. `dependency`, hooks and generated files are known to Terragrunt alone.
//! Source: `docs.terragrunt.com`, reference of blocks, attributes and built-in functions.

mod stack;

use std::{collections::BTreeMap, sync::Arc};

use hcl_edit::structure::Body;

use super::{
    Inputs, Modules,
    inputs::{self, VariableFile, read_inputs},
    module::Module,
    named,
    parse::parsed,
    scope::{Budget, NESTED, Scope},
};
use crate::{
    deploy::{
        files::Files,
        note::Note,
        value::{Scalar, Source, Value},
        watch::Watch,
    },
    repo::RepoPath,
};

/// The name of the file that makes a folder a unit.
pub(super) const FILE: &str = "terragrunt.hcl";

/// The name under which a unit, or a stack in another one, reads what it is given.
const VALUES: &str = "values";

/// A folder in which Terragrunt runs a module, or an object that has one run.
#[derive(Debug)]
pub(super) struct Unit {
    /// Its file; of one of a stack that of the stack.
    pub path: RepoPath,
    /// Whether an object has the module run.
    pub by_object: bool,
    /// Which one it is of those that its file has run.
    pub place: Option<String>,
    /// The folder of the module.
    pub module: String,
    /// What the module is given.
    pub inputs: Inputs,
    /// The files of variables that its command line names.
    pub named: Vec<RepoPath>,
    /// Whether it is left out of what is applied.
    pub is_excluded: bool,
    /// Whether what is applied stays as it is.
    pub is_suspended: bool,
    /// Its file, and those of Terragrunt's that this one takes in.
    pub reads: Vec<RepoPath>,
}

/// One file, as the unit that reads it has it.
struct Config {
    /// `terraform.source`.
    source: Option<String>,
    locals: Value,
    inputs: Value,
    /// What the command line is given beside, which counts more.
    arguments: Arguments,
    is_excluded: bool,
}

/// What `extra_arguments` give.
#[derive(Default)]
struct Arguments {
    inputs: Inputs,
    /// The files of variables that they name.
    named: Vec<RepoPath>,
}

/// Reads the units of a tree, with the files that set variables beside them.
pub(super) fn units(files: &dyn Files, set: &[VariableFile], notes: &mut Vec<Note>) -> Vec<Unit> {
    let stacks = stack::stacks((files, set), notes);
    let paths = files.below("").iter().map(|entry| &entry.path);
    let paths = paths.filter(|path| path.name() == FILE && files.has(path.as_str()));
    let own = paths.filter(|path| !stacks.copied.contains(path.folder()));
    let own = own.filter_map(|path| unit((files, set), path, (path.folder(), None), notes));
    let mut units: Vec<Unit> = own.collect();
    units.extend(stacks.units);
    units
}

/// Reads a unit: its file, the folder in which it is run, and what a stack gives it; `None` where its module is not in the tree.
fn unit(
    (files, set): (&dyn Files, &[VariableFile]),
    path: &RepoPath,
    (folder, values): (&str, Option<&Value>),
    notes: &mut Vec<Note>,
) -> Option<Unit> {
    let mut budget = Budget::of(folder);
    budget.is_run = true;
    let watch = Watch::new(files);
    let reader = Reader { files: &watch, folder, values, budget: &budget };
    let config = reader.config(path, (NESTED, true), notes)?;
    // Without a source it is the module that lies beside it.
    let module = match &config.source {
        Some(source) => reader.module(source)?,
        None => path.folder().to_owned(),
    };
    let inputs = config.inputs.entries().map(|(key, value)| (key.to_owned(), named(value.clone())));
    let mut inputs: Inputs = inputs.collect();
    // Terragrunt runs in a copy of its folder, and hands inputs on as the environment, which counts less.
    for file in inputs::always(set, path.folder()) {
        read_inputs(files, file, &mut inputs, notes);
    }
    let Arguments { inputs: arguments, named } = config.arguments;
    inputs.extend(arguments);
    let reads = watch.into_read().into_iter().filter_map(RepoPath::new);
    let reads = reads.filter(|path| path.name().ends_with(".hcl")).collect();
    let (is_excluded, path, place) = (config.is_excluded, path.clone(), None);
    let (by_object, is_suspended) = (false, false);
    Some(Unit { path, by_object, place, module, inputs, named, is_excluded, is_suspended, reads })
}

/// Reads a configuration that another one names, for `read_terragrunt_config`.
pub(super) fn read(scope: &Scope<'_>, path: &RepoPath) -> Option<Value> {
    if let Some(known) = scope.budget.configs.borrow().get(path) {
        return known.clone();
    }
    // One that reads itself has nothing there.
    scope.budget.configs.borrow_mut().insert(path.clone(), None);
    let depth = scope.nested.checked_sub(1)?;
    let reader = Reader { files: scope.files, folder: path.folder(), values: None, budget: scope.budget };
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
    /// What a stack gives the unit.
    values: Option<&'r Value>,
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
        // That of a unit lies in the unit's folder, also where a stack has it from elsewhere.
        let config = Some(if includes { self.folder } else { path.folder() }.to_owned());
        let mut module = Module { folder: self.folder.to_owned(), config, ..Module::default() };
        module.roots.extend(self.values.map(|values| (VALUES.to_owned(), values.clone())));
        module.take(&source, body.clone());
        let (mut included, mut source_above, mut inputs) = (BTreeMap::new(), None, Value::empty());
        let (mut arguments, mut is_deep, mut is_excluded) = (Arguments::default(), false, false);
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
            let strategy = block.body.get_attribute("merge_strategy");
            match strategy.and_then(|strategy| strategy.value.as_str()) {
                Some("no_merge") => {}
                strategy => {
                    is_deep |= strategy == Some("deep");
                    inputs = laid(&inputs, &above.inputs, is_deep);
                    arguments.inputs.extend(above.arguments.inputs);
                    arguments.named.extend(above.arguments.named);
                    is_excluded = above.is_excluded;
                }
            }
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
            let inputs = own("inputs").map_or_else(|| inputs.clone(), |own| laid(&inputs, &own, is_deep));
            extra_arguments(scope, &body, &mut arguments);
            let locals = module.locals.keys().filter_map(|name| Some((name.as_str(), scope.local(name)?)));
            let locals = Value::map(locals);
            let source = module_source(scope, &body).or(source_above);
            let is_excluded = excluded(scope, &body).unwrap_or(is_excluded);
            Some(Config { source, locals, inputs, arguments, is_excluded })
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
        let folder = |base: &str| RepoPath::resolve_folder(base, &path);
        let is_module = |folder: &String| {
            let mut own = self.files.below(folder).iter().map(|entry| &entry.path);
            own.any(|path| path.folder() == folder && super::is_terraform(path))
        };
        folder(self.folder).filter(is_module).or_else(|| folder("").filter(is_module))
    }
}

/// Lays inputs over others; deep, maps are merged and lists go on (`docs.terragrunt.com`, "include", `merge_strategy`).
fn laid(below: &Value, own: &Value, is_deep: bool) -> Value {
    match (below, own) {
        (Value::List(below), Value::List(own)) if is_deep => {
            Value::list(below.iter().chain(own.iter()).cloned().collect())
        }
        (Value::Map(_), Value::Map(_)) => {
            let mut out = below.clone();
            for (key, own) in own.entries() {
                let both = below.entry(key).filter(|_| is_deep).map(|below| laid(below, own, is_deep));
                out.insert(key, both.unwrap_or_else(|| own.clone()));
            }
            out
        }
        (_, own) => own.clone(),
    }
}

/// Reads what `extra_arguments` give to Terraform: files of variables, in their order before single ones.
fn extra_arguments(scope: &Scope<'_>, body: &Body, arguments: &mut Arguments) {
    let blocks = body.get_blocks("terraform").flat_map(|block| block.body.get_blocks("extra_arguments"));
    for block in blocks {
        let own = scope.body(&block.body);
        let texts = |key: &str| own.list_at(key).iter().filter_map(|item| Some(item.as_scalar()?.clone()));
        let words: Vec<Scalar> = texts("arguments").collect();
        let file = |word: &Scalar| word.text().strip_prefix("-var-file=").map(str::to_owned);
        let files = words.iter().filter_map(file);
        let listed = ["required_var_files", "optional_var_files"].into_iter().flat_map(texts);
        for file in files.chain(listed.filter_map(|file| file.known().map(|file| file.into_owned()))) {
            let Some(path) = scope.resolved(&file) else { continue };
            read_inputs(scope.files, &path, &mut arguments.inputs, &mut Vec::new());
            arguments.named.push(path);
        }
        for (n, word) in words.iter().enumerate() {
            let text = word.text();
            let single = match text.strip_prefix("-var=") {
                Some(rest) => Some(word.cut(text.len() - rest.len()..text.len())),
                None => words.get(n + 1).filter(|_| text == "-var").cloned(),
            };
            let Some(single) = single else { continue };
            let whole = single.text();
            let Some((name, value)) = whole.split_once('=') else { continue };
            let value = single.cut(whole.len() - value.len()..whole.len());
            arguments.inputs.insert(name.to_owned(), named(Value::Scalar(value)));
        }
    }
}

/// Says whether a unit is left out of what is applied, where it says anything of that (`docs.terragrunt.com`, "exclude" and
/// "skip").
fn excluded(scope: &Scope<'_>, body: &Body) -> Option<bool> {
    let is_true = |value: Value| scope.text(&value).is_some_and(|text| text == "true");
    let skip = body.get_attribute("skip").map(|skip| is_true(scope.eval(&skip.value)));
    let exclude = body.get_blocks("exclude").next().map(|block| {
        let own = scope.body(&block.body);
        let mut actions = own.list_at("actions").iter().filter_map(|action| scope.text(action));
        let applies = actions.any(|action| matches!(&*action, "all" | "all_except_output" | "apply"));
        applies && own.get("if").cloned().is_some_and(is_true)
    });
    exclude.or(skip)
}

fn module_source(scope: &Scope<'_>, body: &Body) -> Option<String> {
    let block = body.get_blocks("terraform").next()?;
    scope.text(&scope.eval(&block.body.get_attribute("source")?.value))
}

//! The files that set a root's variables.

use super::{
    Inputs, Modules, is_terraform,
    module::{Module, parsed},
    named,
    scope::{Budget, Scope},
};
use crate::{
    deploy::{files::Files, note::Note, read, value::Scalar},
    repo::RepoPath,
};

/// Returns the files that always set a root's variables, and those that somebody names (`-var-file`): any `*.tfvars` in
/// or below its folder that sets one of them.
pub(super) fn variable_files(files: &dyn Files, module: &Module) -> (Vec<RepoPath>, Vec<RepoPath>) {
    let (mut always, mut named) = (Vec::new(), Vec::new());
    let below = files.below(&module.folder);
    for entry in files.below("") {
        let (path, name) = (&entry.path, entry.path.name());
        if !name.ends_with(".tfvars") && !name.ends_with(".tfvars.json") {
            continue;
        }
        let own = path.folder() == module.folder;
        let is_below = || below.binary_search_by(|entry| entry.path.cmp(path)).is_ok();
        let automatic = name.starts_with("terraform.tfvars") || name.contains(".auto.tfvars");
        // One that lies in no module is for any that has its variables.
        let may_be = || {
            if is_below() {
                !(automatic && is_module(files, path.folder()))
            } else {
                !is_in_module(files, path)
            }
        };
        if own && automatic {
            always.push(path.clone());
        } else if may_be() && sets(files, path, module) {
            named.push(path.clone());
        }
    }
    // `terraform.tfvars` counts less than the automatic ones.
    always.sort_by_key(|path| (!path.name().starts_with("terraform."), path.clone()));
    (always, named)
}

/// Tells whether a file sets a variable of a module; of one that cannot be read nobody knows.
fn sets(files: &dyn Files, path: &RepoPath, module: &Module) -> bool {
    let (mut inputs, mut unread) = (Inputs::new(), Vec::new());
    read_inputs(files, path, &mut inputs, &mut unread);
    !unread.is_empty() || inputs.keys().any(|name| module.variables.contains_key(name))
}

/// Tells whether a folder has a module, whose automatic files are its own.
fn is_module(files: &dyn Files, folder: &str) -> bool {
    let mut own = files.below(folder).iter().filter(|entry| entry.path.folder() == folder);
    own.any(|entry| is_terraform(&entry.path))
}

/// Tells whether a file lies in a module, or below one.
fn is_in_module(files: &dyn Files, path: &RepoPath) -> bool {
    let mut folder = path.folder();
    loop {
        if is_module(files, folder) {
            return true;
        }
        let Some((above, _)) = folder.rsplit_once('/') else { return false };
        folder = above;
    }
}

/// Says what a file of variables is for: by its own name, or where others have the same, by the folders that they do not
/// share.
pub(super) fn place(path: &RepoPath, all: &[&RepoPath]) -> String {
    let stem = path.name().split('.').next().unwrap_or_default();
    let alike: Vec<Vec<&str>> = all
        .iter()
        .filter(|other| other.name() == path.name())
        .map(|other| other.folder().split('/').collect())
        .collect();
    let is_common = |part: &&str| alike.iter().all(|folders| folders.contains(part));
    let own: Vec<&str> =
        path.folder().split('/').filter(|part| !part.is_empty() && !is_common(part)).collect();
    if own.is_empty() { stem.to_owned() } else { own.join("-") }
}

/// Adds the values of a file of variables.
pub(super) fn read_inputs(files: &dyn Files, path: &RepoPath, inputs: &mut Inputs, notes: &mut Vec<Note>) {
    if path.name().ends_with(".json") {
        let source = files.file(path.as_str());
        let value = source.ok().and_then(|s| read::mapping(&Scalar::file(&s), files.ceilings()).ok());
        for (key, value) in value.iter().flat_map(|v| v.entries()) {
            inputs.insert(key.to_owned(), named(value.clone()));
        }
        return;
    }
    let Some((source, body)) = parsed(files, path, notes) else { return };
    let (modules, module, none, budget) =
        (Modules::new(), Module::default(), Inputs::new(), Budget::of(path.folder()));
    let scope = Scope::new((files, &modules), &module, (&none, 0), &source, &budget, true);
    for attribute in body.attributes() {
        inputs.insert(attribute.key.as_str().to_owned(), named(scope.eval(&attribute.value)));
    }
}

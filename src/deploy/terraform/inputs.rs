//! The files that set a root's variables.

use super::{
    Inputs, Modules,
    module::Module,
    named,
    parse::parsed,
    scope::{Budget, Scope},
};
use crate::{
    deploy::{files::Files, note::Note, read, value::Scalar},
    repo::RepoPath,
};

/// A file of variables.
#[derive(Debug)]
pub(super) struct VariableFile {
    path: RepoPath,
    /// Whether it is read by itself, in its own folder.
    is_automatic: bool,
    /// Whether its folder is a module.
    is_beside: bool,
    /// Whether a folder above is one too.
    is_inside: bool,
}

/// Lists the files of variables of a tree.
pub(super) fn variable_files(files: &dyn Files, modules: &Modules) -> Vec<VariableFile> {
    let paths = files.below("").iter().map(|entry| &entry.path);
    let wanted =
        paths.filter(|path| [".tfvars", ".tfvars.json"].iter().any(|end| path.name().ends_with(end)));
    let file = |path: &RepoPath| {
        let name = path.name();
        let mut folders =
            std::iter::successors(Some(path.folder()), |folder| Some(folder.rsplit_once('/')?.0)).chain([""]);
        VariableFile {
            path: path.clone(),
            is_automatic: name.starts_with("terraform.tfvars") || name.contains(".auto.tfvars"),
            is_beside: modules.contains_key(path.folder()),
            is_inside: folders.any(|folder| modules.contains_key(folder)),
        }
    };
    wanted.map(file).collect()
}

/// Returns the files that always set the variables of a folder.
pub(super) fn always<'t>(all: &'t [VariableFile], folder: &str) -> Vec<&'t RepoPath> {
    let own = all.iter().filter(|file| file.is_automatic && file.path.folder() == folder);
    let mut own: Vec<&RepoPath> = own.map(|file| &file.path).collect();
    // `terraform.tfvars` counts less than the automatic ones.
    own.sort_by_key(|path| (!path.name().starts_with("terraform."), *path));
    own
}

/// Returns the files that somebody may name for a module (`-var-file`): those below its folder, and those that lie in no
/// module, that set one of its variables.
pub(super) fn by_name<'t>(files: &dyn Files, all: &'t [VariableFile], module: &Module) -> Vec<&'t RepoPath> {
    let own = |path: &RepoPath| path.folder() == module.folder;
    let may_be = |file: &&VariableFile| match file.path.is_below(&module.folder) {
        true => !(file.is_automatic && (file.is_beside || own(&file.path))),
        false => !file.is_inside,
    };
    all.iter().filter(may_be).map(|file| &file.path).filter(|path| sets(files, path, module)).collect()
}

/// Tells whether a file sets a variable of a module; of one that cannot be read nobody knows.
fn sets(files: &dyn Files, path: &RepoPath, module: &Module) -> bool {
    let (mut inputs, mut unread) = (Inputs::new(), Vec::new());
    read_inputs(files, path, &mut inputs, &mut unread);
    !unread.is_empty() || inputs.keys().any(|name| module.variables.contains_key(name))
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

//! A module: the blocks of the `*.tf` files of a folder, and the files that set its variables.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use hcl_edit::{
    expr::Expression,
    structure::{Attribute, Block, Body, Structure},
};

use super::parse::parsed;
use crate::{
    deploy::{
        files::Files,
        note::Note,
        value::{Source, Value},
    },
    repo::RepoPath,
};

/// How the files of modules end.
const ENDINGS: [&str; 2] = [".tf", ".tofu"];

/// What Terraform writes beside a root that was initialised.
const LOCK: &str = ".terraform.lock.hcl";

/// An expression with the file that it stands in.
pub(super) type Placed = (Arc<Source>, Expression);

/// A folder of `*.tf` files.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// Its folder.
    pub folder: String,
    /// Whether it is the folder of a project of Atlantis's.
    pub is_project: bool,
    /// `locals`.
    pub locals: HashMap<String, Placed>,
    /// `variable` blocks.
    pub variables: HashMap<String, Variable>,
    /// The folder of the file at hand, where that is one of Terragrunt's, which may stand above.
    pub config: Option<String>,
    /// Names that whoever runs it gives a meaning, as Terragrunt does `include`.
    pub roots: HashMap<String, Value>,
    /// Blocks of files whose blocks are laid over those of others (`override.tf`).
    pub overrides: Vec<(Arc<Source>, Block)>,
    /// All other blocks, in the order of the files.
    pub blocks: Vec<(Arc<Source>, Block)>,
}

/// A `variable` block.
#[derive(Debug, Default)]
pub(super) struct Variable {
    /// Its `default`.
    pub default: Option<Placed>,
    /// Its `type`, which may have defaults for attributes.
    pub of: Option<Placed>,
    /// Whether a null stands for its default (`nullable = false`).
    pub is_never_null: bool,
    /// The conditions of its `validation` blocks.
    pub checks: Vec<Placed>,
}

// === impl Module ===

impl Module {
    /// Reads the files of a folder, which may be one of `projects`; what cannot be read is noted.
    pub fn load(files: &dyn Files, folder: &str, projects: &BTreeSet<String>, notes: &mut Vec<Note>) -> Self {
        let is_project = projects.contains(folder);
        let mut module = Self { folder: folder.to_owned(), is_project, ..Self::default() };
        for entry in files.below(folder).iter().filter(|e| e.path.folder() == folder) {
            let name = entry.path.name();
            if is_name(name)
                && !is_replaced(files, &entry.path)
                && let Some((source, body)) = parsed(files, &entry.path, notes)
            {
                module.take(&source, body);
            }
        }
        module
    }

    pub fn take(&mut self, source: &Arc<Source>, body: Body) {
        for structure in body {
            let Structure::Block(block) = structure else { continue };
            match block.ident.as_str() {
                "locals" => {
                    let entry =
                        |a: &Attribute| (a.key.as_str().to_owned(), (source.clone(), a.value.clone()));
                    self.locals.extend(block.body.attributes().map(entry));
                }
                "variable" => {
                    let name = block.labels.first().map(|label| label.as_str().to_owned());
                    let placed =
                        |body: &Body, key| body.get_attribute(key).map(|a| (source.clone(), a.value.clone()));
                    let nullable = block.body.get_attribute("nullable").and_then(|a| a.value.as_bool());
                    let checks = block.body.get_blocks("validation");
                    let variable = Variable {
                        default: placed(&block.body, "default"),
                        of: placed(&block.body, "type"),
                        is_never_null: nullable == Some(false),
                        checks: checks.filter_map(|check| placed(&check.body, "condition")).collect(),
                    };
                    self.variables.extend(name.map(|name| (name, variable)));
                }
                _ if is_override(&source.path) => self.overrides.push((source.clone(), block)),
                _ => self.blocks.push((source.clone(), block)),
            }
        }
    }

    /// Returns the folder of the module that a block calls, where it lies in the tree.
    pub fn called(&self, block: &Block) -> Option<String> {
        let source = block.body.get_attribute("source")?.value.as_str()?;
        if !(source.starts_with("./") || source.starts_with("../")) {
            return None;
        }
        let steps = source.trim_end_matches('/');
        // `..` may lead to the root, which is no path of a file.
        match RepoPath::resolve(&self.folder, steps) {
            Some(path) => Some(path.as_str().to_owned()),
            None => RepoPath::resolve(&self.folder, &format!("{steps}/x"))
                .filter(|path| path.folder().is_empty())
                .map(|_| String::new()),
        }
    }

    /// Tells whether somebody is said to run it, or it has what only a root has: one for others must not configure a provider, and
    /// its state is its caller's (Terraform, "Providers Within Modules").
    pub fn is_root(&self, files: &dyn Files) -> bool {
        let is_of_root = |block: &Block| match block.ident.as_str() {
            "provider" => true,
            "terraform" => ["backend", "cloud"].iter().any(|own| block.body.get_blocks(own).next().is_some()),
            _ => false,
        };
        let lock = RepoPath::resolve(&self.folder, LOCK);
        let mut blocks = self.blocks.iter().chain(&self.overrides);
        self.is_project
            || blocks.any(|(_, block)| is_of_root(block))
            || lock.is_some_and(|lock| files.has(lock.as_str()))
    }

    /// Tells whether it has to be given a variable.
    pub fn requires(&self, name: &str) -> bool {
        self.variables.get(name).is_some_and(|variable| variable.default.is_none())
    }

    /// Returns the folders of all modules that this one calls in the tree.
    pub fn local_calls(&self) -> impl Iterator<Item = String> + '_ {
        let calls = self.blocks.iter().filter(|(_, block)| block.ident.as_str() == "module");
        calls.filter_map(|(_, block)| self.called(block)).filter(|folder| *folder != self.folder)
    }
}

/// Tells whether a file is called as one of Terraform's, or of OpenTofu's.
pub(super) fn is_name(name: &str) -> bool {
    ENDINGS.iter().any(|end| name.ends_with(end))
}

/// Tells whether OpenTofu has a file of its own instead: `main.tofu` beside `main.tf`.
fn is_replaced(files: &dyn Files, path: &RepoPath) -> bool {
    path.as_str().strip_suffix(".tf").is_some_and(|stem| files.has(&format!("{stem}.tofu")))
}

fn is_override(path: &RepoPath) -> bool {
    let name = ENDINGS.iter().find_map(|end| path.name().strip_suffix(end)).unwrap_or_default();
    name == "override" || name.ends_with("_override")
}

/// Arguments of a module block that are no inputs.
pub(super) fn is_meta(name: &str) -> bool {
    matches!(name, "source" | "version" | "for_each" | "count" | "providers" | "depends_on")
}

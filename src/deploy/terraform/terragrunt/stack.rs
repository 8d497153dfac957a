//! Terragrunt's stacks: a `terragrunt.stack.hcl` names units, and further stacks, which Terragrunt copies beside it with values.
//!
//! In: the files of a tree. Out: the units of its stacks. Source: `docs.terragrunt.com`, reference of the blocks `unit` and `stack`.

use std::collections::BTreeSet;

use hcl_edit::structure::Block;

use super::{NESTED, Reader, Unit, VALUES, unit};
use crate::{
    deploy::{
        files::Files,
        note::{About, Bound, Note},
        terraform::{
            inputs::VariableFile,
            module::Module,
            parse::parsed,
            scope::{Budget, Scope},
        },
        value::Value,
        watch::Watch,
    },
    repo::RepoPath,
};

/// The name of the file that makes a folder a stack.
const FILE: &str = "terragrunt.stack.hcl";
/// Units and stacks of one stack, with those of the stacks in it.
const COPIES: usize = 500;

/// The stacks of a tree.
#[derive(Default)]
pub(super) struct Stacks {
    pub units: Vec<Unit>,
    /// The folders that are there to be copied.
    pub copied: BTreeSet<String>,
}

/// A stack as it is read.
struct Stack<'s> {
    /// Its file, or that of the outermost around it.
    path: &'s RepoPath,
    /// The file that it is a copy of.
    from: &'s RepoPath,
    /// Where it is.
    folder: &'s str,
    /// Which one of the outermost it is; none for that itself.
    within: &'s [String],
    values: Option<&'s Value>,
}

/// A unit, or a stack, that a stack has copied.
struct Copied {
    is_stack: bool,
    source: String,
    path: String,
    values: Value,
    /// Whether it is put beside the stack's file.
    is_beside: bool,
}

/// What is read of one outermost stack.
struct Reading<'r> {
    files: (&'r dyn Files, &'r [VariableFile]),
    notes: &'r mut Vec<Note>,
    left: usize,
    /// The files of Terragrunt's that its stacks are made of.
    reads: BTreeSet<RepoPath>,
    /// The units, each with the path of its stack and its own.
    units: Vec<(Unit, Vec<String>, String)>,
    copied: BTreeSet<String>,
}

/// Reads the stacks of a tree.
pub(super) fn stacks((files, set): (&dyn Files, &[VariableFile]), notes: &mut Vec<Note>) -> Stacks {
    let mut found = Stacks::default();
    let paths = files.below("").iter().map(|entry| &entry.path);
    for path in paths.filter(|path| path.name() == FILE && files.has(path.as_str())) {
        let (left, reads, units, copied) = (COPIES, BTreeSet::new(), Vec::new(), BTreeSet::new());
        let mut reading = Reading { files: (files, set), notes: &mut *notes, left, reads, units, copied };
        let stack = Stack { path, from: path, folder: path.folder(), within: &[], values: None };
        reading.stack(&stack, NESTED);
        found.units.extend(reading.placed());
        found.copied.append(&mut reading.copied);
    }
    let Stacks { units, copied } = &mut found;
    // A stack that is there to be copied is run where its copies are.
    units.retain(|unit| !copied.contains(unit.path.folder()));
    found
}

// === impl Reading ===

impl Reading<'_> {
    /// Reads a stack, and the stacks in it.
    fn stack(&mut self, stack: &Stack<'_>, nested: usize) {
        let Some(nested) = nested.checked_sub(1) else { return };
        for copy in self.copies(stack).unwrap_or_default() {
            let Some(left) = self.left.checked_sub(1) else {
                let note = Note::new(stack.from, About::Bound(Bound::Objects(COPIES)));
                let is_new = !self.notes.contains(&note);
                self.notes.extend(is_new.then_some(note));
                return;
            };
            self.left = left;
            self.copy(stack, &copy, nested);
        }
    }

    /// Reads what the file of a stack names.
    fn copies(&mut self, stack: &Stack<'_>) -> Option<Vec<Copied>> {
        let watch = Watch::new(self.files.0);
        let (source, body) = parsed(&watch, stack.from, self.notes)?;
        let mut budget = Budget::of(stack.folder);
        budget.is_run = true;
        let reader = Reader { files: &watch, folder: stack.folder, values: stack.values, budget: &budget };
        let (folder, config) = (stack.folder.to_owned(), Some(stack.folder.to_owned()));
        let mut module = Module { folder, config, ..Module::default() };
        module.roots.extend(stack.values.map(|values| (VALUES.to_owned(), values.clone())));
        module.take(&source, body.clone());
        let is_one = |block: &&Block| matches!(block.ident.as_str(), "unit" | "stack");
        let copies = reader.with(&module, &source, NESTED, |scope| {
            let blocks = body.blocks().filter(is_one);
            Some(blocks.filter_map(|block| Copied::of(scope, block)).collect())
        });
        let reads = watch.into_read().into_iter().filter_map(RepoPath::new);
        self.reads.extend(reads.filter(|path| path.name().ends_with(".hcl")));
        copies
    }

    /// Finds what is copied, and reads the copy.
    fn copy(&mut self, stack: &Stack<'_>, copy: &Copied, nested: usize) {
        let (files, name) = (self.files.0, if copy.is_stack { FILE } else { super::FILE });
        let source = copy.source.split('?').next().unwrap_or_default().replace("//", "/");
        let of = |base: &str| {
            let folder = RepoPath::resolve_folder(base, &source)?;
            RepoPath::resolve(&folder, name).filter(|path| files.has(path.as_str()))
        };
        let from = of(stack.folder).or_else(|| of(stack.from.folder())).or_else(|| of(""));
        let place = if copy.is_beside { "." } else { ".terragrunt-stack" };
        let folder = RepoPath::resolve_folder(stack.folder, &format!("{place}/{}", copy.path));
        let (Some(from), Some(folder)) = (from, folder) else { return };
        self.copied.insert(from.folder().to_owned());
        if copy.is_stack {
            let within = [stack.within, std::slice::from_ref(&copy.path)].concat();
            let values = Some(&copy.values);
            let inner = Stack { path: stack.path, from: &from, folder: &folder, within: &within, values };
            self.stack(&inner, nested);
            return;
        }
        let Some(mut unit) = unit(self.files, &from, (&folder, Some(&copy.values)), self.notes) else {
            return;
        };
        unit.path = stack.path.clone();
        self.units.push((unit, stack.within.to_vec(), copy.path.clone()));
    }

    /// Returns the units. Those of one stack are for one cluster, but for those that run the same module.
    fn placed(&mut self) -> Vec<Unit> {
        let all = std::mem::take(&mut self.units);
        let is_twice = |(unit, within, _): &(Unit, Vec<String>, String)| {
            let alike =
                all.iter().filter(|(other, around, _)| other.module == unit.module && around == within);
            alike.count() > 1
        };
        let twice: Vec<bool> = all.iter().map(is_twice).collect();
        let mut units = Vec::new();
        for ((mut unit, mut within, path), is_twice) in all.into_iter().zip(twice) {
            within.extend(is_twice.then_some(path));
            unit.reads.extend(self.reads.iter().cloned());
            unit.place = Some(within.join("-").replace('/', "-")).filter(|place| !place.is_empty());
            units.push(unit);
        }
        units
    }
}

// === impl Copied ===

impl Copied {
    fn of(scope: &Scope<'_>, block: &Block) -> Option<Self> {
        let own = scope.body(&block.body);
        let text = |key: &str| scope.text(own.get(key)?);
        Some(Self {
            is_stack: block.ident.as_str() == "stack",
            source: text("source")?,
            path: text("path")?,
            values: own.get(VALUES).cloned().unwrap_or_else(Value::empty),
            is_beside: text("no_dot_terragrunt_stack").is_some_and(|said| said == "true"),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::deploy::{terraform::terraform, testing::files};

    #[test]
    fn a_stack_gives_its_units_their_values() {
        let unit = |name: &str, from: &str, chart: &str| {
            format!(
                "unit \"{name}\" {{\n  source = \"{from}\"\n  path = \"{name}\"\n  values = {{ chart = {chart} }}\n}}\n"
            )
        };
        let outer = [
            "locals {\n  chart = \"2026.8.2\"\n}\nstack \"eu\" {\n  source = \"../stacks/one\"\n  path = \"eu\"\n  values = { chart = \
             \"2026.7.1\" }\n}\n"
                .to_owned(),
            unit("mesh", "${get_repo_root()}/units/mesh", "local.chart"),
            unit("lab", "../units/mesh", "\"2026.8.1\""),
        ];
        let inner = unit("mesh", "${get_repo_root()}/units/mesh", "values.chart");
        let mesh = "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n}\n\
                    terraform {\n  source = \"${get_repo_root()}/modules//mesh\"\n}\ninputs = {\n  chart = values.chart\n}\n";
        let module = "variable \"chart\" {}\nvariable \"name\" {}\nresource \"helm_release\" \"a\" {\n  name = var.name\n  \
                      chart = \"linkerd-crds\"\n  version = var.chart\n}\n";
        let tree = files(&[
            ("live/root.hcl", "inputs = {\n  name = \"a\"\n}\n"),
            ("live/terragrunt.stack.hcl", &outer.concat()),
            ("modules/mesh/main.tf", module),
            ("stacks/one/terragrunt.stack.hcl", &inner),
            ("units/mesh/terragrunt.hcl", mesh),
        ]);
        let found = terraform(&tree, &BTreeSet::new());
        let applies = found.applied.applies.iter().map(|apply| {
            let charts = apply.charts.iter().map(|chart| {
                let version = chart.version.as_ref().and_then(|version| version.origins().next());
                format!("{} {}", chart.release.text(), version.map(|at| at.text()).unwrap_or_default())
            });
            let charts = charts.collect::<Vec<_>>().join(", ");
            format!("{} {}: {charts}", apply.file, apply.cluster.as_deref().unwrap_or_default())
        });
        let expected = ["eu: a 2026.7.1", "mesh: a 2026.8.2", "lab: a 2026.8.1"];
        let expected = expected.map(|one| format!("live/terragrunt.stack.hcl {one}"));
        assert_eq!(applies.collect::<Vec<_>>(), expected);
        assert_eq!(found.configured.len(), 4);
        let unknown =
            found.charts.iter().filter_map(|chart| chart.version.as_ref()).any(|v| v.unknown_to().is_some());
        assert!(!unknown, "a unit that is copied is not run by itself");
    }

    #[test]
    fn stacks_that_copy_each_other_come_to_an_end() {
        let twice = |name: &str| {
            format!("stack \"{name}\" {{\n  source = \"${{get_repo_root()}}/a\"\n  path = \"{name}\"\n}}\n")
        };
        let stack = ["one", "two", "three"].map(twice).concat();
        let found = terraform(&files(&[("a/terragrunt.stack.hcl", &stack)]), &BTreeSet::new());
        assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
    }
}

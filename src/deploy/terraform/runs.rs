//! What a root is run for: its files of variables, and the environments that its files and maps are made for.
//!
//! Which environment a run is for is often said by nobody in the tree: a workspace, a variable that a pipeline sets. The
//! files and the keys that such a text may mean are there, and each of them is a run.

use std::collections::BTreeSet;

use super::{
    Brought, Clusters, DEPTH, Inputs, Terraform, Tree, Walk, inputs,
    module::Module,
    scope::{Budget, Choice, Choices},
    terragrunt::Unit,
};
use crate::{
    deploy::{
        apply::Apply,
        chart::{ChartRelease, suppose},
        files::Files,
        note::{About, Bound, Note},
        value::Value,
    },
    repo::RepoPath,
};

/// Environments of one root and one file of variables.
const RUNS: usize = 64;

/// The runs of one root with one set of inputs.
struct Runs<'f> {
    tree: Tree<'f>,
    module: &'f Module,
    inputs: &'f Inputs,
    by: Option<&'f RepoPath>,
    budget: Budget,
    seen: BTreeSet<Choices>,
    made: Vec<Run>,
    is_over: bool,
}

/// What one run comes to.
struct Run {
    chosen: Choices,
    found: Terraform,
    clusters: Clusters,
}

/// What a root is told beside the files that always set its variables.
#[derive(Clone, Copy)]
enum Told<'t> {
    Nothing,
    /// A file of variables, by name.
    File(&'t RepoPath),
    /// The inputs of Terragrunt, or of an object.
    Unit(&'t Unit),
}

/// Evaluates a root by itself, and once for each file that may set its inputs.
pub(super) fn root(tree: Tree<'_>, module: &Module, found: &mut Terraform) {
    let Some((first, _)) = module.blocks.first() else { return };
    // A file of the module may be a link to that of another one.
    let own = RepoPath::resolve(&module.folder, first.path.name()).filter(|own| tree.files.has(own.as_str()));
    let own = own.as_ref().unwrap_or(&first.path);
    let always = inputs::always(tree.set, &module.folder);
    let mut named = inputs::by_name(tree.files, tree.set, module);
    named.retain(|path| !tree.named.contains(path));
    let units = tree.units.iter().filter(|unit| unit.module == module.folder);
    let has_units = units.clone().next().is_some();
    let units = units.filter(|unit| !unit.is_excluded);
    let all: Vec<Told<'_>> = named.into_iter().map(Told::File).chain(units.map(Told::Unit)).collect();
    let paths: Vec<&RepoPath> = all.iter().filter_map(|told| told.path()).collect();
    let is_root = module.is_root(tree.files);
    let mut budget = Budget::of(&module.folder);
    budget.is_for_others = all.is_empty() && always.is_empty() && !is_root;
    // What Terragrunt or a controller runs is run by nobody else.
    let alone = (!has_units).then_some(Told::Nothing);
    let told = alone.into_iter().chain(all.iter().copied());
    let told = told.map(|told| (told, told.inputs(tree.files, &always, &mut found.notes)));
    let told: Vec<(Told<'_>, Inputs)> = told.collect();
    let set = told.iter().flat_map(|(_, inputs)| inputs.keys());
    let set: BTreeSet<&String> = set.filter(|name| module.requires(name)).collect();
    for (told, inputs) in &told {
        // Where a file of variables has to be named, nothing is applied without one.
        let is_idle = told.path().is_none() && !all.is_empty();
        // What one of several does not set another one may, which is named beside it.
        let is_part = || set.iter().any(|name| !inputs.contains_key(*name));
        let mut budget = budget.clone();
        budget.is_run = match told {
            Told::Nothing => !is_idle && !budget.is_for_others,
            Told::File(path) => (is_root || path.is_below(&module.folder)) && !is_part(),
            Told::Unit(_) => true,
        };
        let by = told.path();
        let (seen, made, is_over) = (BTreeSet::new(), Vec::new(), false);
        let mut runs = Runs { tree, module, inputs, by, budget, seen, made, is_over };
        runs.run(&Choices::new());
        if runs.is_over {
            found.notes.push(Note::new(&first.path, About::Bound(Bound::Environments(RUNS))));
        }
        let file = match told {
            Told::Unit(unit) => &unit.path,
            Told::Nothing | Told::File(_) => own,
        };
        let place = match told {
            Told::Unit(unit) => unit.place.clone(),
            Told::Nothing | Told::File(_) => by.map(|by| inputs::place(by, &paths)),
        };
        for run in runs.made {
            run.hand_over(*told, (file, place.as_deref(), is_idle), found);
        }
    }
}

// === impl Told ===

impl<'t> Told<'t> {
    fn unit(self) -> Option<&'t Unit> {
        match self {
            Self::Unit(unit) => Some(unit),
            Self::Nothing | Self::File(_) => None,
        }
    }

    fn path(self) -> Option<&'t RepoPath> {
        match self {
            Self::Nothing => None,
            Self::File(path) => Some(path),
            Self::Unit(unit) => Some(&unit.path),
        }
    }

    /// Reads what it sets, over what the files set that always count.
    fn inputs(self, files: &dyn Files, always: &[&RepoPath], notes: &mut Vec<Note>) -> Inputs {
        let mut inputs = Inputs::new();
        always.iter().for_each(|path| inputs::read_inputs(files, path, &mut inputs, notes));
        match self {
            Self::Nothing => {}
            Self::File(path) => inputs::read_inputs(files, path, &mut inputs, notes),
            Self::Unit(unit) => inputs.extend(unit.inputs.clone()),
        }
        inputs
    }
}

// === impl Runs ===

impl Runs<'_> {
    /// Runs the root with some texts given to it, and for each that another one may be.
    fn run(&mut self, chosen: &Choices) {
        if self.seen.contains(chosen) {
            return;
        }
        let left = self.tree.runs.get();
        if !self.seen.is_empty() && (left == 0 || self.seen.len() >= RUNS) {
            self.is_over = true;
            return;
        }
        self.seen.insert(chosen.clone());
        self.tree.runs.set(left.saturating_sub(1));
        let budget = self.budget.of_run(chosen);
        let (mut found, mut clusters) = (Terraform::default(), Clusters::new());
        for first in [true, false] {
            let mut walk = Walk::new(self.tree, budget.clone(), self.by, first);
            walk.module(self.module, self.inputs, DEPTH);
            found.take(walk.found);
            for (alias, brought) in walk.made {
                let cluster = clusters.entry(alias).or_default();
                cluster.charts.extend(brought.charts);
                cluster.objects.extend(brought.objects);
                cluster.left.extend(brought.left);
            }
            if !budget.undecided.get() {
                break;
            }
        }
        suppose(&mut found.charts);
        let offered = budget.offered.take();
        let Some((who, mut choices)) = offered.into_iter().find(|(_, choices)| !choices.is_empty()) else {
            self.made.push(Run { chosen: chosen.clone(), found, clusters });
            return;
        };
        choices.extend(budget.compared.borrow().contains(&who).then_some(Choice::Other));
        for choice in choices {
            let mut chosen = chosen.clone();
            chosen.insert(who.clone(), choice);
            self.run(&chosen);
        }
        // What lies over the bound is known to nobody here.
        if self.is_over {
            self.made.push(Run { chosen: chosen.clone(), found, clusters: Clusters::new() });
        }
    }
}

// === impl Run ===

impl Run {
    fn hand_over(
        self,
        told: Told<'_>,
        (file, place, is_idle): (&RepoPath, Option<&str>, bool),
        found: &mut Terraform,
    ) {
        let Self { chosen, found: mut own, clusters } = self;
        let unit = told.unit();
        if is_idle {
            own.charts.retain(|chart| !is_open(chart));
        }
        let mut refused = std::mem::take(&mut own.refused);
        found.take(own);
        let chosen = chosen.values().filter_map(|choice| match choice {
            Choice::Is(text) => Some(text.as_str()),
            Choice::Other => None,
        });
        let names: Vec<&str> = place.into_iter().chain(chosen).collect();
        for (alias, Brought { mut charts, objects, mut left }) in clusters {
            if is_idle {
                charts.retain(|chart| !chart.is_off);
            }
            if charts.is_empty() && objects.is_empty() || is_idle && charts.iter().any(is_open) {
                continue;
            }
            let cluster = names.iter().copied().chain(alias.as_deref()).collect::<Vec<_>>().join("-");
            let cluster = Some(cluster).filter(|cluster| !cluster.is_empty());
            if unit.is_some_and(|unit| unit.is_suspended) {
                let versions = charts.iter().filter_map(|chart| chart.version.clone()).map(Value::Scalar);
                left.extend(versions.chain(objects.iter().map(|object| object.value.clone())));
            }
            let by_object = unit.is_some_and(|unit| unit.by_object);
            // It is refused as a whole.
            let notes = std::mem::take(&mut refused);
            let (file, guards) = (file.clone(), Vec::new());
            found.applied.applies.push(Apply {
                file,
                cluster,
                by_object,
                charts,
                objects,
                left,
                guards,
                notes,
            });
        }
    }
}

fn is_open(chart: &ChartRelease) -> bool {
    chart.version.as_ref().is_some_and(|version| version.unknown_to().is_some())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::deploy::{terraform::terraform, testing::files};

    #[test]
    fn what_is_run_lies_over_no_defaults_that_say_the_same() {
        let release = "variable \"v\" {}\nresource \"helm_release\" \"a\" {\n  chart = \"linkerd-crds\"\n  version = var.v\n}\n";
        let root = format!("provider \"helm\" {{}}\nmodule \"m\" {{\n  source = \"../m\"\n}}\n{release}");
        let found =
            terraform(&files(&[("r/main.tf", root.as_str()), ("m/main.tf", release)]), &BTreeSet::new());
        assert_eq!((found.charts.len(), found.shadowed.len()), (2, 0));
    }
}

//! Terraform and OpenTofu: what the root modules of a tree have Helm and Kubernetes providers make.
//!
//! In: `*.tf` and `*.tfvars`. Out: charts of `helm_release`, and objects of the Kubernetes providers. Variables, locals,
//! arguments of modules in the tree, `for_each` and the functions that pass text on are followed; data sources, state and
//! modules from elsewhere are known to others. Nothing is run: no provider, no backend.

mod argo;
mod atlantis;
mod blocks;
mod certain;
mod csv;
mod eval;
mod functions;
mod guards;
mod helm;
mod inputs;
mod kubernetes;
mod lifecycle;
mod literal;
mod module;
mod parse;
mod paths;
mod providers;
mod runs;
mod scope;
mod template;
mod terragrunt;
mod tofu_controller;
mod types;

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use hcl_edit::{
    Span as _,
    structure::{Attribute, Block},
};
use indexmap::IndexMap;

use super::{
    apply::Applied,
    chart::ChartRelease,
    files::Files,
    note::{About, Bound, Note},
    object::Object,
    value::{Scalar, Source, Value, Via},
    watch::Watch,
};
use crate::repo::RepoPath;
use certain::of_certain;
use inputs::VariableFile;
use module::Module;
use providers::Providers;
use scope::{Budget, Element, STEPS, Scope};
use template::BYTES;
use terragrunt::Unit;

/// Runs of all roots together for environments that nobody names.
const RUNS: usize = 500;
/// Modules that one root may take in, each call counted; also what modules are given beside what is laid over their defaults.
const CALLS: usize = 500;
/// Modules in modules.
const DEPTH: usize = 16;
/// Instances of one block.
const INSTANCES: usize = 1000;

/// What the root modules of a tree come to.
#[derive(Debug, Default)]
pub struct Terraform {
    /// The charts.
    pub charts: Vec<ChartRelease>,
    /// The charts that defaults and files of variables would come to by themselves: others may be laid over them.
    pub shadowed: Vec<ChartRelease>,
    /// The objects that they would come to.
    pub shadowed_objects: Vec<Object>,
    /// The charts of blocks of which there is no instance now.
    pub off: Vec<ChartRelease>,
    /// The charts of elements that a condition leaves out, which need not be left out for being switched off.
    pub left_out: Vec<ChartRelease>,
    /// The objects.
    pub objects: Vec<Object>,
    /// The same by the clusters that roots are applied to.
    pub applied: Applied,
    /// What modules from elsewhere are given.
    pub handed: Vec<Scalar>,
    /// What of that is given to one, or to an argument, that is called after Linkerd: with the argument.
    pub named: Vec<(String, Scalar)>,
    /// What modules of the tree are given that have defaults too, by their folders, but for what is laid over these.
    calls: Vec<(String, Inputs)>,
    /// The folders of modules that somebody runs, also inside of others.
    run: BTreeSet<String>,
    /// Terragrunt's files that give inputs to modules of the tree.
    pub configured: BTreeSet<RepoPath>,
    /// What was not followed.
    pub notes: Vec<Note>,
    /// What Terraform would refuse.
    refused: Vec<Note>,
    /// The positions of charts that may be the same.
    alike: HashMap<Alike, Vec<usize>>,
    /// The same of those without instances.
    alike_off: HashMap<Alike, Vec<usize>>,
    /// The same of those that are left out.
    alike_left_out: HashMap<Alike, Vec<usize>>,
}

/// What charts have in common that may be the same: file, block, and where the version was written.
type Alike = (RepoPath, String, Option<(RepoPath, usize)>);

/// Inputs of a module.
type Inputs = IndexMap<String, Value>;

/// Modules by their folders.
type Modules = BTreeMap<String, Module>;

/// The files of a tree, and the modules among them.
#[derive(Clone, Copy)]
struct Tree<'f> {
    files: &'f dyn Files,
    modules: &'f Modules,
    units: &'f [Unit],
    /// The files of variables.
    set: &'f [VariableFile],
    /// Those that Terragrunt names for a module: of these it is known who names them.
    named: &'f HashSet<&'f RepoPath>,
    /// Runs that are left for all roots.
    runs: &'f Cell<usize>,
}

/// One root with one set of inputs.
struct Walk<'f> {
    tree: Tree<'f>,
    budget: Budget,
    calls: Cell<usize>,
    /// Which branch is taken where the tree does not decide.
    first: bool,
    /// The file that sets the inputs, where a root has several such files.
    by: Option<RepoPath>,
    /// For each name of a provider in the module that is walked over, what the root calls it.
    providers: Providers,
    found: Terraform,
    made: Clusters,
}

/// What goes to each cluster, by the alias of the provider; `None` is that of providers without one.
type Clusters = BTreeMap<Option<String>, Brought>;

/// What goes to one cluster.
#[derive(Default)]
struct Brought {
    charts: Vec<ChartRelease>,
    objects: Vec<Object>,
    /// Parts of what makes these that are left as the cluster has them.
    left: Vec<Value>,
}

/// Tells whether a file is one of Terraform's, or of OpenTofu's.
pub fn is_terraform(path: &RepoPath) -> bool {
    module::is_name(path.name())
}

/// Tells whether any module of a tree may bring charts or objects: those that have to do with other clouds need no look.
pub fn deploys(files: &dyn Files) -> bool {
    const RESOURCES: [&str; 5] =
        ["helm_release", "helm_template", "kubectl_manifest", "kubernetes_", "argocd_application"];
    let modules = files.below("").iter().map(|entry| entry.path.as_str());
    let mut texts = modules.filter(|path| module::is_name(path)).filter_map(|path| files.file(path).ok());
    texts.any(|source| RESOURCES.iter().any(|resource| source.text.contains(resource)))
}

/// Evaluates every root module: a folder with `*.tf` that no other one takes in, or that objects in `manifests` have run.
pub fn terraform(files: &dyn Files, manifests: &BTreeSet<&RepoPath>) -> Terraform {
    let watch = Watch::new(files);
    let mut found = evaluated(&watch, &tofu_controller::Objects::of(files, manifests));
    found.applied.reads = watch.into_read().into_iter().filter_map(RepoPath::new).collect();
    found
}

fn evaluated(files: &dyn Files, objects: &tofu_controller::Objects) -> Terraform {
    let folders: BTreeSet<&str> = files
        .below("")
        .iter()
        .filter(|entry| is_terraform(&entry.path) && files.has(entry.path.as_str()))
        .map(|entry| entry.path.folder())
        .collect();
    let mut found = Terraform::default();
    let projects = atlantis::projects(files);
    let mut load = |folder: &str| Module::load(files, folder, &projects, &mut found.notes);
    let modules: Modules = folders.iter().map(|folder| ((*folder).to_owned(), load(folder))).collect();
    let set = inputs::variable_files(files, &modules);
    let mut units = terragrunt::units(files, &set, &mut found.notes);
    units.extend(objects.units(files, &mut found.notes));
    let runs = Cell::new(RUNS);
    let named = units.iter().flat_map(|unit| &unit.named).collect();
    let tree = Tree { files, modules: &modules, units: &units, set: &set, named: &named, runs: &runs };
    let taken: BTreeSet<String> = modules.values().flat_map(Module::local_calls).collect();
    let is_run = |own: &Module| own.is_project || units.iter().any(|unit| unit.module == own.folder);
    for module in modules.values().filter(|m| !taken.contains(&m.folder) || is_run(m)) {
        runs::root(tree, module, &mut found);
    }
    found.configured = units.iter().flat_map(|unit| unit.reads.iter().cloned()).collect();
    let calls = std::mem::take(&mut found.calls);
    modules.values().for_each(|module| shadowed(tree, module, &calls, &mut found));
    found
}

/// Evaluates a module by its defaults alone, with each file alone that always sets its variables, with what is left out of what
/// Terragrunt applies, and with what those give who take it in and no default stands for.
fn shadowed(tree: Tree<'_>, module: &Module, calls: &[(String, Inputs)], found: &mut Terraform) {
    let of_file = |path: &RepoPath| {
        let mut inputs = Inputs::new();
        inputs::read_inputs(tree.files, path, &mut inputs, &mut Vec::new());
        inputs
    };
    let always = inputs::always(tree.set, &module.folder).into_iter().map(of_file);
    let excluded = tree.units.iter().filter(|unit| unit.is_excluded && unit.module == module.folder);
    let excluded = excluded.map(|unit| unit.inputs.clone());
    let given = calls.iter().filter(|(folder, _)| *folder == module.folder).map(|(_, given)| given.clone());
    for inputs in [Inputs::new()].into_iter().chain(always).chain(excluded).chain(given) {
        let mut budget = Budget::of(&module.folder);
        // Of those that are run it has to be the same where it says the same.
        budget.is_run = found.run.contains(&module.folder);
        let mut walk = Walk::new(tree, budget, None, true);
        walk.module(module, &inputs, DEPTH);
        let is_new = |chart: &ChartRelease| !found.has(chart) && !found.shadowed.contains(chart);
        let new: Vec<ChartRelease> = walk.found.charts.into_iter().filter(is_new).collect();
        found.shadowed.extend(new);
        for object in walk.found.objects {
            if !found.objects.contains(&object) && !found.shadowed_objects.contains(&object) {
                found.shadowed_objects.push(object);
            }
        }
    }
}

// === impl Terraform ===

impl Terraform {
    /// Tells whether a chart is among those that were found.
    fn has(&self, chart: &ChartRelease) -> bool {
        let alike = self.alike.get(&alike(chart));
        alike.is_some_and(|alike| alike.iter().any(|n| self.charts.get(*n) == Some(chart)))
    }

    /// Takes in what another walk found, what both found once.
    fn take(&mut self, other: Self) {
        other.charts.into_iter().for_each(|chart| once(chart, &mut self.charts, &mut self.alike));
        other.off.into_iter().for_each(|chart| once(chart, &mut self.off, &mut self.alike_off));
        let left_out = other.left_out.into_iter();
        left_out.for_each(|chart| once(chart, &mut self.left_out, &mut self.alike_left_out));
        for object in other.objects {
            if !self.objects.contains(&object) {
                self.objects.push(object);
            }
        }
        self.handed.extend(other.handed);
        self.named.extend(other.named);
        self.run.extend(other.run);
        let calls = other.calls.into_iter().take(CALLS.saturating_sub(self.calls.len()));
        let new: Vec<_> = calls.filter(|call| !self.calls.contains(call)).collect();
        self.calls.extend(new);
        for (notes, own) in [(other.notes, &mut self.notes), (other.refused, &mut self.refused)] {
            for note in notes {
                if !own.contains(&note) {
                    own.push(note);
                }
            }
        }
    }
}

// === impl Walk ===

impl<'f> Walk<'f> {
    fn new(tree: Tree<'f>, budget: Budget, by: Option<&RepoPath>, first: bool) -> Self {
        let calls = Cell::new(CALLS);
        let (providers, found, made) = (Providers::default(), Terraform::default(), Clusters::new());
        Self { tree, budget, calls, first, by: by.cloned(), providers, found, made }
    }

    fn module(&mut self, module: &Module, inputs: &Inputs, depth: usize) {
        let inputs = (inputs, self.budget.frame());
        let tree = (self.tree.files, self.tree.modules);
        self.found.run.extend(self.budget.is_run.then(|| module.folder.clone()));
        self.found.refused.extend(guards::refused(tree, module, inputs, &self.budget));
        for (source, block) in &module.blocks {
            let name = |n: usize| block.labels.get(n).map(|label| label.as_str()).unwrap_or_default();
            match (block.ident.as_str(), name(0)) {
                ("resource", "helm_release") | ("data", "helm_template") => {
                    self.instances(module, inputs, source, block, &mut |walk, scope| {
                        let alias = walk.providers.alias(block);
                        let release = helm::release(scope, block, alias.as_deref(), walk.by.as_ref());
                        let cluster = walk.made.entry(alias).or_default();
                        cluster.charts.extend(release.clone());
                        cluster.left.extend(lifecycle::left(scope, block));
                        walk.found.charts.extend(release);
                    });
                }
                ("resource", kind) if kubernetes::is_known(kind) => {
                    self.instances(module, inputs, source, block, &mut |walk, scope| {
                        let objects = kubernetes::objects(scope, kind, block, walk.by.as_ref());
                        let cluster = walk.made.entry(walk.providers.alias(block)).or_default();
                        cluster.objects.extend(objects.iter().cloned());
                        cluster.left.extend(lifecycle::left(scope, block));
                        walk.found.objects.extend(objects);
                    });
                }
                ("module", _) => self.call(module, inputs, source, block, depth),
                _ => {}
            }
        }
    }

    /// Evaluates a block once for each of its instances.
    fn instances(
        &mut self,
        module: &Module,
        (inputs, frame): (&Inputs, usize),
        source: &Arc<Source>,
        block: &Block,
        each: &mut dyn FnMut(&mut Self, &Scope<'_>),
    ) {
        let tree = (self.tree.files, self.tree.modules);
        let budget = self.budget.clone();
        let scope = Scope::new(tree, module, (inputs, frame), source, &budget, self.first);
        let all = instances(&scope, block);
        if all.len() > INSTANCES {
            self.found.notes.push(Note::new(&source.path, About::Bound(Bound::Elements(INSTANCES))));
        }
        all.iter().take(INSTANCES).for_each(|scope| each(self, scope));
        if all.is_empty() {
            let none = Element::unknown("a block without instances");
            let (off, made) = self.apart(&mut |walk| each(walk, &scope.of_element("each", none.clone())));
            self.found.off.extend(off.charts.into_iter().chain(off.off));
            self.found.left_out.extend(off.left_out);
            for (alias, brought) in made {
                let charts = brought.charts.into_iter().map(|chart| ChartRelease { is_off: true, ..chart });
                self.made.entry(alias).or_default().charts.extend(charts);
            }
        }
        // What a condition leaves out of a list need not be among what this block reads.
        if budget.leaves_out.get() {
            let whole = instances(&scope.whole(), block);
            // A number says nothing of what it counts, but there are more of it.
            let is_counted = block.body.get_attribute("count").is_some();
            let is_there = |left: &Scope<'_>| match is_counted {
                true => whole.len() <= all.len(),
                false => all.iter().any(|own| own.bound_values().eq(left.bound_values())),
            };
            for scope in whole.iter().take(INSTANCES).filter(|scope| !is_there(scope)) {
                let (left, _) = self.apart(&mut |walk| each(walk, scope));
                self.found.left_out.extend(left.charts.into_iter().chain(left.off).chain(left.left_out));
            }
        }
        self.note_spent(source);
    }

    /// Returns what a block would bring that is switched off, or an element that is left out, and what would go to each cluster.
    fn apart(&mut self, evaluate: &mut dyn FnMut(&mut Self)) -> (Terraform, Clusters) {
        let (found, made) = (std::mem::take(&mut self.found), std::mem::take(&mut self.made));
        evaluate(self);
        (std::mem::replace(&mut self.found, found), std::mem::replace(&mut self.made, made))
    }

    fn note_spent(&mut self, source: &Source) {
        let mut over = |bound| self.found.notes.push(Note::new(&source.path, About::Bound(bound)));
        if self.budget.is_spent() {
            over(Bound::Steps(STEPS));
        }
        if self.budget.is_long.get() {
            over(Bound::Bytes(BYTES));
        }
    }

    /// Keeps what a module from elsewhere is given that is told of Linkerd.
    fn remote(&mut self, module: &Module, inputs: (&Inputs, usize), source: &Arc<Source>, block: &Block) {
        self.instances(module, inputs, source, block, &mut |walk, scope| {
            let written = block.span().and_then(|span| source.text.get(span));
            if written.is_none_or(|text| !text.contains("inkerd")) {
                return;
            }
            let given = scope.body(&block.body);
            walk.found.handed.extend(given.scalars().into_iter().cloned());
            let is_named =
                |of: &Attribute| of.span().and_then(|span| source.text.get(span)).is_some_and(names_linkerd);
            let is_linkerds = block.labels.iter().any(|label| names_linkerd(label.as_str()))
                || block.body.get_attribute("source").is_some_and(is_named);
            let arguments = block.body.attributes().filter(|a| !module::is_meta(a.key.as_str()));
            for key in arguments.filter(|a| is_linkerds || is_named(a)).map(|a| a.key.as_str()) {
                let scalars = given.get(key).into_iter().flat_map(Value::scalars);
                walk.found.named.extend(scalars.map(|scalar| (key.to_owned(), scalar.clone())));
            }
        });
    }

    /// Evaluates a module that lies in the tree.
    fn call(
        &mut self,
        module: &Module,
        inputs: (&Inputs, usize),
        source: &Arc<Source>,
        block: &Block,
        depth: usize,
    ) {
        let called = module.called(block).and_then(|folder| self.tree.modules.get(&folder));
        let Some(child) = called else { return self.remote(module, inputs, source, block) };
        let left = self.calls.get();
        if depth == 0 || left == 0 {
            let bound = if depth == 0 { Bound::Depth(DEPTH) } else { Bound::Objects(CALLS) };
            self.found.notes.push(Note::new(&source.path, About::Bound(bound)));
            return;
        }
        self.calls.set(left - 1);
        self.instances(module, inputs, source, block, &mut |walk, scope| {
            let given = block.body.attributes().filter(|a| !module::is_meta(a.key.as_str()));
            let value =
                |a: &Attribute| scope.named(scope.eval(&a.value)).unwrap_or_else(|| scope.unknown(&a.value));
            let certain = scope.certainly();
            let both = |a: &Attribute| {
                let name = a.key.as_str();
                let of_it = certain.named(certain.eval(&a.value));
                let of_it = of_it.map(|value| (of_certain(name), value));
                [Some((name.to_owned(), value(a))), of_it]
            };
            let given: Inputs = given.flat_map(both).flatten().collect();
            let bare = without_defaults(child, &given).map(|bare| (child.folder.clone(), bare));
            let known = &mut walk.found.calls;
            if let Some(call) = bare.filter(|call| known.len() < CALLS && !known.contains(call)) {
                known.push(call);
            }
            let inner = walk.providers.inside(block);
            let outer = std::mem::replace(&mut walk.providers, inner);
            walk.module(child, &given, depth - 1);
            walk.providers = outer;
        });
    }
}

/// Tells whether code names Linkerd, in more than comments and what Linkerd reads of somebody's own objects.
fn names_linkerd(code: &str) -> bool {
    let is_comment = |line: &str| ["#", "//"].iter().any(|sign| line.trim_start().starts_with(sign));
    let mut lines = code.lines().filter(|line| !is_comment(line));
    lines.any(|line| line.replace("linkerd.io", "").contains("inkerd"))
}

/// Takes out of what a module is given what is laid over its defaults; `None` where nothing is.
fn without_defaults(module: &Module, given: &Inputs) -> Option<Inputs> {
    let has_default =
        |name: &&String| module.variables.get(*name).is_some_and(|variable| variable.default.is_some());
    let laid_over: HashSet<String> =
        given.keys().filter(has_default).flat_map(|name| [name.clone(), of_certain(name)]).collect();
    let bare = given.iter().filter(|(name, _)| !laid_over.contains(*name));
    (!laid_over.is_empty()).then(|| bare.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Returns a scope for each instance of a block, and one more where there are too many.
fn instances<'s>(scope: &Scope<'s>, block: &Block) -> Vec<Scope<'s>> {
    let argument = |key| block.body.get_attribute(key).map(|argument| &argument.value);
    match (argument("for_each"), argument("count").and_then(|count| scope.counted(count))) {
        (Some(of), _) => {
            let all = scope.instances_of(of).into_iter().take(INSTANCES + 1);
            all.map(|element| scope.of_element("each", element)).collect()
        }
        (None, Some(count)) => {
            let all = 0..usize::try_from(count).unwrap_or_default().min(INSTANCES + 1);
            let index = |n: usize| Value::map([("index", Value::made(&n.to_string()))]);
            all.map(|n| scope.binding("count", index(n))).collect()
        }
        (None, None) => vec![scope.clone()],
    }
}

/// Adds a chart to others, unless it is among them.
fn once(chart: ChartRelease, all: &mut Vec<ChartRelease>, positions: &mut HashMap<Alike, Vec<usize>>) {
    let positions = positions.entry(alike(&chart)).or_default();
    if !positions.iter().any(|n| all.get(*n) == Some(&chart)) {
        positions.push(all.len());
        all.push(chart);
    }
}

fn alike(chart: &ChartRelease) -> Alike {
    let place = chart.version.as_ref().and_then(|version| version.origins().next());
    let place = place.map(|at| (at.source.path.clone(), at.span.start));
    (chart.file.clone(), chart.part.clone(), place)
}

/// Notes that the texts of a value have a name of their own.
fn named(value: Value) -> Value {
    value.with_scalars(&mut |s: &Scalar| Some(s.via(Via::Variable))).unwrap_or(value)
}

#[cfg(test)]
mod tests;

//! Where an expression stands: what its names mean, and what its evaluation may use.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
    sync::Arc,
};

use super::{Inputs, Modules, module::Module};
use crate::{
    deploy::{
        files::Files,
        value::{Part, Scalar, Source, Value, Via},
    },
    repo::RepoPath,
};

/// Expressions of one root, and texts that they hand on; a few thousand are usual.
pub(super) const STEPS: usize = 500_000;
/// Configurations of Terragrunt's that are read out of one another.
pub(super) const NESTED: usize = 8;
/// Locals in locals, expressions in expressions.
const DEPTH: usize = 100;

/// What one root may use, and what came of it.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    /// The root's folder.
    pub root: Rc<str>,
    /// Whether the root is for others, who may set what it has by default.
    pub is_for_others: bool,
    /// Whether somebody runs the root with what it is given here: whatever the tree does not say is asked for then.
    pub is_run: bool,
    steps: Rc<Cell<usize>>,
    /// Whether a condition was met that the tree does not decide.
    pub undecided: Rc<Cell<bool>>,
    /// Who makes something of known texts that is not followed.
    pub unfollowed: Rc<RefCell<BTreeSet<String>>>,
    /// Whether a text grew over its bound.
    pub is_long: Rc<Cell<bool>>,
    /// Whether a condition left out an element.
    pub leaves_out: Rc<Cell<bool>>,
    /// What is taken for texts that the tree does not say.
    pub chosen: Rc<Choices>,
    /// What others may be, by files and keys that are there.
    pub offered: Rc<RefCell<BTreeMap<String, BTreeSet<Choice>>>>,
    /// Which of them a condition looks for in a list.
    pub compared: Rc<RefCell<BTreeSet<String>>>,
    /// What Terragrunt's files were read as; `None` while one is read, and of one that cannot be.
    pub configs: Rc<RefCell<BTreeMap<RepoPath, Option<Value>>>>,
    /// What files were read as, whatever they are read for.
    pub parsed: Rc<RefCell<HashMap<RepoPath, Option<Value>>>>,
    known: Rc<RefCell<HashMap<Name, Option<Value>>>>,
    frames: Rc<Cell<usize>>,
}

/// A local or a variable of one evaluation of a module, with all that its value depends on.
type Name = (usize, bool, bool, bool, bool, String);

/// What a text is taken for that the tree does not say, by the name of who knows it.
pub(super) type Choices = BTreeMap<String, Choice>;

/// What a text may be that the tree does not say, as the name of an environment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Choice {
    /// A text that a file or a key of the tree has.
    Is(String),
    /// Any other.
    Other,
}

/// A name that a block or an expression gives a meaning.
#[derive(Clone)]
pub(super) struct Binding {
    pub name: String,
    pub value: Value,
    /// What is certain of the value.
    pub certain: Value,
}

/// An element of what is gone through.
#[derive(Clone)]
pub(super) struct Element {
    pub key: Scalar,
    pub value: Value,
    /// What is certain of the value.
    pub certain: Value,
}

/// Where an expression stands and what its names mean.
#[derive(Clone)]
pub(super) struct Scope<'s> {
    pub files: &'s dyn Files,
    pub source: Arc<Source>,
    pub modules: &'s Modules,
    pub module: &'s Module,
    pub inputs: &'s Inputs,
    /// Which evaluation of the module it is.
    pub frame: usize,
    pub budget: &'s Budget,
    /// Which branch is taken where the tree does not decide.
    pub first: bool,
    /// `each`, and the variables of `for` and `dynamic`; the last of a name counts.
    pub bindings: Vec<Binding>,
    pub depth: usize,
    /// How many more of Terragrunt's files may be read one out of the other.
    pub nested: usize,
    /// Whether it is asked for what may be that the tree does not say.
    pub asks: bool,
    /// Whether it is the condition under which an element is kept.
    pub selects: bool,
    /// Whether elements count too that a condition leaves out.
    pub is_whole: bool,
    /// Whether a key that a map does not have is no fault, but something else then counts.
    pub forgives: bool,
    /// Whether nothing counts but what the tree says for certain.
    pub is_certain: bool,
    /// By which way texts come from the source.
    pub via: Option<Via>,
    /// How much is taken off the lines of the heredoc at hand.
    pub indentation: usize,
}

// === impl Budget ===

impl Budget {
    pub fn of(root: &str) -> Self {
        let (undecided, chosen, offered, compared) = Default::default();
        let (is_long, leaves_out, unfollowed, configs, parsed, known, frames) = Default::default();
        let (root, steps) = (root.into(), Rc::new(Cell::new(STEPS)));
        Self {
            root,
            is_for_others: false,
            is_run: false,
            steps,
            undecided,
            is_long,
            leaves_out,
            unfollowed,
            chosen,
            offered,
            compared,
            configs,
            parsed,
            known,
            frames,
        }
    }

    /// The same for one run, with texts that it is given.
    pub fn of_run(&self, chosen: &Choices) -> Self {
        let (undecided, is_long, leaves_out, unfollowed, offered, compared, known) = Default::default();
        Self {
            undecided,
            is_long,
            leaves_out,
            unfollowed,
            offered,
            compared,
            known,
            chosen: Rc::new(chosen.clone()),
            ..self.clone()
        }
    }

    /// Notes what the text may be that somebody else knows.
    pub fn offer(&self, who: &str, choices: impl Iterator<Item = Choice>) {
        if !self.chosen.contains_key(who) {
            self.offered.borrow_mut().entry(who.to_owned()).or_default().extend(choices);
        }
    }

    /// Returns the number of a new evaluation of a module.
    pub fn frame(&self) -> usize {
        self.frames.set(self.frames.get() + 1);
        self.frames.get()
    }

    /// Takes steps; `None` where there are not as many left, of which none are left then.
    pub fn take(&self, steps: usize) -> Option<()> {
        let left = self.steps.get().checked_sub(steps);
        self.steps.set(left.unwrap_or_default());
        left.map(|_| ())
    }

    pub fn is_spent(&self) -> bool {
        self.steps.get() == 0
    }
}

// === impl Binding ===

impl Binding {
    /// A name whose value is certain.
    pub fn sure(name: &str, value: Value) -> Self {
        Self { name: name.to_owned(), certain: value.clone(), value }
    }
}

// === impl Element ===

impl Element {
    /// An element of which nothing is known.
    pub fn unknown(who: &str) -> Self {
        Self::sure((Scalar::unknown(who), Value::Scalar(Scalar::unknown(who))))
    }

    /// An element whose value is certain.
    pub fn sure((key, value): (Scalar, Value)) -> Self {
        Self { key, certain: value.clone(), value }
    }
}

// === impl Scope ===

impl<'s> Scope<'s> {
    /// The scope of a file of a module.
    pub fn new(
        (files, modules): (&'s dyn Files, &'s Modules),
        module: &'s Module,
        (inputs, frame): (&'s Inputs, usize),
        source: &Arc<Source>,
        budget: &'s Budget,
        first: bool,
    ) -> Self {
        let (source, bindings) = (source.clone(), Vec::new());
        let (depth, nested, asks, is_whole, forgives) = (DEPTH, NESTED, true, false, false);
        let (selects, is_certain, via, indentation) = (false, false, None, 0);
        Self {
            files,
            source,
            modules,
            module,
            inputs,
            frame,
            budget,
            first,
            bindings,
            depth,
            nested,
            asks,
            selects,
            is_whole,
            forgives,
            is_certain,
            via,
            indentation,
        }
    }

    /// The scope of one instance of a block, in which its element has a name.
    pub fn of_element(&self, name: &str, Element { key, value, certain }: Element) -> Self {
        let each = |value: Value| Value::map([("key", Value::Scalar(key.clone())), ("value", value)]);
        self.binding_of(name, each(value), each(certain))
    }

    /// The scope in which elements count too that a condition leaves out. Nobody is asked what these may be.
    pub fn whole(&self) -> Self {
        Self { is_whole: true, asks: false, ..self.clone() }
    }

    /// Returns the value of a name of the module, evaluated once; of one that reads itself nothing is known.
    pub fn once(&self, name: String, evaluate: impl FnOnce() -> Option<Value>) -> Option<Value> {
        let key = (self.frame, self.first, self.asks, self.is_whole, self.is_certain, name);
        if let Some(known) = self.budget.known.borrow().get(&key) {
            return known.clone();
        }
        self.budget.known.borrow_mut().insert(key.clone(), None);
        let value = evaluate();
        self.budget.known.borrow_mut().insert(key, value.clone());
        value
    }

    /// Notes what the text may be that somebody else knows.
    pub fn offer(&self, who: &str, choices: impl Iterator<Item = Choice>) {
        if self.asks {
            self.budget.offer(who, choices);
        }
    }

    /// Notes that a condition looks for such a text in a list.
    pub fn compare(&self, who: &str) {
        if self.asks {
            self.budget.compared.borrow_mut().insert(who.to_owned());
        }
    }

    /// Finds a file. `path.module` is the folder's path from the root of the tree; without it a path is the caller's own.
    pub fn resolved(&self, text: &str) -> Option<RepoPath> {
        let path = RepoPath::resolve("", text).filter(|path| self.files.has(path.as_str()));
        path.or_else(|| RepoPath::resolve(&self.module.folder, text))
    }

    pub fn binding(&self, name: &str, value: Value) -> Self {
        self.with(Binding::sure(name, value))
    }

    /// Gives a name a value of which not all is certain.
    pub fn binding_of(&self, name: &str, value: Value, certain: Value) -> Self {
        self.with(Binding { name: name.to_owned(), value, certain })
    }

    fn with(&self, binding: Binding) -> Self {
        let mut scope = self.clone();
        scope.bindings.push(binding);
        scope
    }

    /// Lists what names are given.
    pub fn bound_values(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.bindings.iter().map(|binding| (binding.name.as_str(), &binding.value))
    }
}

/// Returns what a mapping has under a key, or a list at an index.
pub(super) fn member(value: &Value, key: &str) -> Option<Value> {
    match value {
        Value::Map(map) => map.get(key).cloned(),
        Value::List(items) => items.get(key.parse::<usize>().ok()?).cloned(),
        // A part of what is not known is not known either, by the same.
        Value::Scalar(unknown) => unknown.unknown_to().map(|_| value.clone()),
    }
}

/// Says who knows a text, where one does that knows all of it.
pub(super) fn open(value: &Value) -> Option<&str> {
    match value.as_scalar()?.parts() {
        [Part::Unknown(unknown)] => Some(&unknown.who),
        _ => None,
    }
}

/// Returns a boolean that is known.
pub(super) fn truth(value: &Value) -> Option<bool> {
    match &*value.as_scalar()?.text() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Returns a whole number that is known.
pub(super) fn number(value: &Value) -> Option<i64> {
    value.as_scalar()?.known()?.parse().ok()
}

/// Makes a number.
pub(super) fn made(number: i64) -> Value {
    Value::Scalar(Scalar::made(&number.to_string()).as_plain())
}

pub(super) fn boolean(truth: bool) -> Value {
    Value::Scalar(Scalar::made(if truth { "true" } else { "false" }).as_plain())
}

/// The path of a folder from the top of the tree.
pub(super) fn rooted(folder: &str) -> String {
    if folder.is_empty() { ".".to_owned() } else { folder.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::deploy::{terraform::terraform, testing::files};

    #[test]
    fn locals_that_are_read_through_too_many_others_are_not_known() {
        let known = |length: usize| {
            let chain: String = (1..=length).map(|n| format!("  a{n} = local.a{}\n", n - 1)).collect();
            let main = format!(
                "locals {{\n  a0 = \"2026.8.2\"\n{chain}}}\nresource \"helm_release\" \"a\" {{\n  chart = \"linkerd-crds\"\n  \
                 version = local.a{length}\n}}\n"
            );
            let found = terraform(&files(&[("main.tf", &main)]), &BTreeSet::new());
            found.charts[0].version.as_ref().unwrap().known().is_some()
        };
        assert_eq!([40, 20_000].map(known), [true, false]);
    }
}

//! Go templates in their plain forms, evaluated so that each piece of the output knows where it was written.
//!
//! In: a text with actions, and what it may read. Out: the text filled. Followed are fields, variables, quoted texts,
//! pipelines, `if`, `with`, `range`, and the functions of `functions.rs`; what is beyond is a part that is not known, and
//! named. A condition that the tree does not decide has several outcomes, each of which can be asked for.
//! As Go's `text/template` and sprig define them.

mod actions;
mod eval;
mod functions;
mod lex;
mod outcomes;
mod parse;
mod print;
#[cfg(test)]
mod tests;
mod texts;

use std::{collections::HashMap, sync::Arc};

use super::{
    note::{About, Bound},
    value::{Scalar, Unknown, Value},
};

pub use actions::{Action, BRACES, actions};
pub(super) use outcomes::undecided;
pub use print::{printed, unfollowed};
pub(super) use texts::{json, normalized};

/// Outcomes of one template's conditions that are looked at.
pub const BRANCHES: usize = 8;
/// Steps that one evaluation may take.
const STEPS: usize = 100_000;
/// Bytes that one text may grow to.
pub(super) const BYTES: usize = 4 << 20;
/// Named templates that may call each other at a time.
const CALLS: usize = 32;
/// What a step costs beside a byte.
const STEP_COST: usize = 32;
/// What all texts of one object may cost.
const COST: usize = 64 << 20;

/// A text that is no template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The author's: an action, a block, a quote or a parenthesis without its end.
    #[error("an action, a block, a quote or a parenthesis has no end")]
    Unclosed,
    /// The author's: something that does not belong there.
    #[error("an action has something that does not belong there")]
    Unexpected,
    /// The author's: deeper than is followed.
    #[error("its blocks nest too deep")]
    Deep,
}

/// Why nothing comes of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The deployer refuses it, with these words.
    Refused(String),
    /// The same, since something that it asks for is not there.
    Missing(String),
    /// It is more than is followed.
    Bound(Bound),
}

/// The functions that one deployer adds to Go's and sprig's.
pub trait Functions: std::fmt::Debug {
    /// Calls a function; `None` where it is none of the deployer's own, or not followed.
    fn call(&self, name: &str, arguments: &[Value]) -> Option<Value>;

    /// Says who knows the keys that a mapping does not have, wherever it is.
    fn who_knows_more(&self) -> &str;
}

/// What a template can read.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The dot.
    pub dot: &'a Value,
    /// What the function `inputs` gives.
    pub inputs: Option<&'a Value>,
    /// What the deployer adds.
    pub own: Option<&'a dyn Functions>,
    /// Who knows the keys that the outermost mapping does not have; `None` where it has all.
    pub open: Option<&'a Unknown>,
    /// What `include` and `template` call by name, where there is such a thing.
    pub named: Option<&'a Named>,
    /// Whether a key that is not there is an error (`missingkey=error`).
    pub strict: bool,
    /// Which outcome of conditions that the tree does not decide is wanted, from 0.
    pub outcome: usize,
}

/// What comes of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filled {
    /// The text.
    pub text: Scalar,
    /// How many outcomes there are.
    pub outcomes: usize,
    /// The work that it was, in bytes read, written and walked over.
    pub cost: usize,
    /// What was not followed.
    pub notes: Vec<About>,
}

/// What may still be spent on one object's templates, each of which may be filled for thousands of elements.
#[derive(Debug)]
pub struct Budget(usize);

/// Templates by the names that `define` gives them, of all files of a chart.
#[derive(Debug, Default)]
pub struct Named(HashMap<String, Definition>);

/// One of them: the file that it stands in, and its way in there.
#[derive(Debug)]
struct Definition {
    text: Scalar,
    whole: Arc<str>,
    nodes: Arc<Vec<parse::Node>>,
    at: usize,
}

/// Templates taken apart, each once.
pub struct Templates {
    delimiters: (&'static str, &'static str),
    kept: HashMap<Box<str>, Result<Arc<Vec<parse::Node>>, TemplateError>>,
}

// === impl Stop ===

impl From<Stop> for About {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Refused(why) | Stop::Missing(why) => Self::Refused(why),
            Stop::Bound(bound) => Self::Bound(bound),
        }
    }
}

// === impl Budget ===

impl Default for Budget {
    fn default() -> Self {
        Self(COST)
    }
}

impl Budget {
    /// Spends something.
    ///
    /// # Errors
    /// Where that is more than there is left.
    pub fn spend(&mut self, cost: usize) -> Result<(), Stop> {
        let left = self.0.checked_sub(cost);
        self.0 = left.unwrap_or_default();
        left.map(|_| ()).ok_or(Stop::Bound(Bound::Bytes(COST)))
    }
}

// === impl Named ===

impl Named {
    /// Adds what a file defines; of two of one name the later one counts.
    ///
    /// # Errors
    /// Where the file is no template.
    pub fn add(&mut self, text: &Scalar) -> Result<(), TemplateError> {
        let whole: Arc<str> = text.text().into();
        let nodes = Arc::new(parse::parse(&whole, ("{{", "}}"))?);
        for (at, node) in nodes.iter().enumerate() {
            let parse::Node::Define { name, .. } = node else { continue };
            let (text, whole, nodes) = (text.clone(), whole.clone(), nodes.clone());
            self.0.insert(name.clone(), Definition { text, whole, nodes, at });
        }
        Ok(())
    }

    fn get(&self, name: &str) -> Option<&Definition> {
        self.0.get(name)
    }
}

impl Definition {
    fn body(&self) -> &[parse::Node] {
        match self.nodes.get(self.at) {
            Some(parse::Node::Define { body, .. }) => body,
            _ => &[],
        }
    }
}

// === impl Templates ===

impl Templates {
    /// Templates with these delimiters.
    pub fn new(open: &'static str, close: &'static str) -> Self {
        Self { delimiters: (open, close), kept: HashMap::new() }
    }

    /// Tells whether a text has an action.
    pub fn is_template(&self, text: &str) -> bool {
        text.contains(self.delimiters.0)
    }

    /// Evaluates a text.
    ///
    /// # Errors
    /// Where the deployer would refuse it, or it is more than is followed.
    pub fn fill(&mut self, text: &Scalar, scope: Scope<'_>) -> Result<Filled, Stop> {
        let whole = text.text();
        if !self.is_template(&whole) {
            return Ok(Filled { text: text.clone(), outcomes: 1, cost: whole.len(), notes: Vec::new() });
        }
        let nodes = match self.kept.get(&*whole) {
            Some(kept) => kept.clone(),
            None => {
                let parsed = parse::parse(&whole, self.delimiters).map(Arc::new);
                self.kept.insert((&*whole).into(), parsed.clone());
                parsed
            }
        };
        let nodes = nodes.map_err(|error| Stop::Refused(error.to_string()))?;
        eval::run(&nodes, text, &whole, scope)
    }
}

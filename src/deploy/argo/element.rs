//! The parameters that a generator gives for one application.

use crate::{
    deploy::{
        go_template::printed,
        object::Labels,
        typed::{Typed, typed},
        value::{Scalar, Unknown, Value, Via},
    },
    repo::RepoPath,
};

/// Parameters nest no deeper than this when they are laid flat.
const DEPTH: usize = 64;

/// One set of parameters.
#[derive(Clone, Debug)]
pub(super) struct Element {
    /// The parameters: nested for Go templates, `a.b` by `a.b` for the others.
    pub parameters: Value,
    /// Who knows more parameters; `None` where these are all.
    pub open: Option<Unknown>,
    /// The file that it stands in, where that is not the ApplicationSet's own.
    pub file: Option<RepoPath>,
    /// The labels by which its cluster was chosen.
    pub chosen_by: Labels,
}

// === impl Element ===

impl Element {
    /// Parameters that the tree has.
    pub fn known(parameters: Value) -> Self {
        Self { parameters, open: None, file: None, chosen_by: Labels::new() }
    }

    /// Parameters that somebody else has.
    pub fn unknown(who: &str) -> Self {
        Self { open: Some(who.into()), ..Self::known(Value::empty()) }
    }

    /// The same where that one makes them of what the tree says.
    pub fn unknown_of(who: &str, told: &Value) -> Self {
        Self { open: Some(Unknown::of(who, told.scalars())), ..Self::known(Value::empty()) }
    }

    /// Puts together what two generators give, with these parameters.
    pub fn with(&self, other: &Self, parameters: Value) -> Self {
        Self {
            parameters,
            open: self.open.clone().or_else(|| other.open.clone()),
            file: self.file.clone().or_else(|| other.file.clone()),
            chosen_by: self.chosen_by.union(&other.chosen_by).cloned().collect(),
        }
    }
}

/// Notes that texts are those of a generator's element.
pub(super) fn of_generator(value: &Value) -> Value {
    value.with_scalars(&mut |s| Some(s.via(Via::Generator))).unwrap_or_else(|| value.clone())
}

/// Lays parameters flat, each printed: `a.b`, `list.0` (jeremywohl/flatten, dot style).
pub(super) fn flat(value: &Value) -> Value {
    let mut out = Value::empty();
    lay_flat(value, "", DEPTH, &mut out);
    out
}

fn lay_flat(value: &Value, prefix: &str, depth: usize, out: &mut Value) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let join = |key: &str| if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
    match value {
        Value::Scalar(scalar) => out.insert(prefix, Value::Scalar(shown(scalar))),
        Value::List(items) => {
            items.iter().enumerate().for_each(|(n, item)| lay_flat(item, &join(&n.to_string()), depth, out));
        }
        Value::Map(map) => map.iter().for_each(|(key, value)| lay_flat(value, &join(key), depth, out)),
    }
}

/// Prints a scalar as Go's `%v` does.
pub(super) fn shown(scalar: &Scalar) -> Scalar {
    match typed(scalar) {
        Typed::Null => Scalar::made("<nil>"),
        _ => printed(&Value::Scalar(scalar.clone())),
    }
}

/// Merges mappings as `mergo.Merge` with `WithOverride` does: what is empty overrides nothing.
pub(super) fn overridden(base: &Value, over: &Value) -> Value {
    let mut out = base.clone();
    for (key, value) in over.entries() {
        let value = match (out.entry(key), value) {
            (Some(there @ Value::Map(_)), Value::Map(_)) => overridden(there, value),
            (Some(_), value) if is_empty(value) => continue,
            (_, value) => value.clone(),
        };
        out.insert(key, value);
    }
    out
}

/// Fills what is empty or not there, as `mergo.Merge` does without options.
pub(super) fn completed(own: &Value, base: &Value) -> Value {
    let mut out = own.clone();
    for (key, value) in base.entries() {
        let value = match (out.entry(key), value) {
            // Its text is one value to the merge.
            (Some(there), _) if key == "valuesObject" && !is_empty(there) => continue,
            (Some(there @ Value::Map(_)), Value::Map(_)) => completed(there, value),
            (Some(there), _) if !is_empty(there) => continue,
            (_, value) => value.clone(),
        };
        out.insert(key, value);
    }
    out
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Map(map) => map.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Scalar(scalar) => match typed(scalar) {
            Typed::Null => true,
            Typed::Bool(is) => !is,
            Typed::Int(number) => number == 0,
            Typed::Float(number) => number == 0.0,
            Typed::Text(text) => text.is_empty(),
        },
    }
}

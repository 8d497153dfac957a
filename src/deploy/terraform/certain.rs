//! What is certain of a value of which the tree says only a part.
//!
//! A version stands where a default does, and is read there: `merge({ version = "2026.8.2" }, var.linkerd)`. What a condition
//! makes of a default holds only where nothing else may be meant, so it is evaluated once more as Terraform does before it
//! knows all values: what is made of one that is not known is not known either, and only what fails gives way to a fallback.
//!
//! Source: `cty/function/function.go` of zclconf/go-cty, `Call`; `ext/tryfunc/tryfunc.go` of hashicorp/hcl.

use hcl_edit::expr::{Conditional, Expression, FuncCall, Traversal, TraversalOperator};

use super::{
    functions::{is_blank, is_open},
    scope::{Choice, Element, Scope, member, number, open, truth},
};
use crate::deploy::value::{Scalar, Value};

/// What the name of an input begins with under which stands what is certain of it: a character that no name has.
const CERTAIN: char = '\u{f8f2}';

/// Returns the name under which stands what is certain of an input.
pub(super) fn of_certain(name: &str) -> String {
    format!("{CERTAIN}{name}")
}

// === impl Scope ===

impl Scope<'_> {
    /// The scope in which nothing counts but what is certain. Nobody is asked what the rest may be.
    pub fn certainly(&self) -> Self {
        Self { is_certain: true, asks: false, ..self.clone() }
    }

    /// Says which way a condition goes; `None` where the tree does not decide it.
    pub fn condition(&self, of: &Expression) -> Option<bool> {
        let found = truth(&self.eval(of))?;
        let is_certain = self.is_certain || truth(&self.certainly().eval(of)).is_some();
        is_certain.then_some(found)
    }

    /// Returns the outcome of a choice; `None` where it may be anything.
    pub fn branched(&self, either: &Conditional) -> Option<Value> {
        let decided = self.condition(&either.cond_expr);
        let taken = self.decided(decided);
        let branch = |is_true: bool| self.eval(if is_true { &either.true_expr } else { &either.false_expr });
        let value = branch(taken);
        let is_sure = |value: &Value| !self.may_be_any(value);
        let is_of_both = !self.is_certain || decided.is_some() || is_sure(&value) && is_sure(&branch(!taken));
        is_of_both.then_some(value)
    }

    /// Returns how many instances a block has; `None` where there may be one after all.
    pub fn counted(&self, count: &Expression) -> Option<i64> {
        let found = number(&self.eval(count))?;
        (found != 0 || number(&self.certainly().eval(count)).is_some()).then_some(found)
    }

    /// Returns the elements that a block has instances for; one of which nothing is known where there may be some after all.
    pub fn instances_of(&self, collection: &Expression) -> Vec<Element> {
        let found = self.certified(collection, &self.eval(collection));
        if !found.is_empty() {
            return found;
        }
        let certain = self.certainly().eval(collection);
        let unknown = Some(certain).filter(|certain| self.may_be_any(certain));
        unknown.iter().flat_map(|unknown| self.elements(unknown)).map(Element::sure).collect()
    }

    /// Returns the elements of a collection with what is certain of each.
    pub fn certified(&self, of: &Expression, collection: &Value) -> Vec<Element> {
        let found = self.elements(collection);
        if self.is_certain {
            return found.into_iter().map(Element::sure).collect();
        }
        let (all, count) = (self.certainly().eval(of), found.len());
        let certain = |n: usize, key: &Scalar| match &all {
            Value::Map(_) => member(&all, &key.text()),
            Value::List(items) => items.get(n).filter(|_| items.len() == count).cloned(),
            Value::Scalar(_) => Some(all.clone()),
        };
        let element = |(n, (key, value)): (usize, (Scalar, Value))| {
            let certain = certain(n, &key).unwrap_or_else(|| value.clone());
            Element { key, value, certain }
        };
        found.into_iter().enumerate().map(element).collect()
    }

    /// Tells whether a value may be anything, as far as the tree says.
    pub fn may_be_any(&self, value: &Value) -> bool {
        open(value).is_some_and(|who| self.budget.chosen.get(who) != Some(&Choice::Other))
    }

    /// Tells whether a function that passes over what fails comes upon what may not fail before it finds something.
    pub fn falls_back(&self, call: &FuncCall, args: &[Value]) -> bool {
        if !matches!(call.name.name.as_str(), "try" | "can" | "coalesce") {
            return false;
        }
        let counts = |(arg, value): &(&Expression, &Value)| match is_open(value) {
            true => self.may_be(arg),
            false => !value.is_null() && !is_blank(value),
        };
        call.args.iter().zip(args).find(counts).is_some_and(|(_, value)| is_open(value))
    }

    /// Tells whether an expression may come to something, and does not fail for what the tree says.
    fn may_be(&self, of: &Expression) -> bool {
        is_open(&self.eval(of))
            && match of {
                Expression::Parenthesis(inner) => self.may_be(inner.inner()),
                Expression::FuncCall(call) => !call.args.iter().any(|arg| self.fails(arg)),
                Expression::UnaryOp(op) => self.may_be(&op.expr),
                Expression::BinaryOp(op) => !self.fails(&op.lhs_expr) && !self.fails(&op.rhs_expr),
                Expression::Traversal(traversal) => self.may_lead(traversal),
                _ => true,
            }
    }

    /// Tells whether an expression fails for what the tree says.
    pub fn fails(&self, of: &Expression) -> bool {
        is_open(&self.eval(of)) && !self.may_be(of)
    }

    /// Tells whether names may lead to something: to a part of what is not known, or to one of several.
    fn may_lead(&self, traversal: &Traversal) -> bool {
        let is_none = |operator: &TraversalOperator| match operator {
            TraversalOperator::Index(index) => {
                let index = self.eval(index);
                is_open(&index) && !self.may_be_any(&index)
            }
            _ => false,
        };
        match self.led(traversal) {
            None | Some(Ok(_)) => true,
            Some(Err(of)) => !of.is_empty() && !traversal.operators.iter().any(|op| is_none(op.value())),
        }
    }
}

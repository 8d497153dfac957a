//! What Terraform refuses before it makes anything: `validation` of variables, conditions of resources, data and outputs.
//!
//! Source: `internal/terraform/eval_variable.go` and `eval_conditions.go` of hashicorp/terraform. In: a module with its inputs.
//! Out: what has a condition of which the tree says that it does not hold.

use std::{collections::BTreeMap, sync::Arc};

use hcl_edit::{
    expr::{BinaryOperator, Expression, FuncCall, UnaryOperator},
    structure::{Block, Body},
};

use super::{
    INSTANCES, Inputs, Modules, instances,
    module::{Module, Placed, Variable},
    scope::{Budget, Scope, truth},
};
use crate::{
    deploy::{
        expression::expression,
        files::Files,
        note::{About, Note},
        value::Source,
    },
    repo::RepoPath,
};

/// Lists what has a condition that does not hold.
pub(super) fn refused(
    tree: (&dyn Files, &Modules),
    module: &Module,
    inputs: (&Inputs, usize),
    budget: &Budget,
) -> Vec<Note> {
    // What a condition asks for tells no environment from another.
    let budget = budget.of_run(&budget.chosen);
    let scopes = |source: &Arc<Source>| {
        [true, false].map(|first| Scope::new(tree, module, inputs, source, &budget, first))
    };
    let mut found = Vec::new();
    let variables: BTreeMap<&String, &Variable> = module.variables.iter().collect();
    for (name, variable) in variables {
        let fails = |(source, condition): &&Placed| {
            scopes(source).iter().all(|scope| holds(scope, condition) == Some(false))
        };
        if let Some((source, _)) = variable.checks.iter().find(fails) {
            found.push(note(&source.path, format!("variable {name}")));
        }
    }
    for (source, block) in &module.blocks {
        let conditions = conditions(block);
        if conditions.is_empty() {
            continue;
        }
        let is_refused = |scope: &Scope<'_>| {
            let all = instances(scope, block);
            let fails = |own: &Scope<'_>| conditions.iter().any(|of| holds(own, of) == Some(false));
            all.iter().take(INSTANCES).any(fails)
        };
        if scopes(source).iter().all(is_refused) {
            found.push(note(&source.path, called(block)));
        }
    }
    found
}

fn note(path: &RepoPath, what: String) -> Note {
    Note::new(path, About::Fails { what, why: "a condition of it would not hold".to_owned() })
}

/// Lists the conditions of a block that are asked for each of its instances.
fn conditions(block: &Block) -> Vec<&Expression> {
    let bodies: Vec<&Body> = match block.ident.as_str() {
        "resource" | "data" => block.body.get_blocks("lifecycle").map(|own| &own.body).collect(),
        "output" => vec![&block.body],
        _ => Vec::new(),
    };
    let is_check = |check: &&Block| matches!(check.ident.as_str(), "precondition" | "postcondition");
    let checks = bodies.into_iter().flat_map(|body| body.blocks()).filter(is_check);
    checks.filter_map(|check| check.body.get_attribute("condition")).map(|of| &of.value).collect()
}

fn called(block: &Block) -> String {
    let labels = block.labels.iter().map(|label| label.as_str()).collect::<Vec<_>>().join(".");
    match block.ident.as_str() {
        "resource" => labels,
        kind => format!("{kind} {labels}"),
    }
}

/// Tells whether a condition holds; `None` where the tree does not decide it.
fn holds(scope: &Scope<'_>, condition: &Expression) -> Option<bool> {
    match condition {
        Expression::Parenthesis(inner) => holds(scope, inner.inner()),
        Expression::UnaryOp(op) => match *op.operator.value() {
            UnaryOperator::Not => Some(!holds(scope, &op.expr)?),
            UnaryOperator::Neg => None,
        },
        Expression::BinaryOp(op) => {
            let both = || (holds(scope, &op.lhs_expr), holds(scope, &op.rhs_expr));
            match *op.operator.value() {
                BinaryOperator::And => match both() {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (left, right) => Some(left? && right?),
                },
                BinaryOperator::Or => match both() {
                    (Some(true), _) | (_, Some(true)) => Some(true),
                    (left, right) => Some(left? || right?),
                },
                _ => truth(&scope.eval(condition)),
            }
        }
        Expression::FuncCall(call) => {
            let text = |n: usize| scope.text(&scope.eval(call.args.iter().nth(n)?));
            match call.name.name.as_str() {
                "can" => matches(scope, call.args.iter().next()?.as_func_call()?),
                "startswith" => Some(text(0)?.starts_with(&text(1)?)),
                "endswith" => Some(text(0)?.ends_with(&text(1)?)),
                _ => truth(&scope.eval(condition)),
            }
        }
        _ => truth(&scope.eval(condition)),
    }
}

/// Tells whether a call of `regex` finds something; of other functions nobody here says whether they fail.
fn matches(scope: &Scope<'_>, call: &FuncCall) -> Option<bool> {
    let text = |n: usize| scope.text(&scope.eval(call.args.iter().nth(n)?));
    let pattern = text(0).filter(|_| call.name.name.as_str() == "regex")?;
    Some(expression(&pattern)?.is_match(&text(1)?))
}

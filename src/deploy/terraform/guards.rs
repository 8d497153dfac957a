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
    INSTANCES, Inputs, Modules,
    functions::is_open,
    instances,
    module::{Module, Placed, Variable},
    scope::{Budget, Scope, made, truth},
};
use crate::{
    deploy::{
        expression::expression,
        files::Files,
        note::{About, Note},
        value::{Source, Value},
    },
    repo::RepoPath,
};

/// What a block is called in its own postconditions.
const ITSELF: &str = "self";

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
            let mut all = all.iter().take(INSTANCES).map(|own| own.binding(ITSELF, itself(own, block)));
            all.any(|own| fails(&own))
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

/// Returns what a block has once it is there, as far as its arguments say it.
fn itself(scope: &Scope<'_>, block: &Block) -> Value {
    let mut own = scope.resource(block);
    // The provider of Helm says of a release what chart it is.
    let is_release = block.labels.first().is_some_and(|label| label.as_str() == "helm_release");
    if let Some(version) = own.get("version").filter(|_| is_release).cloned() {
        own.insert("metadata", Value::list(vec![Value::map([("version", version)])]));
    }
    own
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
    let evaluated = || truth(&scope.eval(condition));
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
                operator => {
                    let (left, right) = (value(scope, &op.lhs_expr), value(scope, &op.rhs_expr));
                    truth(&scope.compared(operator, &left, &right)?)
                }
            }
        }
        Expression::Conditional(either) => match holds(scope, &either.cond_expr) {
            Some(true) => holds(scope, &either.true_expr),
            Some(false) => holds(scope, &either.false_expr),
            None => evaluated(),
        },
        Expression::FuncCall(call) => {
            let text = |n: usize| scope.text(&scope.eval(call.args.iter().nth(n)?));
            match call.name.name.as_str() {
                "can" => comes(scope, call.args.iter().next()?),
                "try" => first(scope, call).map_or_else(evaluated, |of| holds(scope, of)),
                "startswith" => Some(text(0)?.starts_with(&text(1)?)),
                "endswith" => Some(text(0)?.ends_with(&text(1)?)),
                _ => evaluated(),
            }
        }
        _ => evaluated(),
    }
}

/// Returns a side of a comparison, which may say what an expression finds.
fn value(scope: &Scope<'_>, of: &Expression) -> Value {
    let found = match of {
        Expression::Parenthesis(inner) => Some(value(scope, inner.inner())),
        Expression::FuncCall(call) => match call.name.name.as_str() {
            "try" => first(scope, call).map(|of| value(scope, of)),
            "regex" => matches(scope, call).and_then(|all| Some(Value::made(all.first()?))),
            "length" => {
                let of = call.args.iter().next().and_then(Expression::as_func_call);
                let all =
                    of.filter(|of| of.name.name.as_str() == "regexall").and_then(|of| matches(scope, of));
                all.and_then(|all| Some(made(i64::try_from(all.len()).ok()?)))
            }
            _ => None,
        },
        _ => None,
    };
    found.unwrap_or_else(|| scope.eval(of))
}

/// Returns the first argument that does not fail; `None` where nobody here says which that is.
fn first<'e>(scope: &Scope<'_>, call: &'e FuncCall) -> Option<&'e Expression> {
    for of in call.args.iter() {
        if comes(scope, of)? {
            return Some(of);
        }
    }
    None
}

/// Tells whether an expression comes to something, rather than that it fails; `None` where nobody here says it.
fn comes(scope: &Scope<'_>, of: &Expression) -> Option<bool> {
    match of {
        Expression::Parenthesis(inner) => comes(scope, inner.inner()),
        Expression::FuncCall(call) if call.name.name.as_str() == "regex" => {
            Some(!matches(scope, call)?.is_empty())
        }
        Expression::FuncCall(call) if call.name.name.as_str() == "try" => first(scope, call).map(|_| true),
        _ if !is_open(&scope.eval(of)) => Some(true),
        // What a block has beside its arguments is known once it is there.
        Expression::Traversal(way) => {
            let is_own = way.expr.as_variable().is_some_and(|name| name.as_str() == ITSELF);
            (!is_own && scope.fails(of)).then_some(false)
        }
        _ => None,
    }
}

/// Lists what a call of `regex` or `regexall` finds.
fn matches(scope: &Scope<'_>, call: &FuncCall) -> Option<Vec<String>> {
    let text = |n: usize| scope.text(&scope.eval(call.args.iter().nth(n)?));
    let (pattern, whole) = (text(0)?, text(1)?);
    Some(expression(&pattern)?.find_iter(&whole).map(|found| found.as_str().to_owned()).collect())
}

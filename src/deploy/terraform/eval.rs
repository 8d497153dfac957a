//! Expressions, as far as the tree decides them.

use std::sync::Arc;

use hcl_edit::{
    Span as _,
    expr::{BinaryOperator, Expression, ForExpr, ObjectKey, Traversal, TraversalOperator, UnaryOperator},
    structure::{Block, Body, Structure},
};

use super::{
    certain::of_certain,
    functions::{self, ordered},
    named, parse,
    scope::{Choice, Element, Scope, boolean, made, member, number, open, rooted, truth},
};
use crate::deploy::value::{Origin, Part, Scalar, Source, Value, Via};

/// What stands between the key of an element that is left out beside another one of that key, and its number: a character
/// that no text has.
const AGAIN: char = '\u{f8f1}';

// === impl Scope ===

impl<'s> Scope<'s> {
    /// A value that the tree does not say, known by the text of its expression.
    pub fn unknown(&self, expression: &Expression) -> Value {
        self.unknown_of(expression, &[])
    }

    fn unknown_of(&self, expression: &Expression, handed: &[Value]) -> Value {
        let span = expression.span().unwrap_or_default();
        let text = self.source.text.get(span.clone()).unwrap_or_default();
        let text: String = text.chars().take(80).collect();
        let who = format!("Terraform, `{}`", text.trim());
        if let Some(Choice::Is(text)) = self.budget.chosen.get(&who) {
            return Value::made(text);
        }
        let unknown = Scalar::unknown_of(&who, handed.iter().flat_map(Value::scalars));
        let is_asked = self.budget.is_run;
        Value::Scalar(if is_asked { unknown.asked_by(&self.written(span)) } else { unknown })
    }

    /// Reads a resource with the blocks that are laid over it: their arguments count, and their blocks for all of a name.
    pub fn resource(&self, block: &Block) -> Value {
        let mut body = self.body(&block.body);
        for (source, over) in self.overrides(block) {
            let over = Self { source: source.clone(), ..self.clone() }.body(&over.body);
            over.entries().for_each(|(key, value)| body.insert(key, value.clone()));
        }
        body
    }

    /// Lists the blocks that are laid over a block.
    pub fn overrides(&self, block: &Block) -> impl Iterator<Item = &'s (Arc<Source>, Block)> {
        let labels =
            |block: &Block| block.labels.iter().map(|label| label.as_str().to_owned()).collect::<Vec<_>>();
        let is_over = move |over: &&(Arc<Source>, Block)| {
            over.1.ident.as_str() == block.ident.as_str() && labels(&over.1) == labels(block)
        };
        self.module.overrides.iter().filter(is_over)
    }

    /// Reads a block's body as a value: arguments, and blocks as mappings, those that repeat as lists of them.
    pub fn body(&self, body: &Body) -> Value {
        let mut out = Value::empty();
        for structure in body {
            match structure {
                Structure::Attribute(attribute) => {
                    let key = attribute.key.as_str();
                    // What an object is called tells no release from another.
                    let asks = self.asks && !matches!(key, "name" | "namespace");
                    let scope = Self { asks, ..self.clone() };
                    out.insert(key, scope.eval(&attribute.value));
                }
                Structure::Block(block) if block.ident.as_str() == "dynamic" => {
                    let name = block.labels.first().map(|l| l.as_str()).unwrap_or_default();
                    let content = block.body.get_blocks("content").next();
                    let each = block.body.get_attribute("for_each");
                    let iterator = block.body.get_attribute("iterator").and_then(|a| a.value.as_variable());
                    let iterator = iterator.map_or(name, |i| i.as_str());
                    let (Some(content), Some(each)) = (content, each) else { continue };
                    for element in self.certified(&each.value, &self.eval(&each.value)) {
                        let made = self.of_element(iterator, element).body(&content.body);
                        append(&mut out, name, made);
                    }
                }
                Structure::Block(block) => {
                    let made = self.body(&block.body);
                    append(&mut out, block.ident.as_str(), made);
                }
            }
        }
        out
    }

    /// Evaluates an expression.
    pub fn eval(&self, expression: &Expression) -> Value {
        let (Some(()), Some(depth)) = (self.budget.take(1), self.depth.checked_sub(1)) else {
            return self.unknown(expression);
        };
        let inner = Self { depth, ..self.clone() };
        inner.known(expression).unwrap_or_else(|| self.unknown(expression))
    }

    fn known(&self, expression: &Expression) -> Option<Value> {
        Some(match expression {
            Expression::Null(_) => Value::Scalar(Scalar::made("").as_plain()),
            Expression::Bool(_) | Expression::Number(_) => {
                Value::Scalar(self.written(expression.span()?).as_plain())
            }
            Expression::String(text) => Value::Scalar(self.string(expression.span()?, text)),
            Expression::StringTemplate(template) => self.template(template)?,
            Expression::HeredocTemplate(heredoc) => {
                let indentation = self.indentation_of(expression.span()?, &heredoc.template);
                Self { indentation, ..self.clone() }.template(&heredoc.template)?
            }
            Expression::Array(items) => Value::list(items.iter().map(|item| self.eval(item)).collect()),
            Expression::Object(object) => {
                let mut out = Value::empty();
                for (key, value) in object.iter() {
                    let key = match (parse::key(&self.source, key), key) {
                        (Some(key), _) => key,
                        (None, ObjectKey::Expression(key)) => self.text(&self.eval(key))?,
                        (None, ObjectKey::Ident(name)) => name.as_str().to_owned(),
                    };
                    out.insert(&key, self.eval(value.expr()));
                }
                out
            }
            Expression::Parenthesis(inner) => self.eval(inner.inner()),
            Expression::Variable(name) => self.read_by(self.bound(name.as_str())?, expression),
            Expression::Conditional(either) => self.branched(either)?,
            Expression::FuncCall(call) => {
                let name = call.name.name.as_str();
                let forgives = self.forgives || matches!(name, "try" | "can");
                let scope = Self { forgives, ..self.clone() };
                let mut args: Vec<Value> = call.args.iter().map(|arg| scope.eval(arg)).collect();
                let handed = args.clone();
                if let ("templatefile", false, Some(vars)) = (name, self.is_certain, call.args.get(1)) {
                    args.push(scope.certainly().eval(vars));
                }
                let is_unsure = self.is_certain && self.falls_back(call, &args);
                let called = || functions::call(self, name, args, call.args.expand_final());
                match (!is_unsure).then(called).flatten() {
                    Some(value) => picked(value),
                    None => {
                        let value = self.unknown_of(expression, &handed);
                        // What it is given is known, and what it makes of that is not.
                        if !handed.iter().flat_map(Value::scalars).any(|s| s.unknown_to().is_some()) {
                            self.budget.unfollowed.borrow_mut().extend(open(&value).map(str::to_owned));
                        }
                        value
                    }
                }
            }
            Expression::Traversal(traversal) => {
                let value = self.traversal(traversal);
                self.read_by(value.unwrap_or_else(|handed| self.unknown_of(expression, &handed)), expression)
            }
            Expression::UnaryOp(op) => match *op.operator.value() {
                UnaryOperator::Not => boolean(!truth(&self.eval(&op.expr))?),
                UnaryOperator::Neg => return None,
            },
            Expression::BinaryOp(op) => {
                let (left, right) = (self.eval(&op.lhs_expr), self.eval(&op.rhs_expr));
                self.compared(*op.operator.value(), &left, &right)?
            }
            Expression::ForExpr(each) => self.for_each(each)?,
        })
    }

    /// Says which way a condition goes; of one that the tree does not decide, that of this walk.
    pub fn decided(&self, truth: Option<bool>) -> bool {
        truth.unwrap_or_else(|| {
            self.budget.undecided.set(true);
            self.first
        })
    }

    /// Compares two values, or calculates with them.
    pub fn compared(&self, operator: BinaryOperator, left: &Value, right: &Value) -> Option<Value> {
        let equal = || Some(self.text(left)? == self.text(right)?);
        Some(boolean(match operator {
            BinaryOperator::Eq => equal()?,
            BinaryOperator::NotEq => !equal()?,
            BinaryOperator::And => match (truth(left), truth(right)) {
                (Some(false), _) | (_, Some(false)) => false,
                (left, right) => left? && right?,
            },
            BinaryOperator::Or => match (truth(left), truth(right)) {
                (Some(true), _) | (_, Some(true)) => true,
                (left, right) => left? || right?,
            },
            operator => return self.calculated(operator, number(left)?, number(right)?),
        }))
    }

    /// Calculates with whole numbers.
    fn calculated(&self, operator: BinaryOperator, left: i64, right: i64) -> Option<Value> {
        Some(match operator {
            BinaryOperator::Plus => made(left.checked_add(right)?),
            BinaryOperator::Minus => made(left.checked_sub(right)?),
            BinaryOperator::Mul => made(left.checked_mul(right)?),
            BinaryOperator::Mod => made(left.checked_rem(right)?),
            BinaryOperator::Less => boolean(left < right),
            BinaryOperator::LessEq => boolean(left <= right),
            BinaryOperator::Greater => boolean(left > right),
            BinaryOperator::GreaterEq => boolean(left >= right),
            _ => return None,
        })
    }

    /// Notes where an expression names a text.
    fn read_by(&self, value: Value, expression: &Expression) -> Value {
        match (picked(value), expression.span()) {
            (Value::Scalar(text), Some(span)) => Value::Scalar(text.read_by(&self.written(span))),
            (value, _) => value,
        }
    }

    /// The bytes of the file.
    pub fn written(&self, span: std::ops::Range<usize>) -> Scalar {
        let origin = Origin { source: self.source.clone(), span, via: self.via, read: None };
        Scalar::of([Part::Written(origin)], false)
    }

    /// A quoted text; what is written with a backslash does not stand in the file as it is.
    fn string(&self, span: std::ops::Range<usize>, text: &str) -> Scalar {
        let inner = span.start + 1..span.end.saturating_sub(1);
        match self.source.text.get(inner.clone()) == Some(text) {
            true => self.written(inner),
            false => self.unescaped(inner, text).unwrap_or_else(|| Scalar::made(text)),
        }
    }

    pub fn bound(&self, name: &str) -> Option<Value> {
        let binding = self.bindings.iter().rev().find(|binding| binding.name == name)?;
        let value = if self.is_certain { &binding.certain } else { &binding.value };
        Some(value.clone())
    }

    /// Follows names into a value; fails with the maps and lists of which the tree does not say what is meant.
    fn traversal(&self, traversal: &Traversal) -> Result<Value, Vec<Value>> {
        self.led(traversal).ok_or_else(Vec::new)?
    }

    /// The same; `None` where the tree does not say what it begins with.
    pub fn led(&self, traversal: &Traversal) -> Option<Result<Value, Vec<Value>>> {
        let operators: Vec<&TraversalOperator> = traversal.operators.iter().map(|op| op.value()).collect();
        let mut rest = operators.as_slice();
        let value = self.root(traversal, &mut rest)?;
        Some(self.below(value, rest))
    }

    /// Returns what a traversal begins with, and takes the operators that say it.
    fn root(&self, traversal: &Traversal, rest: &mut &[&TraversalOperator]) -> Option<Value> {
        let mut attribute = || match rest.split_first() {
            Some((TraversalOperator::GetAttr(name), left)) => {
                *rest = left;
                Some(name.as_str().to_owned())
            }
            _ => None,
        };
        match traversal.expr.as_variable().map(|name| name.as_str()) {
            Some(root) if self.bound(root).is_some() => self.bound(root),
            Some(root) if self.module.roots.contains_key(root) => self.module.roots.get(root).cloned(),
            Some("var") => self.variable(&attribute()?),
            Some("local") => self.local(&attribute()?),
            Some("module") => {
                let call = attribute()?;
                // A module may be given what comes out of itself.
                match attribute() {
                    Some(output) => {
                        self.once(format!("module.{call}.{output}"), || self.output(&call, &output))
                    }
                    None => self.once(format!("module.{call}"), || self.outputs(&call)),
                }
            }
            Some("path") => match attribute()?.as_str() {
                "module" => Some(Value::made(&rooted(&self.module.folder))),
                // Terraform is run in the folder of its root, unless it is told otherwise.
                "root" | "cwd" => Some(Value::made(&rooted(&self.budget.root))),
                _ => None,
            },
            Some("data") => {
                let (kind, name) = (attribute()?, attribute()?);
                self.once(format!("data.{kind}.{name}"), || self.data(&kind, &name))
            }
            // A resource, or what is none: `terraform`.
            Some(kind) => {
                let name = attribute()?;
                self.once(format!("{kind}.{name}"), || self.argued(kind, &name))
            }
            None => Some(self.eval(&traversal.expr)),
        }
    }

    fn below(&self, mut value: Value, mut operators: &[&TraversalOperator]) -> Result<Value, Vec<Value>> {
        while let Some((operator, rest)) = operators.split_first() {
            operators = rest;
            let key = match operator {
                TraversalOperator::GetAttr(name) => name.as_str().to_owned(),
                TraversalOperator::Index(index) => {
                    let index = self.eval(index);
                    self.offer_keys(&value, &index);
                    match self.text(&index) {
                        Some(key) => key,
                        None => return Err(vec![value]),
                    }
                }
                TraversalOperator::LegacyIndex(index) => index.value().to_string(),
                TraversalOperator::AttrSplat(_) | TraversalOperator::FullSplat(_) => {
                    // Of `.*` an index behind it is one of all, of `[*]` one of each.
                    let is_of_each =
                        |operator: &&TraversalOperator| matches!(operator, TraversalOperator::GetAttr(_));
                    let of_each = match operator {
                        TraversalOperator::FullSplat(_) => rest.len(),
                        _ => rest.iter().take_while(|operator| is_of_each(operator)).count(),
                    };
                    let (each, all) = rest.split_at(of_each);
                    let items = value.items().iter().map(|item| self.below(item.clone(), each));
                    return self.below(Value::list(items.collect::<Result<_, _>>()?), all);
                }
            };
            value = member(&value, &key).ok_or_else(Vec::new)?;
        }
        Ok(value)
    }

    /// Notes that a text which the tree does not say is meant for a key of a map.
    pub fn offer_keys(&self, map: &Value, key: &Value) {
        if let (Value::Map(_), Some(who)) = (map, open(key)) {
            let other = self.forgives.then_some(Choice::Other);
            self.offer(who, ordered(map).map(|(key, _)| Choice::Is(key.to_owned())).chain(other));
        }
    }

    fn variable(&self, name: &str) -> Option<Value> {
        self.once(format!("var.{name}"), || self.given(name))
    }

    fn given(&self, name: &str) -> Option<Value> {
        let declared = self.module.variables.get(name);
        let certain = self.is_certain.then(|| self.inputs.get(&of_certain(name))).flatten();
        let is_never_null = declared.is_some_and(|own| own.is_never_null && own.default.is_some());
        let given = certain.or_else(|| self.inputs.get(name));
        let value = match given.filter(|given| !(is_never_null && given.is_null())) {
            Some(given) => given.clone(),
            // Nobody here knows what whoever calls it says instead.
            None if self.is_certain && self.is_for_others() => return None,
            None => {
                let (source, default) = declared?.default.as_ref()?;
                self.named(self.elsewhere(source).eval(default))?
            }
        };
        Some(match declared.and_then(|variable| variable.of.as_ref()) {
            Some((source, of)) => self.elsewhere(source).completed(of, value),
            None => value,
        })
    }

    fn is_for_others(&self) -> bool {
        self.budget.is_for_others && *self.module.folder == *self.budget.root
    }

    pub fn local(&self, name: &str) -> Option<Value> {
        let (source, expression) = self.module.locals.get(name)?;
        self.once(format!("local.{name}"), || self.named(self.elsewhere(source).eval(expression)))
    }

    /// Notes that the texts of a value have a name of their own; each of them is a step.
    pub fn named(&self, value: Value) -> Option<Value> {
        self.budget.take(value.scalars().len())?;
        Some(named(value))
    }

    /// The scope of another file of the module, in which nothing of a block is bound.
    pub fn elsewhere(&self, source: &Arc<Source>) -> Self {
        let (source, bindings) = (source.clone(), Vec::new());
        Self { source, bindings, selects: false, indentation: 0, ..self.clone() }
    }

    fn for_each(&self, each: &ForExpr) -> Option<Value> {
        let collection = self.eval(&each.intro.collection_expr);
        // What is made of what nobody here knows is known to the same.
        if matches!(collection, Value::Scalar(_)) {
            return open(&collection).is_some().then_some(collection);
        }
        let mut map = Value::empty();
        let mut list = Vec::new();
        let elements = self.certified(&each.intro.collection_expr, &collection);
        for (n, Element { key, value, certain }) in elements.into_iter().enumerate() {
            let mut scope = self.binding_of(each.intro.value_var.as_str(), value, certain);
            if let Some(name) = &each.intro.key_var {
                scope = scope.binding(name.as_str(), Value::Scalar(key));
            }
            let kept = each.cond.as_ref().map(|cond| scope.kept(&cond.expr));
            if kept.is_some_and(|kept| kept == Some(false)) {
                self.budget.leaves_out.set(true);
                if !self.is_whole {
                    continue;
                }
            }
            let value = scope.eval(&each.value_expr);
            match &each.key_expr {
                Some(key) if each.grouping => {
                    let key = scope.text(&scope.eval(key))?;
                    let group = map.get(&key).map_or(&[][..], Value::items);
                    let group = Value::list(group.iter().cloned().chain([value]).collect());
                    map.insert(&key, group);
                }
                Some(key) => {
                    let mut key = scope.text(&scope.eval(key))?;
                    if self.is_whole && map.get(&key).is_some() {
                        key = format!("{key}{AGAIN}{n}");
                    }
                    map.insert(&key, value);
                }
                None => list.push(value),
            }
        }
        Some(if each.key_expr.is_some() { map } else { Value::list(list) })
    }

    /// Tells whether a condition keeps an element; one that compares what the tree does not say asks for what it may be.
    fn kept(&self, condition: &Expression) -> Option<bool> {
        let kept = Self { selects: true, ..self.clone() }.condition(condition);
        if let (None, Expression::BinaryOp(op)) = (kept, condition)
            && *op.operator.value() == BinaryOperator::Eq
        {
            let (left, right) = (self.eval(&op.lhs_expr), self.eval(&op.rhs_expr));
            let either = open(&left).zip(self.text(&right)).or_else(|| open(&right).zip(self.text(&left)));
            either.into_iter().for_each(|(who, text)| self.offer(who, [Choice::Is(text)].into_iter()));
        }
        kept
    }

    /// Returns the keys and values of what `for_each` is given; the items of a set are both. What is not known is one
    /// element of which nothing is known.
    pub fn elements(&self, value: &Value) -> Vec<(Scalar, Value)> {
        match value {
            Value::Map(_) => {
                let key = |key: &str| Scalar::made(key.split(AGAIN).next().unwrap_or_default());
                ordered(value).map(|(k, v)| (key(k), v.clone())).collect()
            }
            Value::List(items) => {
                let key = |item: &Value| item.as_scalar().cloned().unwrap_or_else(|| Scalar::made(""));
                items.iter().map(|item| (key(item), item.clone())).collect()
            }
            Value::Scalar(unknown) => vec![(unknown.clone(), value.clone())],
        }
    }

    /// Returns a text that is known wholly.
    pub fn text(&self, value: &Value) -> Option<String> {
        let scalar = value.as_scalar().filter(|s| s.unknown_to().is_none())?;
        Some(scalar.text().into_owned())
    }
}

/// Takes a text that was picked out of a file for a variable's; what is handed on as a whole stays that file's.
fn picked(value: Value) -> Value {
    match value {
        Value::Scalar(text) => Value::Scalar(text.via_instead(Via::Decoded, Via::Variable)),
        value => value,
    }
}

/// Adds a block: the first of a name is a mapping, more are a list.
fn append(out: &mut Value, name: &str, block: Value) {
    let all = match out.remove(name) {
        None => block,
        Some(Value::List(items)) => Value::list(items.iter().cloned().chain([block]).collect()),
        Some(first) => Value::list(vec![first, block]),
    };
    out.insert(name, all);
}

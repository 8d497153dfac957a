//! Expressions, as far as the tree decides them.

use std::sync::Arc;

use hcl_edit::{
    Span as _,
    expr::{BinaryOperator, Expression, ForExpr, ObjectKey, Traversal, TraversalOperator, UnaryOperator},
    structure::{Body, Structure},
    template::{Element, Template},
};

use super::{
    functions::{self, ordered},
    named,
    scope::{Choice, Scope, boolean, member, open, rooted, truth},
};
use crate::deploy::value::{Origin, Part, Scalar, Source, Value};

/// Bytes that one text grows to.
const BYTES: usize = 1 << 20;

// === impl Scope ===

impl<'s> Scope<'s> {
    /// A value that the tree does not say, known by the text of its expression.
    pub fn unknown(&self, expression: &Expression) -> Value {
        self.unknown_of(expression, &[])
    }

    fn unknown_of(&self, expression: &Expression, handed: &[Value]) -> Value {
        let text = expression.span().and_then(|span| self.source.text.get(span)).unwrap_or_default();
        let text: String = text.chars().take(80).collect();
        let who = format!("Terraform, `{}`", text.trim());
        if let Some(Choice::Is(text)) = self.budget.chosen.get(&who) {
            return Value::made(text);
        }
        Value::Scalar(Scalar::unknown_of(&who, handed.iter().flat_map(Value::scalars)))
    }

    /// Reads a block's body as a value: arguments, and blocks as mappings, those that repeat as lists of them.
    pub fn body(&self, body: &Body) -> Value {
        let mut out = Value::empty();
        for structure in body {
            match structure {
                Structure::Attribute(attribute) => {
                    out.insert(attribute.key.as_str(), self.eval(&attribute.value));
                }
                Structure::Block(block) if block.ident.as_str() == "dynamic" => {
                    let name = block.labels.first().map(|l| l.as_str()).unwrap_or_default();
                    let content = block.body.get_blocks("content").next();
                    let each = block.body.get_attribute("for_each");
                    let iterator = block.body.get_attribute("iterator").and_then(|a| a.value.as_variable());
                    let iterator = iterator.map_or(name, |i| i.as_str());
                    let (Some(content), Some(each)) = (content, each) else { continue };
                    for (key, value) in self.elements(&self.eval(&each.value)) {
                        let entry = Value::map([("key", Value::Scalar(key)), ("value", value)]);
                        let made = self.binding(iterator, entry).body(&content.body);
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
            Expression::HeredocTemplate(heredoc) => self.template(&heredoc.template)?,
            Expression::Array(items) => Value::list(items.iter().map(|item| self.eval(item)).collect()),
            Expression::Object(object) => {
                let mut out = Value::empty();
                for (key, value) in object.iter() {
                    let key = match key {
                        ObjectKey::Ident(name) => name.as_str().to_owned(),
                        ObjectKey::Expression(Expression::Variable(name)) => name.as_str().to_owned(),
                        ObjectKey::Expression(key) => self.text(&self.eval(key))?,
                    };
                    out.insert(&key, self.eval(value.expr()));
                }
                out
            }
            Expression::Parenthesis(inner) => self.eval(inner.inner()),
            Expression::Variable(name) => self.read_by(self.bound(name.as_str())?, expression),
            Expression::Conditional(either) => {
                let taken = match truth(&self.eval(&either.cond_expr)) {
                    Some(truth) => truth,
                    None => {
                        self.budget.undecided.set(true);
                        self.first
                    }
                };
                self.eval(if taken { &either.true_expr } else { &either.false_expr })
            }
            Expression::FuncCall(call) => {
                let name = call.name.name.as_str();
                let args: Vec<Value> = call.args.iter().map(|arg| self.eval(arg)).collect();
                let handed = args.clone();
                match functions::call(self, name, args, call.args.expand_final()) {
                    Some(value) => value,
                    None => self.unknown_of(expression, &handed),
                }
            }
            Expression::Traversal(traversal) => self.read_by(self.traversal(traversal)?, expression),
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

    fn compared(&self, operator: BinaryOperator, left: &Value, right: &Value) -> Option<Value> {
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
            _ => return None,
        }))
    }

    /// Notes where an expression names a text.
    fn read_by(&self, value: Value, expression: &Expression) -> Value {
        match (value, expression.span()) {
            (Value::Scalar(text), Some(span)) => Value::Scalar(text.read_by(&self.written(span))),
            (value, _) => value,
        }
    }

    /// The bytes of the file.
    fn written(&self, span: std::ops::Range<usize>) -> Scalar {
        let origin = Origin { source: self.source.clone(), span, via: None, read: None };
        Scalar::of([Part::Written(origin)], false)
    }

    /// A quoted text; with escapes in it, it does not stand in the file as it is.
    fn string(&self, span: std::ops::Range<usize>, text: &str) -> Scalar {
        let inner = span.start + 1..span.end.saturating_sub(1);
        match self.source.text.get(inner.clone()) == Some(text) {
            true => self.written(inner),
            false => Scalar::made(text),
        }
    }

    fn template(&self, template: &Template) -> Option<Value> {
        let mut out = Scalar::made("");
        for element in template.iter() {
            let next = match element {
                Element::Literal(text) => self.literal(text.span()?, text),
                Element::Interpolation(inner) => match self.eval(&inner.expr) {
                    // A template that is one interpolation is what that is.
                    value if template.len() == 1 => return Some(value),
                    Value::Scalar(text) => text,
                    Value::Map(_) | Value::List(_) => return None,
                },
                Element::Directive(_) => {
                    Scalar::unknown(&format!("Terraform, a directive in {}", self.source.path))
                }
            };
            out = out.then(&next);
            if out.text().len() > BYTES {
                return None;
            }
        }
        Some(Value::Scalar(out.as_string()))
    }

    /// A literal of a template. That of a heredoc `<<-` stands in the file with its indentation.
    fn literal(&self, span: std::ops::Range<usize>, text: &str) -> Scalar {
        let Some(raw) = self.source.text.get(span.clone()) else { return Scalar::made(text) };
        if raw == text {
            return self.written(span);
        }
        let mut parts = Vec::new();
        let (mut at, mut rest) = (span.start, raw);
        for line in text.split_inclusive('\n') {
            // What was taken away is blank and stands before the line.
            let Some(skipped) = rest.find(line) else { return Scalar::made(text) };
            if !rest.get(..skipped).is_some_and(|blank| blank.trim().is_empty()) {
                return Scalar::made(text);
            }
            parts.extend_from_slice(self.written(at + skipped..at + skipped + line.len()).parts());
            at += skipped + line.len();
            rest = rest.get(skipped + line.len()..).unwrap_or_default();
        }
        Scalar::of(parts, false)
    }

    fn bound(&self, name: &str) -> Option<Value> {
        self.bindings.iter().rev().find(|(bound, _)| bound == name).map(|(_, value)| value.clone())
    }

    fn traversal(&self, traversal: &Traversal) -> Option<Value> {
        let mut operators = traversal.operators.iter();
        let mut attribute = || match operators.next().map(|op| op.value()) {
            Some(TraversalOperator::GetAttr(name)) => Some(name.as_str().to_owned()),
            _ => None,
        };
        let mut value = match traversal.expr.as_variable().map(|name| name.as_str()) {
            Some(root) if self.bound(root).is_some() => self.bound(root)?,
            Some(root) if self.module.roots.contains_key(root) => self.module.roots.get(root)?.clone(),
            Some("var") => self.variable(&attribute()?)?,
            Some("local") => self.local(&attribute()?)?,
            Some("path") => match attribute()?.as_str() {
                "module" => Value::made(&rooted(&self.module.folder)),
                // Terraform is run in the folder of its root, unless it is told otherwise.
                "root" | "cwd" => Value::made(&rooted(&self.budget.root)),
                _ => return None,
            },
            // Data sources, resources, outputs of modules, `terraform.workspace`.
            Some(_) => return None,
            None => self.eval(&traversal.expr),
        };
        for operator in operators {
            let key = match operator.value() {
                TraversalOperator::GetAttr(name) => name.as_str().to_owned(),
                TraversalOperator::Index(index) => {
                    let index = self.eval(index);
                    self.offer_keys(&value, &index);
                    self.text(&index)?
                }
                TraversalOperator::LegacyIndex(index) => index.value().to_string(),
                TraversalOperator::AttrSplat(_) | TraversalOperator::FullSplat(_) => return None,
            };
            value = member(&value, &key)?;
        }
        Some(value)
    }

    /// Notes that a text which the tree does not say is meant for a key of a map.
    pub fn offer_keys(&self, map: &Value, key: &Value) {
        if let (Value::Map(_), Some(who)) = (map, open(key)) {
            self.budget.offer(who, ordered(map).map(|(key, _)| Choice::Is(key.to_owned())));
        }
    }

    fn variable(&self, name: &str) -> Option<Value> {
        let declared = self.module.variables.get(name);
        let value = match self.inputs.get(name) {
            Some(given) => given.clone(),
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

    pub fn local(&self, name: &str) -> Option<Value> {
        let (source, expression) = self.module.locals.get(name)?;
        self.named(self.elsewhere(source).eval(expression))
    }

    /// Notes that the texts of a value have a name of their own; each of them is a step.
    pub fn named(&self, value: Value) -> Option<Value> {
        self.budget.take(value.scalars().len())?;
        Some(named(value))
    }

    /// The scope of another file of the module, in which nothing of a block is bound.
    fn elsewhere(&self, source: &Arc<Source>) -> Self {
        Self { source: source.clone(), bindings: Vec::new(), ..self.clone() }
    }

    fn for_each(&self, each: &ForExpr) -> Option<Value> {
        let collection = self.eval(&each.intro.collection_expr);
        if matches!(collection, Value::Scalar(_)) {
            return None;
        }
        let mut map = Value::empty();
        let mut list = Vec::new();
        for (key, value) in self.elements(&collection) {
            let mut scope = self.binding(each.intro.value_var.as_str(), value);
            if let Some(name) = &each.intro.key_var {
                scope = scope.binding(name.as_str(), Value::Scalar(key));
            }
            let kept = each.cond.as_ref().map(|cond| truth(&scope.eval(&cond.expr)));
            if kept.is_some_and(|kept| kept == Some(false)) {
                continue;
            }
            let value = scope.eval(&each.value_expr);
            match &each.key_expr {
                Some(key) => map.insert(&scope.text(&scope.eval(key))?, value),
                None => list.push(value),
            }
        }
        Some(if each.key_expr.is_some() { map } else { Value::list(list) })
    }

    /// Returns the keys and values of what `for_each` is given; the items of a set are both. What is not known is one
    /// element of which nothing is known.
    pub fn elements(&self, value: &Value) -> Vec<(Scalar, Value)> {
        match value {
            Value::Map(_) => ordered(value).map(|(k, v)| (Scalar::made(k), v.clone())).collect(),
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

/// Adds a block: the first of a name is a mapping, more are a list.
fn append(out: &mut Value, name: &str, block: Value) {
    let all = match out.remove(name) {
        None => block,
        Some(Value::List(items)) => Value::list(items.iter().cloned().chain([block]).collect()),
        Some(first) => Value::list(vec![first, block]),
    };
    out.insert(name, all);
}

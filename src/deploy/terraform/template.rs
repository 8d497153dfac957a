//! Templates: of texts in quotes, of heredocs, and of files that `templatefile` fills.
//!
//! Source: `hcl/hclsyntax/spec.md`, "Templates".

use hcl_edit::{
    Span as _,
    expr::Expression,
    template::{Directive, Element, ForDirective, IfDirective, Strip, Template},
};

use super::scope::Scope;
use crate::deploy::{
    go_template::json,
    value::{Scalar, Value},
};

/// Bytes that one text grows to.
pub(super) const BYTES: usize = 1 << 20;
/// Bytes that are put together in one step.
pub(super) const STEP: usize = 256;

/// Which ends of a template its surroundings strip of white space.
#[derive(Clone, Copy, Default)]
struct Stripped {
    start: bool,
    end: bool,
}

// === impl Scope ===

impl Scope<'_> {
    /// Fills a template; one that is a single interpolation is what that is. `None` over a bound, or where it has no text.
    pub fn template(&self, template: &Template) -> Option<Value> {
        if let Some(Element::Interpolation(only)) = template.as_single_element() {
            return Some(self.eval(&only.expr));
        }
        self.filled(template, Stripped::default()).map(|text| Value::Scalar(text.as_string()))
    }

    fn filled(&self, template: &Template, ends: Stripped) -> Option<Scalar> {
        let mut out = Scalar::made("");
        let mut strips = ends.start;
        // Where the text begins that the template has last; what is filled in is not stripped.
        let mut literal: Option<usize> = None;
        for element in template.iter() {
            let from = matches!(element, Element::Literal(_)).then(|| out.text().len());
            let (next, strip) = match element {
                Element::Literal(text) => {
                    let text = self.literal(text.span()?, text);
                    (if strips { without_start(&text) } else { text }, Strip::None)
                }
                Element::Interpolation(inner) => (self.interpolated(&inner.expr), inner.strip),
                Element::Directive(directive) => self.directive(directive)?,
            };
            if strip.strip_start() {
                out = without_end(&out, literal);
            }
            literal = from;
            strips = strip.strip_end();
            out = out.then(&next);
            let bytes = out.text().len();
            self.budget.take(bytes / STEP)?;
            if bytes > BYTES {
                self.budget.is_long.set(true);
                return None;
            }
        }
        Some(if ends.end { without_end(&out, literal) } else { out })
    }

    /// Evaluates an interpolation; what is no text is written as one.
    fn interpolated(&self, expression: &Expression) -> Scalar {
        let scope = Self { indentation: 0, ..self.clone() };
        match scope.eval(expression) {
            Value::Scalar(text) => text,
            value => json(&value),
        }
    }

    /// Fills a directive; returns how it strips the text around it.
    fn directive(&self, directive: &Directive) -> Option<(Scalar, Strip)> {
        match directive {
            Directive::If(either) => self.either(either),
            Directive::For(each) => self.each(each),
        }
    }

    fn either(&self, either: &IfDirective) -> Option<(Scalar, Strip)> {
        let (taken, last) = (&either.if_expr, &either.endif_expr);
        let other = either.else_expr.as_ref();
        let text = if self.decided(self.condition(&taken.cond_expr)) {
            let end = other.map_or(last.strip, |other| other.strip).strip_start();
            self.filled(&taken.template, Stripped { start: taken.strip.strip_end(), end })?
        } else {
            let ends = |strip: Strip| Stripped { start: strip.strip_end(), end: last.strip.strip_start() };
            let text = other.map(|other| self.filled(&other.template, ends(other.strip)));
            text.unwrap_or_else(|| Some(Scalar::made("")))?
        };
        Some((text, around(taken.strip, last.strip)))
    }

    fn each(&self, each: &ForDirective) -> Option<(Scalar, Strip)> {
        let (each, last) = (&each.for_expr, &each.endfor_expr);
        let collection = self.eval(&each.collection_expr);
        if matches!(collection, Value::Scalar(_)) {
            return None;
        }
        let ends = Stripped { start: each.strip.strip_end(), end: last.strip.strip_start() };
        let mut out = Scalar::made("");
        for element in self.certified(&each.collection_expr, &collection) {
            let mut scope = self.binding_of(each.value_var.as_str(), element.value, element.certain);
            if let Some(name) = &each.key_var {
                scope = scope.binding(name.as_str(), Value::Scalar(element.key));
            }
            out = out.then(&scope.filled(&each.template, ends)?);
            self.budget.take(1 + out.text().len() / STEP)?;
        }
        Some((out, around(each.strip, last.strip)))
    }
}

/// How a directive of two ends strips the text around it.
fn around(first: Strip, last: Strip) -> Strip {
    match (first.strip_start(), last.strip_end()) {
        (true, true) => Strip::Both,
        (true, false) => Strip::Start,
        (false, true) => Strip::End,
        (false, false) => Strip::None,
    }
}

/// Strips a text of the white space that it begins with, up to the end of its first line: HCL strips one token, and a line
/// is one (hclsyntax `parser_template.go`).
fn without_start(text: &Scalar) -> Scalar {
    let whole = text.text();
    let first = whole.split_inclusive('\n').next().unwrap_or_default();
    text.cut(first.len() - first.trim_start().len()..whole.len())
}

/// Strips the last line of what begins at `literal` of the white space that it ends with; its line break is a part of it.
fn without_end(text: &Scalar, literal: Option<usize>) -> Scalar {
    let whole = text.text();
    let last = literal.and_then(|from| whole.get(from..)?.split_inclusive('\n').next_back());
    let space = last.map_or(0, |last| last.len() - last.trim_end().len());
    text.cut(0..whole.len() - space)
}

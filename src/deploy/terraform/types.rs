//! Defaults of attributes in the type of a variable: `object({version = optional(string, "2026.8.2")})`. One without is null.
//!
//! Source: `ext/typeexpr/defaults.go` of hashicorp/hcl.

use hcl_edit::expr::{Expression, FuncCall, ObjectKey};

use super::{named, scope::Scope};
use crate::deploy::value::{Scalar, Value};

impl Scope<'_> {
    /// Fills in what a value of a type does not say.
    pub fn completed(&self, of: &Expression, value: Value) -> Value {
        let (Expression::FuncCall(call), Some(depth)) = (of, self.depth.checked_sub(1)) else { return value };
        let inner = Self { depth, ..self.clone() };
        match (call.name.name.as_str(), call.args.iter().next(), value) {
            ("object", Some(Expression::Object(attributes)), mut value @ Value::Map(_)) => {
                for (key, of) in attributes.iter() {
                    let (ObjectKey::Ident(name) | ObjectKey::Expression(Expression::Variable(name))) = key
                    else {
                        continue;
                    };
                    let made = inner.attribute(of.expr(), value.entry(name.as_str()).cloned());
                    made.into_iter().for_each(|made| value.insert(name.as_str(), made));
                }
                value
            }
            ("map", Some(of), value @ Value::Map(_)) => {
                Value::map(value.entries().map(|(key, value)| (key, inner.completed(of, value.clone()))))
            }
            ("list" | "set" | "map", Some(of), Value::List(items)) => {
                Value::list(items.iter().map(|item| inner.completed(of, item.clone())).collect())
            }
            ("tuple", Some(Expression::Array(of)), Value::List(items)) => {
                let pairs = items.iter().zip(of.iter());
                Value::list(pairs.map(|(item, of)| inner.completed(of, item.clone())).collect())
            }
            (_, _, value) => value,
        }
    }

    /// Returns what an attribute of an object has, which may be optional.
    fn attribute(&self, of: &Expression, there: Option<Value>) -> Option<Value> {
        let Some(call) = optional(of) else { return there.map(|value| self.completed(of, value)) };
        let mut args = call.args.iter();
        let (of, default) = (args.next()?, args.next());
        let default = || default.map(|default| named(self.eval(default)));
        let null = || Value::Scalar(Scalar::made("").as_plain());
        let value = there.filter(|value| !value.is_null()).or_else(default).unwrap_or_else(null);
        Some(self.completed(of, value))
    }
}

fn optional(of: &Expression) -> Option<&FuncCall> {
    of.as_func_call().filter(|call| call.name.name.as_str() == "optional")
}

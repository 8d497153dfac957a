//! What Terraform leaves as its state has it, whatever a resource says of it: `lifecycle { ignore_changes = [version] }`.
//!
//! Sources: `internal/configs/resource.go` (`decodeResourceBlock`), `internal/configs/compat_shim.go` (names in quotes) and
//! `internal/terraform/node_resource_abstract_instance.go` (`processIgnoreChanges`) of hashicorp/terraform.

use hcl_edit::{
    expr::{Expression, TraversalOperator},
    structure::Block,
};

use super::scope::{Scope, member};
use crate::deploy::value::Value;

/// Lists the parts of a resource of which no change is taken over.
pub(super) fn left(scope: &Scope<'_>, block: &Block) -> Vec<Value> {
    let named = |block: &Block| {
        let mut own = block.body.get_blocks("lifecycle");
        own.find_map(|own| own.body.get_attribute("ignore_changes")).map(|named| named.value.clone())
    };
    let over = scope.overrides(block).filter_map(|(_, over)| named(over)).last();
    let Some(named) = over.or_else(|| named(block)) else { return Vec::new() };
    let items: Vec<&Expression> = match &named {
        Expression::Array(items) => items.iter().collect(),
        one => vec![one],
    };
    let body = scope.resource(block);
    items.into_iter().filter_map(|item| led(scope, &body, item)).collect()
}

/// Returns what a name of an attribute leads to, as far as its steps go.
fn led(scope: &Scope<'_>, body: &Value, named: &Expression) -> Option<Value> {
    if let Some(text) = named.as_str() {
        return attribute(body, text.split(['.', '[']).next()?);
    }
    if let Some(name) = named.as_variable() {
        return attribute(body, name.as_str());
    }
    let traversal = named.as_traversal()?;
    let mut value = attribute(body, traversal.expr.as_variable()?.as_str())?;
    for operator in &traversal.operators {
        let key = match operator.value() {
            TraversalOperator::GetAttr(name) => Some(name.as_str().to_owned()),
            TraversalOperator::Index(index) => scope.text(&scope.certainly().eval(index)),
            TraversalOperator::LegacyIndex(index) => Some(index.value().to_string()),
            TraversalOperator::AttrSplat(_) | TraversalOperator::FullSplat(_) => None,
        };
        let Some(key) = key else { break };
        // A block that stands alone is the first of a list.
        let is_itself = key == "0" && matches!(value, Value::Map(_));
        value = if is_itself { value } else { member(&value, &key)? };
    }
    Some(value)
}

fn attribute(body: &Value, name: &str) -> Option<Value> {
    match name {
        "all" | "*" => Some(body.clone()),
        name => body.get(name).cloned(),
    }
}

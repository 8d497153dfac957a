//! Which configuration of a provider a block is for: `provider = helm.eu` goes to another cluster than `helm`.

use std::collections::BTreeMap;

use hcl_edit::{
    expr::{Expression, ObjectKey, TraversalOperator},
    structure::Block,
};

/// What the Helm provider may be told to do beside its usual ways, and that of them by which it compares manifests.
const EXPERIMENTS: &str = "experiments";
const MANIFEST: &str = "manifest";

/// For each name of a provider in a module, the alias that the root knows it by; a root's own names are not among them.
#[derive(Clone, Debug, Default)]
pub(super) struct Providers(BTreeMap<String, Option<String>>);

// === impl Providers ===

impl Providers {
    /// Returns the alias of the provider that a resource is made by; `None` is the one without.
    pub fn alias(&self, block: &Block) -> Option<String> {
        let kind = block.labels.first().map(|label| label.as_str()).unwrap_or_default();
        // Without a name it is the first word of the resource's type.
        let usual = || kind.split('_').next().unwrap_or_default().to_owned();
        let named = block.body.get_attribute("provider").and_then(|provider| name(&provider.value));
        self.resolved(&named.unwrap_or_else(usual))
    }

    /// Returns those of a module that a block calls: what it is not given, it has from the caller.
    pub fn inside(&self, block: &Block) -> Self {
        let mut inner = self.0.clone();
        let given = block.body.get_attribute("providers").and_then(|given| given.value.as_object());
        for (key, value) in given.into_iter().flatten() {
            let key = match key {
                ObjectKey::Ident(own) => Some(own.as_str().to_owned()),
                ObjectKey::Expression(own) => name(own),
            };
            if let (Some(key), Some(value)) = (key, name(value.expr())) {
                inner.insert(key, self.resolved(&value));
            }
        }
        Self(inner)
    }

    fn resolved(&self, name: &str) -> Option<String> {
        let own = || name.split_once('.').map(|(_, alias)| alias.to_owned());
        self.0.get(name).cloned().unwrap_or_else(own)
    }
}

/// Tells whether the Helm provider is told to compare manifests (`experiments`), as a block or as a map.
pub(super) fn compares_manifests<'b>(blocks: impl Iterator<Item = &'b Block>) -> bool {
    let is_key = |key: &ObjectKey| match key {
        ObjectKey::Ident(own) => own.as_str() == MANIFEST,
        ObjectKey::Expression(own) => name(own).as_deref() == Some(MANIFEST),
    };
    let is_helm = |block: &&Block| {
        block.ident.as_str() == "provider" && block.labels.first().is_some_and(|name| name.as_str() == "helm")
    };
    let mut providers = blocks.filter(is_helm);
    providers.any(|provider| {
        let of_block = |block: &Block| block.body.get_attribute(MANIFEST)?.value.as_bool();
        let map = provider.body.get_attribute(EXPERIMENTS).and_then(|map| map.value.as_object());
        let mut entries = map.into_iter().flatten();
        provider.body.get_blocks(EXPERIMENTS).any(|block| of_block(block) == Some(true))
            || entries.any(|(key, value)| is_key(key) && value.expr().as_bool() == Some(true))
    })
}

/// Returns the name that an expression is: `helm`, or `helm.eu`.
fn name(expression: &Expression) -> Option<String> {
    if let Some(name) = expression.as_variable() {
        return Some(name.as_str().to_owned());
    }
    let traversal = expression.as_traversal()?;
    let root = traversal.expr.as_variable()?.as_str();
    match traversal.operators.first()?.value() {
        TraversalOperator::GetAttr(alias) => Some(format!("{root}.{}", alias.as_str())),
        _ => None,
    }
}

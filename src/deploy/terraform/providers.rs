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

/// Finds the configuration of the Helm provider that has an alias, or none.
pub(super) fn helm<'b>(
    mut blocks: impl Iterator<Item = &'b Block>,
    alias: Option<&str>,
) -> Option<&'b Block> {
    let own = |block: &'b Block| block.body.get_attribute("alias").and_then(|alias| alias.value.as_str());
    blocks.find(|&block| {
        let is_helm = || block.labels.first().is_some_and(|name| name.as_str() == "helm");
        block.ident.as_str() == "provider" && is_helm() && own(block) == alias
    })
}

/// Tells whether a Helm provider is told to compare manifests (`experiments`), as a block or as a map.
pub(super) fn compares_manifests(provider: &Block) -> bool {
    let is_key = |key: &ObjectKey| match key {
        ObjectKey::Ident(own) => own.as_str() == MANIFEST,
        ObjectKey::Expression(own) => name(own).as_deref() == Some(MANIFEST),
    };
    let of_block = |block: &Block| block.body.get_attribute(MANIFEST)?.value.as_bool();
    let map = provider.body.get_attribute(EXPERIMENTS).and_then(|map| map.value.as_object());
    let mut entries = map.into_iter().flatten();
    provider.body.get_blocks(EXPERIMENTS).any(|block| of_block(block) == Some(true))
        || entries.any(|(key, value)| is_key(key) && value.expr().as_bool() == Some(true))
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

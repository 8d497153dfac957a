//! Step 5, pins: where the pods run that a proxy annotation goes to.
//!
//! In: nothing. Out: [`Home`], as the objects say that reach the cluster. Looked for only where somebody asks.

use std::collections::BTreeMap;

use crate::deploy::Value;

/// Pods that an annotation goes to, by what tells them from others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Home {
    /// Their namespace; `None` where the tree does not tell.
    pub namespace: Option<String>,
    /// Their labels; of a namespace its own.
    pub labels: BTreeMap<String, String>,
}

// === impl Home ===

impl Home {
    /// Reads the labels that stand beside annotations.
    pub(super) fn new(namespace: Option<&str>, labels: Option<&Value>) -> Self {
        let labels = labels.into_iter().flat_map(Value::entries);
        let text =
            |(key, value): (&str, &Value)| Some((key.to_owned(), value.as_scalar()?.known()?.into_owned()));
        Self { namespace: namespace.map(str::to_owned), labels: labels.filter_map(text).collect() }
    }
}

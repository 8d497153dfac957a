//! Step 7, render: texts that are committed in other words than a chart of the index gives: descriptions in CRDs that differ in
//! their blanks alone, labels without a version.
//!
//! In: a rendering and what is committed. Out: the fields that stay as they are committed. kustomize folds long texts
//! anew, and gives some of them another line break by it; nobody changed anything.

use serde_json::Value;

use super::{
    field::{Field, differing},
    nondeterministic::Nondeterministic,
    placed::Placed,
};
use crate::render::{Manifest, Object, ObjectKey};

/// A description that is committed with other blanks.
pub(super) struct Reworded {
    object: ObjectKey,
    field: Field,
    /// What the chart gives.
    rendered: Value,
}

/// Finds them.
pub(super) fn reworded(rendered: &Manifest, placed: &Placed) -> Vec<Reworded> {
    let crds = rendered.objects.iter().filter(|o| o.key.kind == "CustomResourceDefinition");
    let of = |object: &Object| {
        let Some((_, committed)) = placed.get(&object.key) else { return Vec::new() };
        let alike = |field: &Field| {
            let (old, new) = (field.find(&committed.value)?.as_str()?, field.find(&object.value)?);
            let same = old.split_whitespace().eq(new.as_str()?.split_whitespace());
            (same && field.is_under("description")).then(|| new.clone())
        };
        let fields = differing(&committed.value, &object.value).into_iter();
        let found = fields.filter_map(|field| {
            let rendered = alike(&field)?;
            Some(Reworded { object: object.key.clone(), field, rendered })
        });
        found.collect()
    };
    crds.flat_map(of).collect()
}

/// Adds them to what is put back, where a rendering still gives the same text.
pub(super) fn keep(reworded: &[Reworded], rendered: &Manifest, nondeterministic: &mut Nondeterministic) {
    for text in reworded {
        let given = rendered.get(&text.object).and_then(|object| text.field.find(&object.value));
        if given == Some(&text.rendered) {
            nondeterministic.fields.entry(text.object.clone()).or_default().push(text.field.clone());
        }
    }
}

/// What the CLI names as the version of the charts that it carries: its release numbers them only when they are packaged.
const UNVERSIONED: &str = "0.0.0-undefined";

/// Adds the labels in which the CLI named a chart without its version: they stay as they are.
pub(super) fn keep_unversioned(
    chart: &str,
    rendered: &Manifest,
    placed: &Placed,
    nondeterministic: &mut Nondeterministic,
) {
    let field = Field::keys(&["metadata", "labels", "helm.sh/chart"]);
    let unversioned = Value::String(format!("{chart}-{UNVERSIONED}"));
    for object in &rendered.objects {
        let committed = placed.get(&object.key).and_then(|(_, committed)| field.find(&committed.value));
        if committed == Some(&unversioned) && field.find(&object.value).is_some() {
            nondeterministic.fields.entry(object.key.clone()).or_default().push(field.clone());
        }
    }
}

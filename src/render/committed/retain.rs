//! Step 7, render: a rendering in which the chart's inventions are as committed.
//!
//! In: rendered text, the fields that are not the release's, the committed objects. Out: the text with their values, by
//! splices; everything else is byte for byte Helm's. Nothing is ever invented here: a field that is committed nowhere, and
//! cannot be restored, is named and stops the whole.

use serde_json::Value;

use super::{emit, field::Field, restore::Restore};
use crate::{
    edit::{Splice, spliced},
    render::{Manifest, Object, ObjectKey},
};

/// A rendering with the committed values in it.
pub(super) struct Retained {
    /// The manifest.
    pub(super) manifest: Manifest,
    /// Fields for which nothing is committed.
    pub(super) nowhere: Vec<(ObjectKey, Field)>,
}

/// Writes a value to one field of one object.
pub(super) struct Put<'a> {
    /// The object.
    pub(super) object: &'a ObjectKey,
    /// The field.
    pub(super) field: &'a Field,
    /// What it is to hold.
    pub(super) value: &'a Value,
}

/// Puts committed values back, and restores those of what is not committed any more; `checksums` says whether those of
/// checksums are put back too.
pub(super) fn retain<'v>(
    restore: &Restore<'_>,
    committed: &dyn Fn(&ObjectKey) -> Option<&'v Value>,
    checksums: bool,
) -> Option<Retained> {
    let Restore { rendered, nondeterministic, .. } = *restore;
    let mut puts = Vec::new();
    let mut lost: Vec<(&ObjectKey, &Field)> = Vec::new();
    for (key, field) in
        nondeterministic.fields.iter().flat_map(|(key, fields)| fields.iter().map(move |f| (key, f)))
    {
        match committed(key).and_then(|value| field.find(value)) {
            Some(value) => puts.push(Put { object: key, field, value }),
            None => lost.push((key, field)),
        }
    }
    let restored: Vec<Option<Value>> =
        lost.iter().map(|(key, field)| restore.value(key, field, committed)).collect();
    let mut nowhere = Vec::new();
    for ((object, field), value) in lost.into_iter().zip(&restored) {
        match value {
            Some(value) => puts.push(Put { object, field, value }),
            None => nowhere.push((object.clone(), field.clone())),
        }
    }
    for sum in nondeterministic.checksums.iter().filter(|_| checksums) {
        let value = committed(&sum.object).and_then(|value| sum.field.find(value));
        puts.extend(value.map(|value| Put { object: &sum.object, field: &sum.field, value }));
    }
    Some(Retained { manifest: put(rendered, &puts)?, nowhere })
}

/// Writes values into a manifest; `None` where it does not read as intended then.
pub(super) fn put(manifest: &Manifest, puts: &[Put<'_>]) -> Option<Manifest> {
    let mut splices = Vec::new();
    for put in puts {
        let object = manifest.get(put.object)?;
        if put.field.find(&object.value) == Some(put.value) {
            continue;
        }
        let node = put.field.node(manifest.node(object)?)?;
        let text = match put.value {
            Value::String(new) => emit::like(&manifest.text, node, new),
            other => emit::inline(other),
        };
        splices.push(Splice { span: node.span().start..emit::end(&manifest.text, node), with: text });
    }
    if splices.is_empty() {
        return Some(manifest.clone());
    }
    splices.sort_by_key(|s| s.span.start);
    let new = Manifest::parse(spliced(&manifest.text, &splices)?).ok()?;
    let holds = |object: &Object| {
        let mut wanted = manifest.get(&object.key)?.value.clone();
        puts.iter()
            .filter(|p| *p.object == object.key)
            .for_each(|p| p.field.set(&mut wanted, p.value.clone()));
        (wanted == object.value).then_some(())
    };
    let same = new.objects.len() == manifest.objects.len() && new.objects.iter().all(|o| holds(o).is_some());
    same.then_some(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::committed::nondeterministic::Nondeterministic;

    #[test]
    fn committed_values_are_put_back_and_nothing_else_changes() {
        let text = "---\nkind: S\napiVersion: v1\nmetadata: {name: a}\ndata:\n  tls.key: bmV3\n  x: \"44 03 * * *\" # when\n  pem: |-\n    a\n    b\n---\nkind: T\napiVersion: v1\nmetadata:\n  name: b\n  n: linkerd/helm %!s(<nil>)\n";
        let rendered = Manifest::parse(text).unwrap();
        let committed = Manifest::parse(
            text.replace("bmV3", "b2xk").replace("44 03", "10 21").replace("    b\n", "    c\n    d\n"),
        )
        .unwrap();
        let key = rendered.objects[0].key.clone();
        let fields = [["data", "tls.key"], ["data", "x"], ["data", "pem"], ["data", "none"]]
            .map(|k| Field::keys(&k))
            .to_vec();
        let nondeterministic =
            Nondeterministic { fields: [(key.clone(), fields)].into(), ..Nondeterministic::default() };
        let lookup = |k: &ObjectKey| committed.get(k).map(|o| &o.value);
        let restore =
            Restore { rendered: &rendered, nondeterministic: &nondeterministic, given: "", seed: "" };
        let retained = retain(&restore, &lookup, false).unwrap();
        assert_eq!(retained.manifest.text, committed.text);
        assert_eq!(retained.nowhere, [(key, Field::keys(&["data", "none"]))]);
    }
}

//! Step 7, render: checksums over templates, so that the same inputs always give the same bytes.
//!
//! In: old and new rendering with the committed values put back. Out: the new one with its checksums settled. Helm's own
//! is over a second evaluation of the template, with keys that exist nowhere else, and cannot be had again.

use std::{collections::BTreeSet, fmt::Write};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    nondeterministic::Nondeterministic,
    retain::{Put, put},
};
use crate::render::{Manifest, ObjectKey};

/// Settles each checksum: as committed where the text of its templates did not change, Helm's own where that is steady and
/// nothing was put back into them, else ours over what is written: not over objects that are `without` a place in Git.
pub(super) fn settle<'v>(
    old: &Manifest,
    raw: &Manifest,
    new: &Manifest,
    (nondeterministic, without): (&Nondeterministic, &BTreeSet<&ObjectKey>),
    committed: &dyn Fn(&ObjectKey) -> Option<&'v Value>,
) -> Option<Manifest> {
    let hashed = |manifest: &Manifest, sources: &[String]| hashed(manifest, sources, without);
    let mut values = Vec::new();
    for sum in &nondeterministic.checksums {
        let text = hashed(new, &sum.sources);
        let kept = committed(&sum.object).and_then(|value| sum.field.find(value));
        let unchanged = hashed(old, &sum.sources) == text;
        let value = match kept.filter(|_| unchanged) {
            Some(kept) => kept.clone(),
            None if sum.steady && hashed(raw, &sum.sources) == text => continue,
            None => Value::String(hex(&Sha256::digest(text.as_bytes()))),
        };
        values.push((sum, value));
    }
    let puts: Vec<Put<'_>> =
        values.iter().map(|(sum, value)| Put { object: &sum.object, field: &sum.field, value }).collect();
    put(new, &puts)
}

/// Returns the documents of templates as one text. How Helm ends a document differs between its versions.
fn hashed(manifest: &Manifest, sources: &[String], without: &BTreeSet<&ObjectKey>) -> String {
    let of = |source: &Option<String>| source.as_ref().is_some_and(|source| sources.contains(source));
    let documents = manifest.objects.iter().filter(|o| of(&o.source) && !without.contains(&o.key));
    let documents = documents.map(|o| manifest.document(o).trim_end());
    documents.collect::<Vec<_>>().join("\n---\n")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

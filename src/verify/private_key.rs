//! Step 8, verify: no private key enters Git.
//!
//! In: the change set, and committed manifests before and after. Out: a `block` for each file that would hold a key which
//! nothing in the change held before: as PEM, in JSON, in base64 or bare. The key itself is never named.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{CheckId, Checked, Finding, Verification, count};
use crate::{
    helm::key_material::{KeyId, private_keys},
    render::{Manifest, value},
    yaml::Stream,
};

pub(super) const ID: CheckId = CheckId::PrivateKey;

const HINT: &str = "do not merge; take the key from cert-manager or another Secret outside Git (`externalSecret: true`, \
                    `identity.issuer.scheme: kubernetes.io/tls`)";

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let files = &input.changes.files;
    let committed = || input.rendered.done.iter().filter(|r| r.committed);
    let mut known: BTreeSet<KeyId> = files.iter().flat_map(|file| in_bytes(&file.before)).collect();
    known.extend(committed().flat_map(|r| in_manifest(&r.before)));
    let mut findings = Vec::new();
    let mut told = BTreeSet::new();
    for file in files {
        let found = file.after.as_deref().map(in_bytes).unwrap_or_default();
        let new: BTreeSet<KeyId> = found.difference(&known).copied().collect();
        if !new.is_empty() {
            let reason = format!("{} would enter Git with this file", count(new.len(), "private key"));
            findings.push(Finding::block(ID, reason).at(&file.path, None).hint(HINT));
            told.extend(new);
        }
    }
    for rendering in committed() {
        let new = in_manifest(&rendering.after)
            .into_iter()
            .filter(|key| !known.contains(key) && !told.contains(key));
        let new = new.count();
        if new > 0 {
            let reason = format!("{} would enter Git with {}", count(new, "private key"), rendering.to);
            findings.push(Finding::block(ID, reason).at(&rendering.path, rendering.line).hint(HINT));
        }
    }
    let looked_at = format!(
        "{} and {}",
        count(files.len(), "changed file"),
        count(committed().count(), "committed manifest")
    );
    Checked { looked_at, findings }
}

/// Finds keys in the text and, where it is YAML or JSON, in its values: an escape may hide a key from the first.
fn in_bytes(bytes: &[u8]) -> BTreeSet<KeyId> {
    let text = String::from_utf8_lossy(bytes);
    let mut found = private_keys(&text);
    let stream = Stream::parse(&text).ok();
    for root in stream.iter().flat_map(|stream| stream.roots()) {
        if let Ok(value) = value::of(root) {
            collect(&value, &mut found);
        }
    }
    found
}

fn in_manifest(manifest: &Manifest) -> BTreeSet<KeyId> {
    let mut found = private_keys(&manifest.text);
    manifest.objects.iter().for_each(|object| collect(&object.value, &mut found));
    found
}

fn collect(value: &Value, found: &mut BTreeSet<KeyId>) {
    match value {
        Value::String(text) => found.extend(private_keys(text)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(map) => map.values().for_each(|value| collect(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity::*, testing::*};
    use base64::{Engine, engine::general_purpose::STANDARD};

    fn key() -> String {
        rcgen::KeyPair::generate().unwrap().serialize_pem()
    }

    fn moved_to(text: String) -> Vec<Finding> {
        let case = rendered("", "").tamper(move |changes| changes.files[0].after = Some(text.into_bytes()));
        case.check(ID)
    }

    #[test]
    fn a_new_key_blocks_in_every_wrapping_and_is_not_named() {
        let pem = key();
        let escaped =
            format!("k: \"{}\"\n", pem.replace('\n', "\\n").replace("PRIVATE KEY", "PRIVATE\\x20KEY"));
        let numbered: String = pem.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
        let json = serde_json::json!({"a": [pem]}).to_string();
        let secret = format!("kind: Secret\ndata:\n  tls.key: {}\n", STANDARD.encode(&pem));
        for text in [pem.clone(), escaped, format!("k: \"{numbered}\"\n"), json, secret] {
            let found = moved_to(text);
            assert_eq!(severities(&found), [Block]);
            assert!(found[0].reason.starts_with("1 private key would enter Git"));
            assert!(!found[0].reason.contains(pem.lines().nth(1).unwrap()));
        }
    }

    #[test]
    fn a_key_that_was_there_passes_also_in_another_file() {
        let pem = key();
        let wrapped = STANDARD.encode(&pem);
        let case = rendered("", "").tamper(move |changes| {
            let mut other = changes.files[0].clone();
            other.path = crate::plan::testing::path("new.yaml");
            (other.before, other.before_id) = (Vec::new(), None);
            other.after = Some(format!("a: {wrapped}\n").into_bytes());
            changes.files[0].before = pem.into_bytes();
            changes.files.push(other);
        });
        assert_eq!(case.check(ID), []);
        assert_eq!(moved_to("a: edge-26.8.3\n".into()), []);
    }

    #[test]
    fn committed_manifests_are_searched_and_what_the_cluster_renders_is_not_in_git() {
        let secret = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\ndata: {{k: {}}}\n",
            STANDARD.encode(key())
        );
        let committed = rendered("", &secret).with_rendering(|r| r.committed = true);
        assert_eq!(severities(&committed.check(ID)), [Block]);
        let kept = rendered(&secret, &secret).with_rendering(|r| r.committed = true);
        assert_eq!(kept.check(ID), []);
        assert_eq!(rendered("", &secret).check(ID), []);
    }
}

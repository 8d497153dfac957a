//! Step 7, render: fields that a chart invents, made the same in every rendering.
//!
//! In: a manifest, and the texts that the user gave. Out: the manifest with a constant in place of what the chart made
//! up by itself: certificates that it signed itself with their keys, what refers to them, and fields from the clock. What
//! the user gave stays, so that a change of it shows.

use std::{collections::BTreeSet, ops::Range};

use base64::{Engine, engine::general_purpose::STANDARD};
use x509_parser::pem::Pem;

use super::{Manifest, ManifestError, Object};
use crate::{linkerd::ClockField, yaml::Node};

/// What stands in the place of an invented text.
pub const MADE: &str = "made by the chart when it is installed";
/// What stands in the place of a schedule from the clock: it must stay one.
const SCHEDULE: &str = "0 0 * * *";

/// The groups whose objects hold the bundle of a certificate.
const BUNDLES: [&str; 3] = ["admissionregistration.k8s.io", "apiregistration.k8s.io", "apiextensions.k8s.io"];

/// Replaces what the chart invents; `given` are the texts of the user's values, trimmed.
pub fn normalize(
    manifest: Manifest,
    given: &BTreeSet<String>,
    clock: &[ClockField],
) -> Result<Manifest, ManifestError> {
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for object in &manifest.objects {
        if let Some(node) = root_of(&manifest, object) {
            certificates(object, node, given, &mut edits);
        }
    }
    // A checksum over what was invented is invented too; over anything else it is a real change.
    if !edits.is_empty() {
        for object in &manifest.objects {
            let annotations = ["spec", "template", "metadata", "annotations"];
            let node = root_of(&manifest, object).and_then(|node| node.path(&annotations));
            let sums = node.into_iter().flat_map(Node::entries);
            let sums = sums.filter(|(key, _)| key.as_str().is_some_and(|k| k.starts_with("checksum/")));
            sums.for_each(|(_, sum)| edits.push((sum.span(), MADE.to_owned())));
        }
    }
    for object in &manifest.objects {
        for field in clock.iter().filter(|f| f.kind == object.key.kind && f.name == object.key.name) {
            let keys: Vec<&str> = field.field.iter().map(String::as_str).collect();
            let node = root_of(&manifest, object).and_then(|node| node.path(&keys));
            let own = |node: &Node<'_>| node.as_str().is_some_and(|text| !given.contains(text.trim()));
            edits.extend(node.filter(own).map(|node| (node.span(), SCHEDULE.to_owned())));
        }
    }
    written(manifest, edits)
}

/// Finds the object again where its document is a list.
fn root_of<'m>(manifest: &'m Manifest, object: &Object) -> Option<Node<'m>> {
    let root = manifest.root(object)?;
    let is_it = |node: &Node<'_>| {
        node.text(&["kind"]) == Some(&object.key.kind)
            && node.text(&["metadata", "name"]) == Some(&object.key.name)
            && node.text(&["metadata", "namespace"]) == object.key.namespace.as_deref()
    };
    let items = root.get("items").into_iter().flat_map(Node::items);
    std::iter::once(root).chain(items).find(is_it)
}

fn certificates(
    object: &Object,
    node: Node<'_>,
    given: &BTreeSet<String>,
    edits: &mut Vec<(Range<usize>, String)>,
) {
    if object.key.kind == "Secret" && object.key.group.is_empty() {
        for (field, encoded) in [("data", true), ("stringData", false)] {
            let texts = |(_, value): (Node<'_>, Node<'_>)| Some((value.span(), text_of(value, encoded)?));
            let entries = node.get(field).into_iter().flat_map(Node::entries);
            let own: Vec<_> =
                entries.filter_map(texts).filter(|(_, text)| !given.contains(text.trim())).collect();
            if own.iter().any(|(_, text)| is_self_signed(text)) {
                let key = |text: &str| text.contains("PRIVATE KEY-----");
                let made = own.iter().filter(|(_, text)| is_self_signed(text) || key(text));
                let constant = if encoded { STANDARD.encode(MADE) } else { MADE.to_owned() };
                edits.extend(made.map(|(span, _)| (span.clone(), constant.clone())));
            }
        }
    }
    if BUNDLES.contains(&object.key.group.as_str()) {
        for bundle in bundles(node) {
            let text = text_of(bundle, true);
            if text.is_some_and(|text| !given.contains(text.trim()) && is_self_signed(&text)) {
                edits.push((bundle.span(), STANDARD.encode(MADE)));
            }
        }
    }
}

/// Lists the values under `caBundle`, wherever they stand.
fn bundles(root: Node<'_>) -> Vec<Node<'_>> {
    let (mut found, mut todo) = (Vec::new(), vec![root]);
    while let Some(node) = todo.pop() {
        if node.is_alias() {
            continue;
        }
        for (key, value) in node.entries() {
            if key.as_str() == Some("caBundle") && value.as_str().is_some() {
                found.push(value);
            } else {
                todo.push(value);
            }
        }
        todo.extend(node.items());
    }
    found
}

fn text_of(node: Node<'_>, encoded: bool) -> Option<String> {
    let text = node.as_str()?;
    if !encoded {
        return Some(text.to_owned());
    }
    let plain: String = text.split_whitespace().collect();
    String::from_utf8(STANDARD.decode(plain).ok()?).ok()
}

/// Tells whether a text begins with a certificate that is its own issuer.
fn is_self_signed(text: &str) -> bool {
    let Some(Ok(pem)) = Pem::iter_from_buffer(text.as_bytes()).next() else { return false };
    pem.parse_x509().is_ok_and(|certificate| certificate.issuer() == certificate.subject())
}

fn written(manifest: Manifest, mut edits: Vec<(Range<usize>, String)>) -> Result<Manifest, ManifestError> {
    if edits.is_empty() {
        return Ok(manifest);
    }
    edits.sort_by_key(|(span, _)| span.start);
    let mut text = String::with_capacity(manifest.text.len());
    let mut at = 0;
    for (span, new) in edits.iter().filter(|(span, _)| !span.is_empty()) {
        let Some(between) = manifest.text.get(at..span.start) else { continue };
        text.push_str(between);
        text.push_str(&serde_json::Value::from(new.as_str()).to_string());
        // A block scalar ends with its line.
        let old = manifest.text.get(span.clone()).unwrap_or_default();
        text.push_str(if old.ends_with('\n') { "\n" } else { "" });
        at = span.end;
    }
    text.push_str(manifest.text.get(at..).unwrap_or_default());
    Manifest::parse(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(vec!["a.b.svc".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    fn manifest(sum: &str, schedule: &str) -> (String, String) {
        let (cert, key) = certificate();
        let (c, k) = (STANDARD.encode(&cert), STANDARD.encode(&key));
        let text = format!(
            "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: tls}}\ndata:\n  tls.crt: {c}\n  tls.key: {k}\n  other: eA==\n\
             ---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {{name: w}}\nwebhooks:\n- name: a\n  clientConfig:\n    caBundle: {c}\n\
             ---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d}}\nspec:\n  template:\n    metadata:\n      annotations:\n        checksum/config: {sum}\n        other: {sum}\n\
             ---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: beat}}\nspec:\n  schedule: '{schedule}'\n"
        );
        (text, cert)
    }

    fn clock() -> Vec<ClockField> {
        let field = vec!["spec".to_owned(), "schedule".to_owned()];
        vec![ClockField { kind: "CronJob".to_owned(), name: "beat".to_owned(), field, source: String::new() }]
    }

    fn text(manifest: &str, given: &[&str]) -> String {
        let given = given.iter().map(|t| t.trim().to_owned()).collect();
        normalize(Manifest::parse(manifest).unwrap(), &given, &clock()).unwrap().text.to_string()
    }

    #[test]
    fn what_the_chart_makes_up_is_the_same_in_two_renderings() {
        let (first, second) = (manifest("1", "1 2 * * *").0, manifest("2", "3 4 * * *").0);
        let (first, second) = (text(&first, &[]), text(&second, &[]).replace("other: 2", "other: 1"));
        assert_eq!(first, second);
        assert!(first.contains("other: eA==") && first.contains("schedule: \"0 0 * * *\""));
        assert!(!first.contains("checksum/config: 1"));
    }

    #[test]
    fn what_the_user_gives_is_compared() {
        let (given, cert) = manifest("1", "1 2 * * *");
        let out = text(&given, &[&cert, "1 2 * * *"]);
        assert_eq!(out, given);
    }

    #[test]
    fn certificates_of_an_authority_are_no_invention() {
        let text_of_bundle = "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: a}\nspec: {caBundle: eA==}\n";
        assert_eq!(text(text_of_bundle, &[]), text_of_bundle);
    }
}

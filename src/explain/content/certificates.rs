//! Step 9, explain: certificates before and after a change, compared by what they say.
//!
//! In: renderings. Out: [`Certificates`]. Two encodings of one certificate are the same. What Helm makes anew in the
//! cluster at each upgrade is counted and not compared: it is not known here. Pure.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    helm::key_material::{Certificate, certificates},
    render::{Manifest, Rendering, normalize::MADE},
};

/// The shortest text that can hold a certificate.
const SHORTEST: usize = 200;

/// The certificates of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Certificates {
    /// Those that stay, each once, the first to expire first.
    pub retained: Vec<Known>,
    /// Places where they differ.
    pub replaced: Vec<Replaced>,
    /// Places whose certificate Helm makes in the cluster.
    pub generated: usize,
    /// Places whose certificate comes from outside the repository.
    pub outside: usize,
}

/// A certificate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Known {
    /// The last day on which it is valid.
    pub until: String,
    /// Whom it names.
    pub subject: String,
    /// The start of its SHA-256 fingerprint.
    pub fingerprint: String,
    /// An object or value that holds it.
    pub place: String,
}

/// A place whose certificates differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Replaced {
    /// The object or value.
    pub place: String,
    /// What it held.
    pub before: Vec<Known>,
    /// What it holds.
    pub after: Vec<Known>,
}

type Held = BTreeMap<String, Vec<Certificate>>;

// === impl Certificates ===

impl Certificates {
    /// Compares the certificates of all renderings.
    pub(super) fn of(renderings: &[Rendering]) -> Self {
        let mut found = Self::default();
        let mut retained: BTreeMap<Vec<u8>, Known> = BTreeMap::new();
        for rendering in renderings {
            let stand_ins: BTreeSet<&str> =
                rendering.stand_ins.iter().filter_map(|one| one.target.as_deref()).collect();
            let (before, after) = match rendering.committed {
                true => (in_objects(&rendering.before), in_objects(&rendering.after)),
                false => {
                    let (before, after) =
                        (in_values(&rendering.values_before), in_values(&rendering.values_after));
                    let real = |held: Held| -> Held {
                        held.into_iter().filter(|(path, _)| !stand_ins.contains(path.as_str())).collect()
                    };
                    let made = rendering
                        .after
                        .objects
                        .iter()
                        .filter(|object| object.key.kind == "Secret" && is_made(&object.value));
                    found.generated += made.count();
                    found.outside += stand_ins.iter().filter(|path| names_certificate(path)).count();
                    (real(before), real(after))
                }
            };
            found.compare(&before, &after, &mut retained);
        }
        found.retained = retained.into_values().collect();
        found.retained.sort();
        found
    }

    fn compare(&mut self, before: &Held, after: &Held, retained: &mut BTreeMap<Vec<u8>, Known>) {
        let places: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for place in places {
            let of = |held: &Held| held.get(place).cloned().unwrap_or_default();
            let (old, new) = (of(before), of(after));
            if old == new {
                for certificate in new {
                    let known = known(place, &certificate);
                    retained.entry(certificate.der).or_insert(known);
                }
            } else {
                let all = |held: &[Certificate]| held.iter().map(|c| known(place, c)).collect();
                self.replaced.push(Replaced { place: place.clone(), before: all(&old), after: all(&new) });
            }
        }
    }
}

/// Tells whether the chart makes a certificate of the object up: the renderer writes a constant in its place.
fn is_made(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.values().any(is_made),
        Value::Array(list) => list.iter().any(is_made),
        Value::String(text) => text == MADE || STANDARD.decode(text).is_ok_and(|t| t == MADE.as_bytes()),
        _ => false,
    }
}

fn names_certificate(path: &str) -> bool {
    let key = path.rsplit('.').next().unwrap_or(path);
    matches!(key, "crtPEM" | "caBundle" | "identityTrustAnchorsPEM")
}

fn known(place: &str, certificate: &Certificate) -> Known {
    Known {
        until: certificate.last_day().to_string(),
        subject: certificate.subject.clone(),
        fingerprint: certificate.fingerprint(),
        place: place.to_owned(),
    }
}

fn in_objects(manifest: &Manifest) -> Held {
    let mut held = Held::new();
    for object in manifest.objects.iter().filter(|o| o.key.kind != "CustomResourceDefinition") {
        let mut all = Held::new();
        collect(&object.value, &mut Vec::new(), &mut all);
        if !all.is_empty() {
            held.insert(object.key.to_string(), all.into_values().flatten().collect());
        }
    }
    held
}

fn in_values(values: &Value) -> Held {
    let mut held = Held::new();
    collect(values, &mut Vec::new(), &mut held);
    held
}

fn collect<'v>(value: &'v Value, path: &mut Vec<&'v str>, held: &mut Held) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                path.push(key);
                collect(value, path, held);
                path.pop();
            }
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, path, held)),
        Value::String(text) if text.len() >= SHORTEST => {
            let start = text.trim_start();
            // A whole values file may stand in a text, and the certificates in it are not a place of their own.
            if start.starts_with("-----BEGIN") || start.starts_with("LS0t") {
                let found = certificates(text);
                if !found.is_empty() {
                    held.entry(path.join(".")).or_default().extend(found);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{explain::content::testing::rendering, render::StandIn};
    use serde_json::json;

    fn pem() -> String {
        rcgen::generate_simple_self_signed(["a.b".to_owned()]).unwrap().cert.pem()
    }

    fn secret(pem: &str) -> String {
        let data = STANDARD.encode(pem);
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: tls}}\ndata:\n  tls.crt: {data}\n")
    }

    #[test]
    fn a_certificate_that_stays_is_retained_and_another_is_not() {
        let (one, two) = (pem(), pem());
        let mut same = rendering(&secret(&one), &secret(&(one.clone() + "\n")));
        same.committed = true;
        let found = Certificates::of(std::slice::from_ref(&same));
        assert_eq!((found.retained.len(), found.replaced.len(), found.generated), (1, 0, 0));
        let mut other = rendering(&secret(&one), &secret(&two));
        other.committed = true;
        let found = Certificates::of(&[other]);
        assert_eq!((found.retained.len(), found.replaced.len()), (0, 1));
        assert_ne!(found.replaced[0].before[0].fingerprint, found.replaced[0].after[0].fingerprint);
    }

    #[test]
    fn what_helm_makes_in_the_cluster_is_never_called_retained() {
        let one = pem();
        let made = rendering(&secret(MADE), &secret(MADE));
        let found = Certificates::of(&[made]);
        assert_eq!((found.retained.len(), found.generated), (0, 1));
        let mut given = rendering(&secret(&one), &secret(&one));
        given.values_before = json!({"crtPEM": one});
        given.values_after = given.values_before.clone();
        let found = Certificates::of(std::slice::from_ref(&given));
        assert_eq!((found.retained.len(), found.generated), (1, 0));
        given.stand_ins = vec![StandIn { target: Some("crtPEM".to_owned()), source: "Secret x".to_owned() }];
        let found = Certificates::of(&[given]);
        assert_eq!((found.retained.len(), found.outside, found.generated), (0, 1, 0));
    }
}

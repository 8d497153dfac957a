//! Step 7, render: values as they may be shown.
//!
//! In: a value. Out: text without private keys, without the data of Secrets, and with fingerprints for certificates.

use serde_json::Value;

use super::value::typed;
use crate::helm::key_material::{certificates, has_private_key};

const HIDDEN: &str = "(hidden)";
const KEY: &str = "(private key, hidden)";

/// Shows a value: a text that can be no other type as it is, anything else as JSON.
pub(super) fn shown(value: &Value, secret: bool) -> String {
    match value {
        Value::String(text) => match covered(text, secret) {
            Some(cover) => cover,
            None if is_plain(text) => text.clone(),
            None => value.to_string(),
        },
        value => masked(value, secret).to_string(),
    }
}

/// Returns a value without what is not shown.
pub(super) fn masked(value: &Value, secret: bool) -> Value {
    match value {
        Value::String(text) => covered(text, secret).map_or_else(|| value.clone(), Value::String),
        Value::Array(items) => items.iter().map(|item| masked(item, secret)).collect(),
        Value::Object(map) => map.iter().map(|(key, v)| (key.clone(), masked(v, secret))).collect(),
        _ if secret => Value::String(HIDDEN.to_owned()),
        value => value.clone(),
    }
}

/// Returns what stands for a text that is not shown.
pub(super) fn covered(text: &str, secret: bool) -> Option<String> {
    if has_private_key(text) {
        return Some(KEY.to_owned());
    }
    let start = text.trim_start();
    if start.starts_with("-----BEGIN") || start.starts_with("LS0t") {
        let found = certificates(text);
        let each = |c: &crate::helm::key_material::Certificate| {
            format!("certificate {} until {}", c.fingerprint(), c.last_day())
        };
        if !found.is_empty() {
            return Some(found.iter().map(each).collect::<Vec<_>>().join(", "));
        }
    }
    secret.then(|| HIDDEN.to_owned())
}

fn is_plain(text: &str) -> bool {
    !text.chars().any(char::is_control) && typed(text).is_string() && text.trim() == text
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::{Engine, engine::general_purpose::STANDARD};
    use serde_json::json;

    #[test]
    fn secrets_and_keys_are_never_shown() {
        let made = rcgen::generate_simple_self_signed(["a.b".to_owned()]).unwrap();
        let (key, pem) = (made.signing_key.serialize_pem(), made.cert.pem());
        assert_eq!(shown(&json!(key), false), KEY);
        assert_eq!(shown(&json!(STANDARD.encode(&key)), false), KEY);
        assert_eq!(shown(&json!({"a": [key]}), false), format!("{{\"a\":[\"{KEY}\"]}}"));
        assert_eq!(shown(&json!("c2VjcmV0"), true), HIDDEN);
        assert_eq!(shown(&json!({"n": 7, "s": "x"}), true), "{\"n\":\"(hidden)\",\"s\":\"(hidden)\"}");
        let shown_certificate = shown(&json!(STANDARD.encode(&pem)), true);
        assert!(
            shown_certificate.starts_with("certificate ") && shown_certificate.ends_with(" until 4096-01-01")
        );
    }

    #[test]
    fn plain_values_are_shown_as_they_are() {
        assert_eq!(shown(&json!("linkerd/helm edge-26.8.3"), false), "linkerd/helm edge-26.8.3");
        assert_eq!(
            shown(&json!("8443"), false),
            "\"8443\"",
            "a text that could be a number keeps its quotes"
        );
        assert_eq!(shown(&json!(8443), false), "8443");
        assert_eq!(shown(&json!("a\nb"), false), "\"a\\nb\"");
    }
}

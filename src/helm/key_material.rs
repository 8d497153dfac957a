//! private keys and certificates in text, in whatever wrapping people commit them.
//!
//! In: text. Out: what identifies each key, and the certificates. A key is found as PEM, in the escapes of JSON and
//! YAML, in base64 up to twice over and broken over lines, and as the bare base64 of the usual key formats. No key is
//! returned: only a digest that tells one from another.

use std::collections::BTreeSet;

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use x509_parser::{
    oid_registry::{OID_EC_P256, OID_KEY_TYPE_EC_PUBLIC_KEY, OID_PKCS1_RSAENCRYPTION},
    prelude::{FromDer, X509Certificate},
    x509::AlgorithmIdentifier,
};

/// What tells one private key from another: a digest of its text.
pub type KeyId = [u8; 32];

/// A certificate found in a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Certificate {
    /// Its bytes.
    pub der: Vec<u8>,
    /// Whom it names.
    pub subject: String,
    /// Until when it is valid.
    pub not_after: Timestamp,
    /// From when it is valid.
    pub not_before: Timestamp,
    /// What its key is.
    pub key: KeyKind,
}

/// The kind of a certificate's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyKind {
    /// ECDSA on P-256.
    P256,
    /// RSA.
    Rsa,
    /// Anything else.
    Other,
}

/// How often a text may be wrapped in base64.
const WRAPPINGS: usize = 3;

/// The shortest run of base64 in a line that can be a part of a key.
const LINE: usize = 40;

/// Base64 that only begins, or only occurs in, an unencrypted private key: SEC 1 and PKCS #8 on P-256, PKCS #8 with RSA
/// and with Ed25519, PKCS #1 with 2048 and 4096 bits.
const BARE: [&str; 7] = [
    "MHcCAQEEI",
    "MIGHAgEAMBMGByqGSM49AgEG",
    "IBADANBgkqhkiG9w0BAQEFAASC",
    "MC4CAQAwBQYDK2VwBCIEI",
    "MFECAQEwBQYDK2VwBCIEI",
    "IBAAKCAQEA",
    "IBAAKCAgEA",
];

/// `-----BEGIN` in base64, as it stands behind 0, 1 and 2 other bytes, each with how many characters lie between it and
/// the start of its group of four; then `-----BEGIN` in base64 twice over.
const WRAPPED: [(&str, usize); 4] =
    [("LS0tLS1CRUdJT", 0), ("0tLS0tQkVHSU", 2), ("tLS0tLUJFR0lO", 3), ("TFMwdExTMUNSVWRKV", 0)];

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Finds the private keys in a text.
pub fn private_keys(text: &str) -> BTreeSet<KeyId> {
    let mut found = BTreeSet::new();
    collect_keys(text, WRAPPINGS, &mut found);
    found
}

/// Tells whether a text has a private key in it.
pub fn has_private_key(text: &str) -> bool {
    !private_keys(text).is_empty()
}

/// Finds the certificates in a text that is PEM, or the base64 of it, in their order.
pub fn certificates(text: &str) -> Vec<Certificate> {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    if text.contains(BEGIN) {
        return text.split(BEGIN).skip(1).filter_map(certificate).collect();
    }
    let compact: String = text.split_ascii_whitespace().collect();
    if compact.starts_with("LS0tLS1CRUdJT") {
        let inner = BASE64.decode(compact).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        return inner
            .map_or(Vec::new(), |inner| inner.split(BEGIN).skip(1).filter_map(certificate).collect());
    }
    Vec::new()
}

// === impl Certificate ===

impl Certificate {
    /// Returns the start of the SHA-256 fingerprint in hexadecimal.
    pub fn fingerprint(&self) -> String {
        Sha256::digest(&self.der).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the last day on which it is valid, in UTC.
    pub fn last_day(&self) -> jiff::civil::Date {
        self.not_after.to_zoned(jiff::tz::TimeZone::UTC).date()
    }

    /// Tells whether it bears the signature of another; `None` where that cannot be told.
    pub fn is_signed_by(&self, issuer: &Self) -> Option<bool> {
        let (_, own) = X509Certificate::from_der(&self.der).ok()?;
        let (_, issuer) = X509Certificate::from_der(&issuer.der).ok()?;
        if own.issuer() != issuer.subject() {
            return Some(false);
        }
        match own.verify_signature(Some(issuer.public_key())) {
            Ok(()) => Some(true),
            Err(x509_parser::error::X509Error::SignatureVerificationError) => Some(false),
            Err(_) => None,
        }
    }
}

/// Reads one certificate: the text behind its first line.
fn certificate(text: &str) -> Option<Certificate> {
    let (body, _) = text.split_once("-----END")?;
    let der = BASE64.decode(squeezed(body)).ok()?;
    let (_, parsed) = X509Certificate::from_der(&der).ok()?;
    let not_after = Timestamp::from_second(parsed.validity().not_after.timestamp()).ok()?;
    let not_before = Timestamp::from_second(parsed.validity().not_before.timestamp()).ok()?;
    let subject = parsed.subject().to_string();
    let key = key_kind(&parsed.public_key().algorithm);
    Some(Certificate { subject, not_after, not_before, key, der })
}

fn key_kind(algorithm: &AlgorithmIdentifier<'_>) -> KeyKind {
    let curve = || algorithm.parameters.as_ref()?.as_oid().ok();
    if algorithm.algorithm == OID_PKCS1_RSAENCRYPTION {
        KeyKind::Rsa
    } else if algorithm.algorithm == OID_KEY_TYPE_EC_PUBLIC_KEY && curve() == Some(OID_EC_P256) {
        KeyKind::P256
    } else {
        KeyKind::Other
    }
}

fn collect_keys(text: &str, wrappings: usize, found: &mut BTreeSet<KeyId>) {
    let mut parts = text.split("PRIVATE KEY");
    let mut before = parts.next().unwrap_or_default();
    let known = found.len();
    for behind in parts {
        if last_words(before).contains("BEGIN") {
            let body = behind.split("-----END").next().unwrap_or_default();
            found.extend(key_id(body));
        }
        before = behind;
    }
    let Some(wrappings) = wrappings.checked_sub(1) else { return };
    let dense = squeezed(text);
    if found.len() == known {
        for needle in BARE {
            let runs = dense.match_indices(needle).filter_map(|(at, _)| key_id(run(&dense, at)));
            found.extend(runs);
        }
    }
    for (needle, shift) in WRAPPED {
        let mut from = 0;
        while let Some(at) = dense.get(from..).and_then(|rest| rest.find(needle)).map(|at| from + at) {
            let start = at.saturating_sub(shift).max(from);
            let run = run(&dense, start);
            // What is decoded once is not decoded again, whatever it is full of.
            from = (start + run.len()).max(at + 1);
            let whole = &run[..run.len() - run.len() % 4];
            if let Ok(inner) = BASE64.decode(whole) {
                collect_keys(&String::from_utf8_lossy(&inner), wrappings, found);
            }
        }
    }
}

/// Returns the identity of a key by the text between its first and its last line, `None` where that is no key but a
/// mention of one.
fn key_id(body: &str) -> Option<KeyId> {
    let dense = squeezed(body);
    let runs = dense.split(|c: char| !is_base64(c));
    runs.map(str::len).max().filter(|longest| *longest >= LINE)?;
    let key: String = dense.chars().filter(|c| is_base64(*c)).collect();
    Some(Sha256::digest(key).into())
}

/// The end of a text, where the `BEGIN` of a label may stand.
fn last_words(text: &str) -> &str {
    let from = text.len().saturating_sub(24);
    (from..text.len()).find_map(|at| text.get(at..)).unwrap_or_default()
}

/// The base64 that begins at a position.
fn run(text: &str, from: usize) -> &str {
    let rest = text.get(from..).unwrap_or_default();
    rest.split(|c: char| !is_base64(c)).next().unwrap_or_default()
}

fn is_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/')
}

/// A text without white space, quotes, and the escapes that stand for white space.
fn squeezed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                if matches!(rest.peek(), Some('n' | 'r' | 't')) {
                    rest.next();
                }
            }
            '"' | '\'' => {}
            c if c.is_whitespace() => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock::on_processor;
    use base64::engine::general_purpose::STANDARD as ENGINE;

    fn keys() -> Vec<String> {
        let algorithms = [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ED25519];
        algorithms.map(|a| rcgen::KeyPair::generate_for(a).unwrap().serialize_pem()).to_vec()
    }

    #[test]
    fn a_key_is_the_same_in_every_wrapping() {
        for pem in keys() {
            let id = private_keys(&pem);
            assert_eq!(id.len(), 1);
            let json = serde_json::json!({"a": {"tls.key": pem}}).to_string();
            let indented = format!("key: |\n  {}", pem.replace('\n', "\n  "));
            let once = ENGINE.encode(&pem);
            let lines: Vec<&str> =
                once.as_bytes().chunks(76).map(|l| std::str::from_utf8(l).unwrap()).collect();
            let folded = format!("tls.key: >-\n    {}\nother: x\n", lines.join("\n    "));
            let shifted = ["", "x", "xx", "a certificate\n"].map(|p| ENGINE.encode(format!("{p}{pem}")));
            let twice = ENGINE.encode(&once);
            let texts = [json.clone(), indented, format!("a: {once}\n"), folded, ENGINE.encode(json), twice];
            for text in texts.iter().chain(&shifted) {
                assert_eq!(private_keys(text), id, "{text}");
            }
            let bare: String = pem.lines().filter(|l| !l.starts_with('-')).collect();
            assert_eq!(private_keys(&format!("k: {bare}\n")), id, "{bare}");
        }
    }

    #[test]
    fn a_mention_of_a_key_and_a_certificate_are_none() {
        let mention = "begins with -----BEGIN EC PRIVATE KEY-----\n...\n-----END EC PRIVATE KEY-----\n";
        assert!(!has_private_key(mention));
        assert!(!has_private_key("a PRIVATE KEY of some sort"));
        let made = rcgen::generate_simple_self_signed(["a.b".to_owned()]).unwrap();
        let pem = made.cert.pem();
        assert!(!has_private_key(&pem) && !has_private_key(&ENGINE.encode(&pem)));
        assert!(has_private_key(&format!("{pem}{}", made.signing_key.serialize_pem())));
    }

    #[test]
    fn certificates_are_read_from_pem_and_base64() {
        let pem = rcgen::generate_simple_self_signed(["a.b".to_owned()]).unwrap().cert.pem();
        let both = format!("{pem}{pem}");
        assert_eq!(certificates(&both).len(), 2);
        assert_eq!(certificates(&ENGINE.encode(&both)), certificates(&both));
        assert_eq!(certificates(&both)[0].last_day().to_string(), "4096-01-01");
        assert!(certificates("-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----").is_empty());
        assert!(certificates("").is_empty());
    }

    #[test]
    fn a_text_full_of_beginnings_is_read_in_one_pass() {
        let started = on_processor();
        for needle in
            WRAPPED.map(|(needle, _)| needle).iter().chain(&["PRIVATE KEY", "-----BEGIN PRIVATE KEY-----"])
        {
            private_keys(&needle.repeat(1_000_000 / needle.len()));
        }
        let taken = on_processor() - started;
        assert!(taken.as_secs() < 20, "{taken:?}");
    }
}

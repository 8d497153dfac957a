//! Files that must not be edited because they are encrypted, or because a checksum covers their plain values.

use super::{Node, Stream};

/// The first bytes of a file that git-crypt has encrypted.
const GIT_CRYPT: &[u8] = b"\0GITCRYPT\0";

/// Keys of the metadata that SOPS writes; a mapping called `sops` with none of them is something else.
const SOPS_KEYS: [&str; 12] = [
    "mac",
    "lastmodified",
    "age",
    "pgp",
    "kms",
    "gcp_kms",
    "azure_kv",
    "hc_vault",
    "key_groups",
    "shamir_threshold",
    "encrypted_regex",
    "encrypted_suffix",
];

/// Tells whether a file is under SOPS or git-crypt, so that an edit would make it unreadable to its owner.
///
/// SOPS seals plain values too, except where `mac_only_encrypted: true` says otherwise.
///
/// ```
/// use uplinker::yaml::encrypted;
/// assert!(encrypted(b"\0GITCRYPT\0..."));
/// assert!(encrypted(b"a: 1\nsops:\n  mac: ENC[AES256_GCM,data:x]\n"));
/// assert!(!encrypted(b"a: 1\nsops:\n  mac: ENC[AES256_GCM,data:x]\n  mac_only_encrypted: true\n"));
/// ```
pub fn encrypted(bytes: &[u8]) -> bool {
    if bytes.starts_with(GIT_CRYPT) {
        return true;
    }
    if memchr::memmem::find(bytes, b"sops").is_none() {
        return false;
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    sealed_lines(text) || Stream::parse(text).is_ok_and(|s| sealed(&s))
}

/// Tells the same of a text that is parsed already.
pub fn sealed(stream: &Stream) -> bool {
    stream.roots().filter_map(|root| root.get("sops")).any(seals)
}

fn seals(sops: Node<'_>) -> bool {
    sops.entries().any(|(key, _)| key.as_str().is_some_and(|k| SOPS_KEYS.contains(&k)))
        && sops.text(&["mac_only_encrypted"]) != Some("true")
}

/// Recognises the forms that SOPS gives to files that are not YAML: `sops_mac=` in dotenv, `[sops]` in INI.
fn sealed_lines(text: &str) -> bool {
    let starts = |prefix: &str| text.lines().any(|l| l.starts_with(prefix));
    let open = || starts("sops_mac_only_encrypted=true") || starts("mac_only_encrypted = true");
    (starts("sops_mac=") || (starts("[sops]") && starts("mac"))) && !open()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_under_sops_is_encrypted() {
        assert!(encrypted(br#"{"a": "b", "sops": {"lastmodified": "2026-01-01T00:00:00Z", "mac": "x"}}"#));
        assert!(!encrypted(br#"{"a": "b", "sops": {"mac": "x", "mac_only_encrypted": true}}"#));
    }

    #[test]
    fn any_document_seals_the_file() {
        assert!(encrypted(b"a: 1\n---\nb: 2\nsops:\n    age: []\n    version: 3.9.0\n"));
    }

    #[test]
    fn a_chart_called_sops_does_not() {
        assert!(!encrypted(b"sops:\n  enabled: true\n"));
        assert!(!encrypted(b"a:\n  sops:\n    mac: x\n"));
        assert!(!encrypted(b"# sops: mac\n- sops\n"));
    }

    #[test]
    fn dotenv_and_ini_are_recognised() {
        assert!(encrypted(b"TAG=edge-26.8.2\nsops_mac=ENC[AES256_GCM,data:x]\n"));
        assert!(encrypted(b"[main]\nx = 1\n\n[sops]\nmac = ENC[AES256_GCM]\n"));
        assert!(!encrypted(b"SOPS_VERSION=3\nsops=1\n"));
    }
}

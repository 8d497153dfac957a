//! The credentials for registries that the operator gives.
//!
//! In: a name and a password for one registry, or the text of a file as `docker login` and `helm registry login` write
//! it. Out: a [`Keyring`]. Only what stands in that file counts: programs that it names (`credsStore`, `credHelpers`) are
//! not started.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use url::Url;

use super::address::{authority_of, registry};

/// Names and passwords, by the registry's host.
#[derive(Clone, Debug, Default)]
pub struct Keyring {
    keys: BTreeMap<String, Key>,
    /// Hosts that may be told any of the passwords, to give tokens for them.
    pub realms: Vec<String>,
}

/// A name and a password.
#[derive(Clone, Debug)]
pub struct Key {
    /// The name.
    pub user: String,
    /// The password.
    pub password: SecretString,
}

/// A file that holds no credentials: the operator's to fix. What it says is not in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is no file with the credentials of registries, as `docker login` writes it")]
pub struct BadKeys;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
}

// === impl Keyring ===

impl Keyring {
    /// Takes a password for one registry.
    pub fn add(&mut self, host: &str, key: Key) {
        self.keys.insert(registry(host), key);
    }

    /// Takes what a file says of registries of which nothing is known yet.
    pub fn add_file(&mut self, text: &str) -> Result<(), BadKeys> {
        // The parser's own words could quote a password.
        let file: File = serde_json::from_str(text).map_err(|_| BadKeys)?;
        for (name, entry) in file.auths {
            let Some((host, key)) = host(&name).zip(entry.key()) else { continue };
            self.keys.entry(host).or_insert(key);
        }
        Ok(())
    }

    /// Returns all passwords.
    pub(super) fn passwords(&self) -> impl Iterator<Item = &SecretString> {
        self.keys.values().map(|key| &key.password)
    }

    /// Returns the credentials for a registry.
    pub(super) fn of(&self, host: &str) -> Option<&Key> {
        self.keys.get(host)
    }
}

/// Returns the registry that an entry is for: some have `https://` before it, or `/v1/` behind it. One for a part of a
/// registry counts for none of it.
fn host(name: &str) -> Option<String> {
    let rest = name.strip_prefix("https://").or_else(|| name.strip_prefix("http://")).unwrap_or(name);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let url = Url::parse(&format!("https://{host}/")).ok()?;
    matches!(path, "" | "v1" | "v1/" | "v2" | "v2/").then(|| registry(&authority_of(&url)))
}

// === impl Entry ===

impl Entry {
    fn key(self) -> Option<Key> {
        if let (Some(user), Some(password)) = (self.username, self.password) {
            return Some(Key { user, password: password.into() });
        }
        let decoded = STANDARD.decode(self.auth?.trim()).ok()?;
        let text = String::from_utf8(decoded).ok()?;
        let (user, password) = text.trim_end_matches('\0').split_once(':')?;
        let full = !user.is_empty() && !password.is_empty();
        full.then(|| Key { user: user.to_owned(), password: password.to_owned().into() })
    }
}

// === impl Key ===

impl Key {
    /// Returns the header that says both.
    pub(super) fn basic(&self) -> SecretString {
        let pair = format!("{}:{}", self.user, self.password.expose_secret());
        format!("Basic {}", STANDARD.encode(pair)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_docker_and_helm_write_it() {
        let mut keys = Keyring::default();
        keys.add("cr.example.com", Key { user: "given".to_owned(), password: "x".to_owned().into() });
        let auth = STANDARD.encode("me:hunter2:3");
        keys.add_file(&format!(
            "{{\"auths\":{{\"cr.example.com\":{{\"auth\":\"{auth}\"}},\"https://index.docker.io/v1/\":{{\"auth\":\"{auth}\"}},\
             \"https://b.example:5000\":{{\"username\":\"me\",\"password\":\"hunter2\"}},\"c.example/team\":{{\"auth\":\"{auth}\"}},\
             \"d.example\":{{}},\"e.example\":{{\"auth\":\"!\"}}}},\"credsStore\":\"desktop\",\"credHelpers\":{{\"f.example\":\"x\"}}}}"
        ))
        .unwrap();
        let of = |host: &str| keys.of(host).map(|key| (key.user.as_str(), key.password.expose_secret()));
        assert_eq!(of("cr.example.com"), Some(("given", "x")), "what was given goes before a file");
        assert_eq!(of("registry-1.docker.io"), Some(("me", "hunter2:3")));
        assert_eq!(of("b.example:5000"), Some(("me", "hunter2")));
        for none in ["b.example", "c.example", "d.example", "e.example", "f.example"] {
            assert!(of(none).is_none(), "{none}");
        }
        assert!(!format!("{keys:?}").contains("hunter2"));
        assert_eq!(keys.add_file("{\"auths\":{\"a\":{\"auth\":7}}}"), Err(BadKeys));
        assert_eq!(keys.add_file("hunter2"), Err(BadKeys));
        assert_eq!(keys.add_file("{}"), Ok(()));
    }
}

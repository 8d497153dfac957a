//! The disk cache of what was fetched, so that an unchanged feed costs one short answer.
//!
//! In: an address and the answer to it. Out: the same, later. The cache saves work and decides nothing: it may
//! be deleted at any time, an entry that is damaged in any way counts as absent, and a disk that is full or
//! read-only is a run without a cache.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::files;

/// Raised when the form of an entry changes: entries of another form count as absent.
const FORMAT: u32 = 1;

/// No entry is larger; what could be is not stored.
const CEILING: u64 = 64 * 1024 * 1024;

/// A folder of entries, each named after the hash of its address.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

/// What is stored of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The body.
    pub body: Vec<u8>,
    /// The SHA-256 of the body in hexadecimal.
    pub hash: String,
    /// What the server gave to ask again with, and where the next page is.
    pub headers: Headers,
}

/// The headers of an answer that outlive it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headers {
    /// `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub modified: Option<String>,
    /// `Link` with `rel="next"`.
    pub next: Option<String>,
}

/// The first line of an entry.
#[derive(Serialize, Deserialize)]
struct Head {
    format: u32,
    /// The SHA-256 of the bytes that follow: a damaged entry is seen by it.
    hash: String,
    /// What a derived entry was worked out from.
    source: Option<String>,
    headers: Headers,
}

// === impl Cache ===

impl Cache {
    /// Uses a folder, which is made when it is not there; `None` where that cannot be done, or where another user could
    /// write to it.
    pub fn open(folder: &Path) -> Option<Self> {
        match files::private_folder(folder) {
            Ok(()) => Some(Self { folder: folder.to_owned() }),
            Err(error) => {
                tracing::debug!(folder = %folder.display(), %error, "no cache");
                None
            }
        }
    }

    /// Returns what is stored for an address.
    pub fn load(&self, address: &str) -> Option<Stored> {
        let (head, body) = self.entry(address, "body")?;
        Some(Stored { body, hash: head.hash, headers: head.headers })
    }

    /// Stores an answer; what goes wrong is only logged.
    pub fn store(&self, address: &str, stored: &Stored) {
        let head =
            Head { format: FORMAT, hash: stored.hash.clone(), source: None, headers: stored.headers.clone() };
        self.write(address, "body", &head, &stored.body);
    }

    /// Returns what was once worked out from an answer, such as its parsed form. The origin names the answer's
    /// hash and the rules by which it was worked out; an entry of another origin counts as absent.
    pub fn load_derived(&self, address: &str, origin: &str) -> Option<Vec<u8>> {
        let (head, derived) = self.entry(address, "derived")?;
        (head.source.as_deref() == Some(origin)).then_some(derived)
    }

    /// Stores what was worked out from an answer.
    pub fn store_derived(&self, address: &str, origin: &str, derived: &[u8]) {
        let source = Some(origin.to_owned());
        let head = Head { format: FORMAT, hash: hex_hash(derived), source, headers: Headers::default() };
        self.write(address, "derived", &head, derived);
    }

    fn entry(&self, address: &str, kind: &str) -> Option<(Head, Vec<u8>)> {
        let mut bytes = files::read(&self.path(address, kind), CEILING).ok()?;
        let end = memchr::memchr(b'\n', &bytes)?;
        let head: Head = serde_json::from_slice(bytes.get(..end)?).ok()?;
        bytes.drain(..=end);
        (head.format == FORMAT && head.hash == hex_hash(&bytes)).then_some((head, bytes))
    }

    fn write(&self, address: &str, kind: &str, head: &Head, body: &[u8]) {
        let Ok(head) = serde_json::to_vec(head) else { return };
        if let Err(error) = files::replace(&self.path(address, kind), &[&head, b"\n", body]) {
            tracing::debug!(%error, "not cached");
        }
    }

    fn path(&self, address: &str, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", hex_hash(address.as_bytes())))
    }
}

// === impl Stored ===

impl Stored {
    /// Puts an answer in the form that is stored.
    pub fn new(body: Vec<u8>, headers: Headers) -> Self {
        Self { hash: hex_hash(&body), body, headers }
    }
}

fn hex_hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "https://example.com/index.yaml";

    fn filled() -> (tempfile::TempDir, Cache, Stored) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&folder.path().join("deep/cache")).unwrap();
        let headers = Headers { etag: Some("\"a\nb\"".into()), modified: None, next: Some("x".into()) };
        let stored = Stored::new(b"two\nlines".to_vec(), headers);
        cache.store(ADDRESS, &stored);
        cache.store_derived(ADDRESS, &stored.hash, b"short");
        (folder, cache, stored)
    }

    #[test]
    fn what_is_stored_comes_back() {
        let (_folder, cache, stored) = filled();
        assert_eq!(cache.load(ADDRESS).unwrap(), stored);
        assert_eq!(cache.load_derived(ADDRESS, &stored.hash).unwrap(), b"short");
        assert_eq!(cache.load_derived(ADDRESS, "another body"), None);
        assert_eq!(cache.load("https://example.com/other"), None);
    }

    #[test]
    fn a_damaged_entry_counts_as_absent() {
        let (_folder, cache, stored) = filled();
        for kind in ["body", "derived"] {
            let path = cache.path(ADDRESS, kind);
            let whole = std::fs::read(&path).unwrap();
            for length in 0..whole.len() {
                std::fs::write(&path, &whole[..length]).unwrap();
                let derived = cache.load_derived(ADDRESS, &stored.hash);
                assert!(if kind == "body" { cache.load(ADDRESS).is_none() } else { derived.is_none() });
            }
            let mut flipped = whole.clone();
            *flipped.last_mut().unwrap() ^= 1;
            std::fs::write(&path, flipped).unwrap();
        }
        assert_eq!(cache.load(ADDRESS), None);
        assert_eq!(cache.load_derived(ADDRESS, &stored.hash), None);
    }

    #[test]
    fn a_folder_that_vanishes_or_cannot_be_made_is_no_error() {
        let (folder, cache, stored) = filled();
        std::fs::remove_dir_all(folder.path()).unwrap();
        cache.store(ADDRESS, &stored);
        assert_eq!(cache.load(ADDRESS), None);
        assert!(Cache::open(Path::new("/dev/null/cache")).is_none());
    }
}

//! Step 10, propose: `pull.json`, one proposal of the `directory:` forge as people read and edit it.
//!
//! In: a proposal's folder. Out: a [`Record`], or the place and the hint of what a person wrote wrong. What people
//! add to the file stays in it.

use std::{
    fs::{self, File},
    io::{Read, Write},
    path::Path,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    propose::forge::{ForgeError, NewPull, PullState},
    repo::CommitId,
};

/// The format of the file.
const SCHEMA: &str = "uplinker.pull/v1";
/// How large a file of a proposal may be.
const MAX_BYTES: u64 = 4 << 20;

/// What `pull.json` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    schema: String,
    /// As the folder is named.
    pub number: u64,
    /// `open`, `closed` or `merged`.
    pub state: PullState,
    /// The title.
    pub title: String,
    /// Our branch.
    pub head: String,
    /// The branch to be merged into.
    pub base: String,
    /// The commit that the branch was at when it was seen last.
    pub commit: String,
    /// Whether it is a draft.
    #[serde(default)]
    pub draft: bool,
    /// Labels.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Who is asked.
    #[serde(default)]
    pub reviewers: Vec<String>,
    /// Who is in charge.
    #[serde(default)]
    pub assignees: Vec<String>,
    /// What verification said.
    #[serde(default)]
    pub verify: Option<Verdict>,
    /// When it was closed or merged, or when that was seen.
    #[serde(default)]
    pub closed_at: Option<Timestamp>,
    /// Who closed it, where it was not a person.
    #[serde(default)]
    pub closed_by: Option<String>,
    /// SHA-256 of the patch that was laid beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    #[serde(flatten)]
    others: serde_json::Map<String, serde_json::Value>,
}

/// What verification said of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The commit.
    pub commit: String,
    /// Whether nothing blocks.
    pub success: bool,
    /// One line.
    pub description: String,
}

// === impl Record ===

impl Record {
    /// Makes the record of a new proposal.
    pub fn new(number: u64, pull: &NewPull, commit: CommitId) -> Self {
        Self {
            schema: SCHEMA.into(),
            number,
            state: PullState::Open,
            title: pull.title.clone(),
            head: pull.head.clone(),
            base: pull.base.clone(),
            commit: commit.to_string(),
            draft: pull.draft,
            labels: Vec::new(),
            reviewers: Vec::new(),
            assignees: Vec::new(),
            verify: None,
            closed_at: None,
            closed_by: None,
            patch: None,
            others: serde_json::Map::new(),
        }
    }

    /// Reads the record of a proposal's folder.
    pub fn read(place: &Path, number: u64) -> Result<Self, ForgeError> {
        let path = place.join("pull.json");
        let text = read_text(&path)?;
        let record: Self = serde_json::from_str(&text).map_err(|error| {
            // serde_json ends its words with the place.
            directory_error(&path, &format!("{error}; fix it, the other proposals show the form"))
        })?;
        if record.schema != SCHEMA {
            let reason = format!("`schema` is `{}`, and this version reads `{SCHEMA}`", record.schema);
            return Err(directory_error(&path, &reason));
        }
        if record.number != number {
            let reason =
                format!("`number` is {}, and the folder is {number}; make them the same", record.number);
            return Err(directory_error(&path, &reason));
        }
        Ok(record)
    }

    /// Writes the record into a proposal's folder.
    pub fn write(&self, place: &Path) -> Result<(), ForgeError> {
        let path = place.join("pull.json");
        let text = serde_json::to_string_pretty(self).map_err(|e| directory_error(&path, &e.to_string()))?;
        replace(&path, &format!("{text}\n"))
    }

    /// Returns the commit.
    pub fn commit_id(&self, place: &Path) -> Result<CommitId, ForgeError> {
        let pair = |at: usize| self.commit.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let bytes: Option<Vec<u8>> = (0..20).map(|n| pair(2 * n)).collect();
        let sound = self.commit.len() == 40 && self.commit.bytes().all(|b| b.is_ascii_hexdigit());
        let id = bytes.filter(|_| sound).and_then(|bytes| bytes.try_into().ok());
        id.map(CommitId).ok_or_else(|| {
            let reason = format!("`commit` is `{}`, which is no commit id of 40 digits", self.commit);
            directory_error(&place.join("pull.json"), &reason)
        })
    }

    /// Closes the proposal or calls it merged.
    pub fn end(&mut self, state: PullState, by: Option<&str>, at: Timestamp) {
        self.state = state;
        self.closed_by = by.map(str::to_owned);
        self.closed_at = Some(at);
    }

    /// Forgets that the proposal was closed.
    pub fn reopen(&mut self) {
        self.closed_at = None;
        self.closed_by = None;
    }
}

/// Returns when a proposal's record was written.
pub fn modified(place: &Path) -> Option<Timestamp> {
    let time = fs::metadata(place.join("pull.json")).and_then(|meta| meta.modified()).ok()?;
    Timestamp::try_from(time).ok()
}

/// Returns the SHA-256 of a file's bytes, in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a text of a proposal.
pub fn read_text(path: &Path) -> Result<String, ForgeError> {
    let file = File::open(path).map_err(|e| io_error(path, "cannot be read", &e))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|e| io_error(path, "cannot be read", &e))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(directory_error(path, &format!("is over {} MiB", MAX_BYTES >> 20)));
    }
    String::from_utf8(bytes).map_err(|_| directory_error(path, "is not UTF-8; save it as UTF-8"))
}

/// Replaces a file in one step: a reader sees the old text or the new one, also after a crash. The caller holds the
/// folder's lock, so what is unfinished is nobody's: a process that was killed left it.
pub fn replace(path: &Path, text: &str) -> Result<(), ForgeError> {
    let failed = |e: std::io::Error| io_error(path, "cannot be written", &e);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = path.with_file_name(format!(".unfinished-{name}"));
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let mut file = File::create_new(&unfinished).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&unfinished, path).map_err(failed)
}

/// An error of the system on one of the forge's files.
pub fn io_error(path: &Path, what: &str, error: &std::io::Error) -> ForgeError {
    directory_error(path, &format!("{what}: {error}"))
}

/// What is wrong with one of the forge's files.
pub fn directory_error(path: &Path, reason: &str) -> ForgeError {
    ForgeError::Directory { path: path.display().to_string(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pull.json");
        replace(&path, "the old text\n").unwrap();
        // Who reads it at this moment reads on in the old text.
        let mut reader = File::open(&path).unwrap();
        // What a killed process left is in nobody's way.
        fs::write(folder.path().join(".unfinished-pull.json"), "half").unwrap();
        replace(&path, "new\n").unwrap();
        let mut seen = String::new();
        reader.read_to_string(&mut seen).unwrap();
        assert_eq!((seen.as_str(), read_text(&path).unwrap().as_str()), ("the old text\n", "new\n"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing unfinished is left");
    }

    #[test]
    fn a_file_that_is_too_large_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("body.md");
        let most = usize::try_from(MAX_BYTES).unwrap();
        fs::write(&path, " ".repeat(most)).unwrap();
        assert_eq!(read_text(&path).unwrap().len(), most);
        fs::write(&path, " ".repeat(most + 1)).unwrap();
        assert!(read_text(&path).unwrap_err().to_string().contains("over 4 MiB"));
    }
}

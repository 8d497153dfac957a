//! What a run found out of a stage for which there is nothing to propose, kept in the cache, so that the next one over the
//! same need not render to find it out again.
//!
//! In: the hash over all that it was found out from. Out: the [`Verdict`]. Without a cache it is found out each time.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{pipeline::case::Case, sys::files};

/// The folder in the cache.
const FOLDER: &str = "verdicts";
/// A file of ours is never larger.
const CEILING: u64 = 1 << 20;

/// Why there is nothing to propose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    /// All is as it would be made.
    Nothing,
    /// It waits, for this reason.
    Stuck(String),
}

/// The last verdict on a stage.
pub(super) struct Verdicts {
    folder: PathBuf,
    /// One file a stage: what is of no use any more is written over.
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    inputs: String,
    verdict: Verdict,
}

// === impl Verdicts ===

impl Verdicts {
    /// Looks for it in a cache.
    pub fn new(cache: &Path, repository: &str, case: Case<'_>) -> Self {
        let mut hash = Sha256::new();
        for part in [repository, &case.target.target.name, case.stage.name()] {
            hash.update(part);
            hash.update([0]);
        }
        let name: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let folder = cache.join(FOLDER);
        Self { path: folder.join(name), folder }
    }

    /// Returns the verdict, where it was found out from the same.
    pub fn known(&self, inputs: &str) -> Option<Verdict> {
        let kept: Kept = serde_json::from_slice(&files::read(&self.path, CEILING).ok()?).ok()?;
        (kept.inputs == inputs).then_some(kept.verdict)
    }

    /// Keeps a verdict; where that fails, it is found out again.
    pub fn keep(&self, inputs: String, verdict: Verdict) {
        let text = serde_json::to_vec(&Kept { inputs, verdict }).unwrap_or_default();
        if files::private_folder(&self.folder).is_ok() {
            let _ = files::replace(&self.path, &[&text]);
        }
    }
}

//! Writes the API requests of the tests as JSON lines, for `scripts/contract-check`.
//!
//! One file per forge under Cargo's directory for test output; emptied by its first request. No header that carries a
//! token is written, and nothing of the fakes' own tests, which ask for what a forge refuses.

use std::{collections::BTreeMap, fs::File, io::Write, path::PathBuf, sync::Mutex};

use serde_json::json;

use super::http::{Request, Response};

/// The headers that matter to the API's description.
const HEADERS: [&str; 5] = ["accept", "content-type", "x-github-api-version", "if-none-match", "user-agent"];

/// The user agent of the fakes' own tests.
pub const CHECK: &str = "support-check";

/// The files by their forges; `None` where one cannot be made.
static FILES: Mutex<BTreeMap<&str, Option<File>>> = Mutex::new(BTreeMap::new());

/// Writes requests to the API of a forge.
#[derive(Clone, Debug)]
pub struct Recorder {
    pub forge: &'static str,
    /// What the paths of the API start with and those of its description do not, which is left out.
    pub prefix: &'static str,
    /// The part of the API that is recorded; empty for all of it.
    pub below: &'static str,
}

// === impl Recorder ===

impl Recorder {
    /// Appends a request and the status it was answered with.
    pub fn write(&self, request: &Request, response: Option<&Response>) {
        let target = request.target();
        let Some(target) = target.strip_prefix(self.prefix) else { return };
        if request.header("user-agent") == Some(CHECK) {
            return;
        }
        // Addresses by number are GitHub's own, out of its `Link` headers, and not in its description.
        if target.starts_with("/repositories/") || !target.starts_with(self.below) {
            return;
        }
        let headers: serde_json::Map<String, serde_json::Value> = HEADERS
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), request.header(name)?.into())))
            .collect();
        let line = json!({
            "method": request.method,
            "path": target,
            "headers": headers,
            "body": serde_json::from_slice::<serde_json::Value>(&request.body).ok(),
            "status": response.map(|r| r.status),
        });
        let mut files = FILES.lock().expect("no poison");
        if let Some(file) = files.entry(self.forge).or_insert_with(|| open(self.forge)) {
            // A lost line is no reason to fail a test that is about something else.
            let _ = writeln!(file, "{line}");
        }
    }
}

fn open(forge: &str) -> Option<File> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("requests");
    std::fs::create_dir_all(&folder).ok()?;
    File::create(folder.join(format!("{forge}.jsonl"))).ok()
}

//! Step 10, propose: commits that GitHub makes and signs itself, by its Git data API.
//!
//! In: a commit that was made here and not pushed. Out: the same commit as GitHub made it, with its signature. Nothing here
//! moves a branch: a push does, as it does with every commit, from the value that was observed. What is made and not pushed
//! is in no branch, so that a run may end after each request. GitHub signs for Apps and workflows that name nobody as
//! author. (docs.github.com: "Signature verification for bots", "REST API endpoints for Git trees", "… for Git commits".)

use backon::BlockingRetryable;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::{Value, json};

use super::GitHub;
use crate::{
    propose::forge::{
        ForgeError, Unsigned,
        rest::{Known, Method, until_it_shows},
    },
    repo::{FileChange, Mode, SignedCommit},
};

/// How the tokens begin that GitHub signs for: those of an App's installations, a workflow's among them.
const OF_A_BOT: &str = "ghs_";
/// What every request here needs.
const PERMISSION: &str = "contents: write";

/// An object that was made.
#[derive(Deserialize)]
struct Made {
    sha: String,
}

/// A commit that was made.
#[derive(Deserialize)]
struct MadeCommit {
    sha: String,
    verification: Verification,
}

#[derive(Deserialize)]
struct Verification {
    verified: bool,
    #[serde(default)]
    signature: Option<String>,
    #[serde(default)]
    payload: Option<String>,
}

/// Tells whether GitHub signs for the owner of a token.
pub(super) fn is_of_a_bot(token: &str) -> bool {
    token.starts_with(OF_A_BOT)
}

// === impl GitHub ===

impl GitHub<'_> {
    /// Has GitHub make a commit; `None` where it does not sign it.
    pub(super) fn make(&self, wanted: &Unsigned<'_>) -> Result<Option<SignedCommit>, ForgeError> {
        let tree = match wanted.base == wanted.commit.tree {
            true => wanted.base.to_string(),
            false => self.make_tree(wanted)?,
        };
        let asked = self.asked("cannot make a commit", PERMISSION);
        if tree != wanted.commit.tree.to_string() {
            return Err(asked.rejected("another tree came of the changes"));
        }
        let parents: Vec<String> = wanted.commit.parents.iter().map(ToString::to_string).collect();
        let body = json!({"message": wanted.commit.message, "tree": tree, "parents": parents});
        let reply = self.put(Method::Post(&body), &self.repo("/git/commits"), &asked)?;
        let MadeCommit { sha, verification } = reply.json(&asked)?;
        Ok(match verification {
            Verification { verified: true, signature: Some(signature), payload: Some(payload) } => {
                Some(SignedCommit { id: sha, payload, signature })
            }
            _ => None,
        })
    }

    /// Lays the changes over the base's tree.
    fn make_tree(&self, wanted: &Unsigned<'_>) -> Result<String, ForgeError> {
        let asked = self.asked("cannot make a tree", PERMISSION);
        let entries = wanted.changes.files.iter().map(|change| self.entry(change));
        let entries = entries.collect::<Result<Vec<Value>, ForgeError>>()?;
        let body = json!({"base_tree": wanted.base.to_string(), "tree": entries});
        // What is not found is the base's tree, which Git has given us: the API does not see it yet.
        let make = || {
            let reply = self.put(Method::Post(&body), &self.repo("/git/trees"), &asked);
            reply.map_err(|refused| refused.late(&asked))
        };
        let reply = make.retry(until_it_shows()).when(|e| e.known == Some(Known::Behind)).call()?;
        Ok(reply.json::<Made>(&asked)?.sha)
    }

    /// A file of a tree, with its text; what is no text is made before.
    fn entry(&self, change: &FileChange) -> Result<Value, ForgeError> {
        let mode = if change.mode == Mode::Executable { "100755" } else { "100644" };
        let path = change.path.as_str();
        let entry =
            |key: &str, value: Value| json!({"path": path, "mode": mode, "type": "blob", (key): value});
        let Some(content) = &change.after else { return Ok(entry("sha", Value::Null)) };
        if let Some(text) = std::str::from_utf8(content).ok().filter(|text| !text.contains('\0')) {
            return Ok(entry("content", text.into()));
        }
        let asked = self.asked("cannot make a file", PERMISSION);
        let body = json!({"content": STANDARD.encode(content), "encoding": "base64"});
        let made: Made = self.put(Method::Post(&body), &self.repo("/git/blobs"), &asked)?.json(&asked)?;
        Ok(entry("sha", made.sha.into()))
    }
}

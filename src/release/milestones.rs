//! The `milestones` feed: an operator's file of facts that goes before the built-in ones.
//!
//! In: the body. Out: the facts. Without such a file nothing is read: the built-in facts need no request.

use crate::linkerd::Knowledge;

pub(super) const LIMIT: u64 = 4 * 1024 * 1024;

/// Reads the facts; the error completes the sentence that names the feed.
pub(super) fn read(body: &[u8]) -> Result<Knowledge, String> {
    let text = std::str::from_utf8(body).map_err(|e| format!("not UTF-8: {e}"))?;
    Knowledge::parse(text).map_err(|e| e.to_string())
}

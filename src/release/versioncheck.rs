//! The `versioncheck` feed: `{"edge": "edge-26.8.3"}`, the newest release and nothing more.
//!
//! In: the body of `version.json`. Out: the version. Other keys are passed over: the file had more of them once
//! and may again. It is published last in a release, and it says "newest", never "recommended".

use crate::linkerd::EdgeVersion;

/// The client of Linkerd itself reads no more of it.
pub(super) const LIMIT: u64 = 1024 * 1024;

/// Reads the newest edge release; the error completes the sentence that names the feed.
pub(super) fn read(body: &[u8]) -> Result<EdgeVersion, String> {
    let json: serde_json::Value = serde_json::from_slice(body).map_err(|e| format!("not JSON: {e}"))?;
    let edge = json.get("edge").ok_or("has no key `edge`")?;
    let text = edge.as_str().ok_or("its `edge` is not text")?;
    text.parse().map_err(|e: crate::linkerd::NotAnEdge| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_keys_are_passed_over() {
        let body = br#"{"stable": "stable-2.14.10", "edge": "edge-26.8.3", "edgeHotpatch": {"x": 1}}"#;
        assert_eq!(read(body).unwrap().to_string(), "edge-26.8.3");
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(read(b"{\"edge\":").unwrap_err().contains("line 1"));
        assert!(read(b"{}").unwrap_err().contains("`edge`"));
        assert!(read(b"[]").unwrap_err().contains("`edge`"));
        assert!(read(br#"{"edge": "stable-2.14.10"}"#).unwrap_err().contains("stable-2.14.10"));
        assert!(read(br#"{"edge": 26}"#).is_err());
    }
}

//! Step 3, repo: a commit object as it stands in the object database.
//!
//! In: the object's bytes. Out: a [`CommitInfo`]. Pure. libgit2 reads commits too, but hides the parents of a
//! shallow one; whose commit a branch tip is can only be told from the parents that it really names.

use jiff::Timestamp;

use super::advertisement::parse_id;
use crate::repo::{CommitId, CommitInfo};

/// Reads a commit; `None` where a part that every commit has is missing.
pub fn parse_commit(id: CommitId, bytes: &[u8]) -> Option<CommitInfo> {
    let end = memchr::memmem::find(bytes, b"\n\n");
    let header = bytes.get(..end.unwrap_or(bytes.len()))?;
    let message = end.and_then(|end| bytes.get(end + 2..)).unwrap_or_default();
    let mut tree = None;
    let mut parents = Vec::new();
    let mut time = None;
    for line in header.split(|b| *b == b'\n') {
        if let Some(hex) = line.strip_prefix(b"tree ") {
            tree = tree.or(parse_id(hex));
        } else if let Some(hex) = line.strip_prefix(b"parent ") {
            parents.push(parse_id(hex)?);
        } else if let Some(who) = line.strip_prefix(b"committer ") {
            time = time.or(committed(who));
        }
    }
    let message = String::from_utf8_lossy(message).into_owned();
    Some(CommitInfo { id, tree: tree?, parents, message, time: time? })
}

/// Reads the seconds in `<name> <<address>> <seconds> <zone>`. A name may hold anything, so they are looked for
/// from the end.
fn committed(who: &[u8]) -> Option<Timestamp> {
    let after = who.rsplit(|b| *b == b'>').next()?;
    let seconds = std::str::from_utf8(after).ok()?.split_whitespace().next()?;
    Timestamp::from_second(seconds.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::TreeId;

    const ID: CommitId = CommitId([1; 20]);

    #[test]
    fn reads_a_merge_with_a_signature_and_a_strange_name() {
        let text = format!(
            "tree {}\nparent {}\nparent {}\nauthor A <a@b> 5 +0200\ncommitter > odd <x> <c@d> 1700000000 -0500\n\
             gpgsig -----BEGIN-----\n tree of lies\n -----END-----\n\nSubject\n\nparent of nothing\n",
            "a".repeat(40),
            "b".repeat(40),
            "c".repeat(40)
        );
        let commit = parse_commit(ID, text.as_bytes()).unwrap();
        assert_eq!(commit.tree, TreeId([0xaa; 20]));
        assert_eq!(commit.parents, [CommitId([0xbb; 20]), CommitId([0xcc; 20])]);
        assert_eq!(commit.time.as_second(), 1_700_000_000);
        assert_eq!(commit.message, "Subject\n\nparent of nothing\n");
    }

    #[test]
    fn what_is_no_commit_is_none() {
        let tree = "a".repeat(40);
        for text in [
            String::new(),
            "tree short\ncommitter A <a@b> 1 +0000\n\nx".into(),
            format!("tree {tree}\n\nno committer"),
            format!("tree {tree}\ncommitter A <a@b>\n\nno date"),
            format!("tree {tree}\nparent zz\ncommitter A <a@b> 1 +0000\n\nx"),
            format!("tree {tree}\ncommitter A <a@b> 99999999999999999 +0000\n\nx"),
        ] {
            assert_eq!(parse_commit(ID, text.as_bytes()), None, "{text}");
        }
        let empty = format!("tree {tree}\ncommitter A <a@b> 1 +0000\n");
        assert_eq!(parse_commit(ID, empty.as_bytes()).unwrap().message, "");
    }
}

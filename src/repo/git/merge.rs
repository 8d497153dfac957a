//! Step 3, repo: a merge of three texts, as `git merge-file` does it, line by line.
//!
//! In: a common ancestor and what both sides made of it. Out: both changes in one text, or none where they touch. Pure.

use git2::MergeFileInput;

use crate::repo::GitError;

/// A last line that all texts have, so that none is empty: of an empty result git2 makes a slice at no address.
const END: &[u8] = b"\nend";

/// Merges two changes of one text; `None` where they touch, or where the text is none.
pub fn merge(ancestor: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Option<Vec<u8>>, GitError> {
    // This sets libgit2 up, which the inputs below expect somebody to have done.
    drop(git2::Buf::new());
    let texts = [ancestor, ours, theirs].map(|text| [text, END].concat());
    let [ancestor, ours, theirs] = texts.each_ref().map(|text| {
        let mut input = MergeFileInput::new();
        input.content(text);
        input
    });
    let merged = git2::merge_file(&ancestor, &ours, &theirs, None)
        .map_err(|e| GitError::Other(e.message().to_owned()))?;
    let text = Some(merged).filter(git2::MergeFileResult::is_automergeable);
    Ok(text.and_then(|text| Some(text.content().strip_suffix(END)?.to_vec())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_apart_are_both_kept_and_those_that_touch_are_not() {
        let merged = |ours: &str, theirs: &str| {
            let merged = merge(b"a\nb\nc\nd\ne\n", ours.as_bytes(), theirs.as_bytes()).expect("texts");
            merged.map(|text| String::from_utf8(text).expect("text"))
        };
        assert_eq!(merged("A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n").as_deref(), Some("A\nb\nc\nd\nE\n"));
        assert_eq!(merged("a\nB\nc\nd\ne\n", "a\nb\nC\nd\ne\n"), None);
        assert_eq!(merge(b"a\r\nb", b"A\r\nb", b"A\r\nb").expect("texts").as_deref(), Some(&b"A\r\nb"[..]));
        assert_eq!(merge(b"", b"", b"").expect("texts").as_deref(), Some(&b""[..]));
        assert_eq!(merge(b"a\nb", b"b", b"a").expect("texts"), None, "a line end is a part of its line");
        assert_eq!(
            merge(b"a\nb\nc\nd\n", b"b\nc\nd\n", b"a\nb\nc\n").expect("texts").as_deref(),
            Some(&b"b\nc\n"[..])
        );
    }
}

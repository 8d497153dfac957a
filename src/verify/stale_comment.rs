//! Step 8, verify: comments that no longer tell the truth.
//!
//! In: the lines of the pins that move. Out: one `info` that names those whose comment still names the old release:
//! comments are people's, and are never edited.

use std::collections::BTreeMap;

use super::{CheckId, Checked, Finding, Verification, count, listed};
use crate::{linkerd::EdgeVersion, pins::Pin, repo::RepoPath};

pub(super) const ID: CheckId = CheckId::StaleComment;

/// How many places the line names before it counts the rest.
const NAMED: usize = 5;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let moving: Vec<&Pin> = input.moving().map(|(pin, _)| pin).collect();
    let texts: BTreeMap<&RepoPath, &[u8]> =
        input.changes.files.iter().map(|f| (&f.path, f.before.as_slice())).collect();
    let is_stale = |pin: &Pin| texts.get(&pin.path).is_some_and(|text| is_stale(text, pin));
    let stale = moving.iter().filter(|p| is_stale(p)).map(|p| format!("{}:{}", p.path, p.site.line));
    let mut stale: Vec<String> = stale.collect();
    stale.dedup();
    let finding = (!stale.is_empty()).then(|| {
        let lines = count(stale.len(), "changed line");
        let reason = format!("the old release is in the comment of {lines}: {}", listed(&stale, NAMED));
        Finding::info(ID, reason).hint("set it by hand in this branch, or leave it; comments are not edited")
    });
    Checked { looked_at: count(moving.len(), "changed line"), findings: finding.into_iter().collect() }
}

/// Tells whether the rest of a pin's line is a comment that names the pin's release.
fn is_stale(text: &[u8], pin: &Pin) -> bool {
    let Some(version) = pin.version else { return false };
    let rest = text.get(pin.site.span.end..).unwrap_or_default();
    let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    line.split_once(" #").is_some_and(|(_, comment)| names(comment, version))
}

fn names(comment: &str, version: EdgeVersion) -> bool {
    [version.to_string(), version.chart()].iter().any(|name| {
        let whole = |(at, _): (usize, &str)| {
            let after = comment.get(at + name.len()..).unwrap_or_default();
            !after.starts_with(|c: char| c.is_ascii_digit())
        };
        comment.match_indices(name.as_str()).any(whole)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity::*, testing::*};

    fn found(line: &str) -> Vec<Finding> {
        Case::default().file("a.yaml", line).pins(|b| b.chart("a.yaml", "linkerd-crds", "2026.8.2")).check(ID)
    }

    #[test]
    fn a_comment_that_names_the_old_release_is_told() {
        for line in ["2026.8.2 # edge-26.8.2\n", "2026.8.2 # at 2026.8.2, since May\n"] {
            let found = found(line);
            assert_eq!(severities(&found), [Info], "{line}");
            assert!(found[0].reason.ends_with("1 changed line: a.yaml:1"), "{}", found[0].reason);
        }
    }

    #[test]
    fn other_comments_are_not() {
        for line in
            ["2026.8.2\n", "2026.8.2 # edge-26.8.20\n", "2026.8.2 # keep\n", "2026.8.2\n# edge-26.8.2\n"]
        {
            assert_eq!(found(line), [], "{line}");
        }
    }
}

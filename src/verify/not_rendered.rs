//! Step 6, verify: what could not be rendered.
//!
//! In: the charts and committed manifests that were to be rendered and were not. Out: a `block` where committed text
//! stays old because of it, since a merge would be half an upgrade; an `info` where only the preview is missing. A package
//! with a wrong digest is `chart-digest`'s to tell.

use super::{Checked, Finding, Severity, Verification, count};

pub(super) const NAME: &str = "not-rendered";

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let rendered = input.rendered;
    let each = rendered.missing.iter().filter(|missing| !missing.is_digest()).map(|missing| {
        let (severity, what) = match missing.committed {
            true => (Severity::Block, "the committed manifest stays as it is"),
            false => (Severity::Info, "what it changes in the cluster is not shown"),
        };
        let reason = missing.reason.trim_end_matches('.');
        Finding::new(NAME, severity, format!("{}: {what}: {reason}", missing.chart))
            .at(&missing.path, missing.line)
            .mend(uncapitalised(missing.mend.trim_end_matches('.')))
    });
    let all = rendered.done.len() + rendered.missing.len();
    Checked { looked_at: format!("{} of charts", count(all, "rendering")), findings: each.collect() }
}

/// A sentence as a part of another.
fn uncapitalised(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity::*, testing::*};

    #[test]
    fn committed_text_that_stays_old_blocks_and_a_missing_preview_does_not() {
        let reason = "helm could not be found.";
        let case = rendered("", "").not_rendered(true, reason).not_rendered(false, reason);
        let found = case.check(NAME);
        assert_eq!(severities(&found), [Block, Info]);
        assert!(found[0].reason.ends_with("the committed manifest stays as it is: helm could not be found"));
        assert_eq!(found[0].mend.as_deref(), Some("mend it"));
    }

    #[test]
    fn where_everything_was_rendered_nothing_is_said() {
        assert_eq!(rendered("", "").check(NAME), []);
    }
}

//! Step 8, verify: files that mention Linkerd and were not read.
//!
//! In: the inventory's skips. Out: a `block` for an unreadable file that holds one of the stage's old releases, since a
//! pin may be left behind in it; a `warn` for a shape that is known and not moved yet; one `info` for the rest of
//! each reason.

use std::collections::BTreeMap;

use super::{CheckId, Checked, Finding, Severity, Verification, count, listed};
use crate::{
    linkerd::EdgeVersion,
    pins::{Form, Mention, PinKind, SkipReason, Skipped, mentions},
};

pub(super) const ID: CheckId = CheckId::Skipped;

/// Where markers belong.
const MARKERS: &str = "write `# uplinker: hold` (or `edge`, `chart`) behind the text that it is for, or alone on the line above";
/// How many files one line names before it counts the rest.
const NAMED: usize = 5;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let mine: Vec<&Skipped> =
        input.inventory.skipped.iter().filter(|s| input.target.covers(&s.path)).collect();
    let mut findings: Vec<Finding> = Vec::new();
    let mut rest: BTreeMap<SkipReason, Vec<&Skipped>> = BTreeMap::new();
    for skipped in &mine {
        if skipped.reason == SkipReason::Marker {
            let detail = skipped.detail.as_deref().unwrap_or_default();
            let finding = Finding::warn(ID, format!("a comment does nothing: {detail}"));
            findings.push(finding.at(&skipped.path, None).hint(MARKERS));
            continue;
        }
        let old = skipped.versions.iter().find(|v| input.plan.from.contains(v));
        match (old, weight(skipped)) {
            (Some(old), severity @ (Severity::Block | Severity::Warn)) => {
                findings.push(left_behind(input, skipped, *old, severity));
            }
            _ => rest.entry(skipped.reason).or_default().push(skipped),
        }
    }
    findings.extend(rest.iter().map(|(reason, files)| not_read(*reason, files)));
    Checked { looked_at: format!("{} that could not be read", count(mine.len(), "file")), findings }
}

/// How much it weighs that such a file holds an old release.
fn weight(skipped: &Skipped) -> Severity {
    match skipped.reason {
        // No pin is left behind in a text for people.
        _ if skipped.is_prose() => Severity::Info,
        SkipReason::HelmTemplate
        | SkipReason::Syntax
        | SkipReason::TooLarge
        | SkipReason::NotUtf8
        | SkipReason::Helmfile
        | SkipReason::Terraform
        | SkipReason::Encrypted => Severity::Block,
        // These can be read; moving them is not there yet, and people who use them know how to.
        SkipReason::UnknownShape | SkipReason::Marker => Severity::Warn,
        SkipReason::Symlink | SkipReason::Submodule | SkipReason::OddName => Severity::Info,
    }
}

fn left_behind(input: &Verification<'_>, skipped: &Skipped, old: EdgeVersion, severity: Severity) -> Finding {
    let (what, to) = (words(skipped.reason), input.plan.to);
    let all = text(input, skipped).map(|text| mentions(&text)).unwrap_or_default();
    // A line with a marker moves by itself.
    let is_marked = |mention: &Mention| {
        let mut pins = input.inventory.pins.iter().filter(|pin| pin.kind == PinKind::Marker);
        pins.any(|pin| pin.path == skipped.path && pin.site.line == mention.line && pin.value == mention.text)
    };
    let is_left = |mention: &Mention| mention.version == old && !is_marked(mention);
    let Some(mention) = all.into_iter().find(is_left) else {
        let reason = format!("this file names {old} and is not read ({what}), so it stays as it is");
        let hint = format!("where that pins a release, set it to that of {to} by hand in this branch");
        return Finding::new(ID, severity, reason).at(&skipped.path, None).hint(hint);
    };
    let (new, mark) = match mention.form {
        Form::Edge => (to.to_string(), "edge"),
        _ => (to.chart(), "chart"),
    };
    let reason =
        format!("`{}` stands in a file that is not read ({what}), so it stays as it is", mention.text);
    let mark = match skipped.reason {
        SkipReason::Encrypted | SkipReason::TooLarge | SkipReason::NotUtf8 => String::new(),
        _ => format!(
            "; with the comment `uplinker: {mark}` behind it, or alone on the line above, it moves by itself"
        ),
    };
    let hint = format!("if that pins a release, write `{new}` there by hand in this branch{mark}");
    Finding::new(ID, severity, reason).at(&skipped.path, mention.line).hint(hint)
}

fn text(input: &Verification<'_>, skipped: &Skipped) -> Option<String> {
    let entries = input.before.entries();
    let at = entries.binary_search_by(|entry| entry.path.cmp(&skipped.path)).ok()?;
    let bytes = input.before.read(entries.get(at)?.id).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn not_read(reason: SkipReason, files: &[&Skipped]) -> Finding {
    let names = listed(files.iter().map(|skipped| &skipped.path), NAMED);
    let number = count(files.len(), "file");
    let verb = match (reason, files.len()) {
        // Nothing of these was read.
        (SkipReason::OddName, _) => "may mention",
        (_, 1) => "mentions",
        _ => "mention",
    };
    let text = format!("{number} that {verb} Linkerd, not read ({}): {names}", words(reason));
    Finding::info(ID, text)
}

/// Says why one file or many are not read, in brackets.
fn words(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::HelmTemplate => "template expressions",
        SkipReason::Syntax => "no valid YAML",
        SkipReason::TooLarge => "over the limit on size or documents",
        SkipReason::NotUtf8 => "no UTF-8 text",
        SkipReason::Encrypted => "encrypted",
        SkipReason::Symlink => "symbolic link",
        SkipReason::Submodule => "submodule",
        SkipReason::OddName => "a name that is no path",
        SkipReason::Helmfile => "a helmfile that cannot be read whole",
        SkipReason::Terraform => "Terraform expressions, or no valid HCL",
        SkipReason::UnknownShape => "a shape that is not known",
        SkipReason::Marker => "a comment that does nothing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity::*, testing::*};

    fn found(reason: SkipReason, versions: &'static [&str]) -> Vec<Finding> {
        Case::default()
            .pins(|b| b.chart("a.yaml", "linkerd-crds", "2026.8.2").skip("x.yaml", reason, versions))
            .check(ID)
    }

    #[test]
    fn an_unreadable_file_with_an_old_release_of_the_stage_blocks() {
        use SkipReason::{Encrypted, HelmTemplate, NotUtf8, Syntax, TooLarge};
        for reason in [HelmTemplate, Syntax, Encrypted, TooLarge, NotUtf8] {
            let blocked = found(reason, &["edge-26.1.1", "edge-26.8.2"]);
            assert_eq!(severities(&blocked), [Block], "{reason:?}");
            assert!(blocked[0].reason.contains("names edge-26.8.2"));
        }
    }

    #[test]
    fn any_other_unreadable_file_is_mentioned() {
        assert_eq!(severities(&found(SkipReason::Syntax, &["edge-26.1.1"])), [Info], "no pin names that");
        assert_eq!(severities(&found(SkipReason::Syntax, &[])), [Info]);
        assert_eq!(severities(&found(SkipReason::Symlink, &["edge-26.8.2"])), [Info]);
    }

    #[test]
    fn a_text_for_people_leaves_no_pin_behind() {
        let case = Case::default().pins(|b| {
            let b = b.chart("a.yaml", "linkerd-crds", "2026.8.2");
            b.skip("NOTES.md", SkipReason::NotUtf8, &["edge-26.8.2"])
        });
        assert_eq!(severities(&case.check(ID)), [Info]);
    }

    #[test]
    fn a_shape_that_is_not_known_is_a_warning() {
        let found = found(SkipReason::UnknownShape, &["edge-26.8.2"]);
        assert_eq!(severities(&found), [Warn]);
        assert!(found[0].hint.as_ref().unwrap().contains("set it to that of edge-26.8.3"));
    }

    #[test]
    fn the_line_that_is_named_has_no_marker() {
        let reason = SkipReason::UnknownShape;
        let case = Case::default().file("v.libsonnet", "2026.8.2 // uplinker: chart\n'edge-26.8.2'\n");
        let found = case
            .pins(|b| {
                let b = b.chart("a.yaml", "linkerd-crds", "2026.8.2");
                b.pin("v.libsonnet", PinKind::Marker, "2026.8.2").skip(
                    "v.libsonnet",
                    reason,
                    &["edge-26.8.2"],
                )
            })
            .check(ID);
        assert_eq!(severities(&found), [Warn]);
        assert_eq!(found[0].place.as_ref().unwrap().line, Some(2), "{}", found[0].reason);
    }

    #[test]
    fn a_comment_that_does_nothing_is_a_warning() {
        let found = found(SkipReason::Marker, &[]);
        assert_eq!(severities(&found), [Warn]);
        assert!(found[0].hint.as_ref().unwrap().contains("on the line above"));
    }

    #[test]
    fn many_files_are_one_line_and_other_targets_are_not_ours() {
        let case = Case::default().target(&["apps"]).pins(|b| {
            let b = b.chart("apps/a.yaml", "linkerd-crds", "2026.8.2");
            let b = b.skip("infra/x.yaml", SkipReason::Syntax, &["edge-26.8.2"]);
            (0..7).fold(b, |b, n| b.skip(&format!("apps/t{n}.yaml"), SkipReason::HelmTemplate, &[]))
        });
        let found = case.check(ID);
        assert_eq!(severities(&found), [Info]);
        assert!(found[0].reason.contains("apps/t4.yaml and 2 more"), "{}", found[0].reason);
    }
}
